#include "runtime/tile.h"

#include <map>
#include <tuple>

#include "runtime/tile_table.h"

namespace onward {

bool has_avx2() {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool has_avx512() {
#ifdef __x86_64__
  __builtin_cpu_init();
  return has_avx2() && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

namespace {

using Key = std::tuple<std::string_view, std::string_view, DType, DType>;

std::map<Key, TileFunction> make_table() {
  std::map<Key, TileFunction> table;
  for (const TileEntry& entry :
       has_avx2() ? with_avx2::tile_entries() : any_machine::tile_entries()) {
    table.emplace(Key{entry.op, entry.form, entry.from, entry.to}, entry.function);
  }
  return table;
}

}  // namespace

TileFunction find_tile_function(std::string_view op, DType from, DType to, std::string_view form) {
  static const std::map<Key, TileFunction> table = make_table();
  const auto found = table.find({op, form, from, to});
  return found == table.end() ? nullptr : found->second;
}

template <>
const RowFunctions<float>& row_functions<float>() {
  static const RowFunctions<float>& rows =
      has_avx2() ? with_avx2::rows_f32() : any_machine::rows_f32();
  return rows;
}

template <>
const RowFunctions<double>& row_functions<double>() {
  static const RowFunctions<double>& rows =
      has_avx2() ? with_avx2::rows_f64() : any_machine::rows_f64();
  return rows;
}

template <>
const NormRows<float>& norm_rows<float>() {
  static const NormRows<float>& rows =
      has_avx2() ? with_avx2::norm_rows_f32() : any_machine::norm_rows_f32();
  return rows;
}

template <>
const NormRows<double>& norm_rows<double>() {
  static const NormRows<double>& rows =
      has_avx2() ? with_avx2::norm_rows_f64() : any_machine::norm_rows_f64();
  return rows;
}

template <>
const SoftmaxRows<float>& softmax_rows<float>() {
  static const SoftmaxRows<float>& rows =
      has_avx2() ? with_avx2::softmax_rows_f32() : any_machine::softmax_rows_f32();
  return rows;
}

template <>
const SoftmaxRows<double>& softmax_rows<double>() {
  static const SoftmaxRows<double>& rows =
      has_avx2() ? with_avx2::softmax_rows_f64() : any_machine::softmax_rows_f64();
  return rows;
}

template <>
const LstmRows<float>& lstm_rows<float>() {
  static const LstmRows<float>& rows =
      has_avx2() ? with_avx2::lstm_rows_f32() : any_machine::lstm_rows_f32();
  return rows;
}

template <>
const LstmRows<double>& lstm_rows<double>() {
  static const LstmRows<double>& rows =
      has_avx2() ? with_avx2::lstm_rows_f64() : any_machine::lstm_rows_f64();
  return rows;
}

}  // namespace onward
