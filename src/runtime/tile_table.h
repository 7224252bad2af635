#pragma once

#include <span>
#include <string_view>

#include "runtime/lstm_rows.h"
#include "runtime/norm_rows.h"
#include "runtime/rows.h"
#include "runtime/softmax_rows.h"
#include "runtime/tile.h"

namespace onward {

struct TileEntry {
  std::string_view op;
  DType from, to;
  TileFunction function;
  std::string_view form = {};
};

// The same functions, compiled for different machines.
namespace any_machine {
std::span<const TileEntry> tile_entries();
const RowFunctions<float>& rows_f32();
const RowFunctions<double>& rows_f64();
const NormRows<float>& norm_rows_f32();
const NormRows<double>& norm_rows_f64();
const SoftmaxRows<float>& softmax_rows_f32();
const SoftmaxRows<double>& softmax_rows_f64();
const LstmRows<float>& lstm_rows_f32();
const LstmRows<double>& lstm_rows_f64();
}  // namespace any_machine
namespace with_avx2 {
std::span<const TileEntry> tile_entries();
const RowFunctions<float>& rows_f32();
const RowFunctions<double>& rows_f64();
const NormRows<float>& norm_rows_f32();
const NormRows<double>& norm_rows_f64();
const SoftmaxRows<float>& softmax_rows_f32();
const SoftmaxRows<double>& softmax_rows_f64();
const LstmRows<float>& lstm_rows_f32();
const LstmRows<double>& lstm_rows_f64();
}  // namespace with_avx2

}  // namespace onward
