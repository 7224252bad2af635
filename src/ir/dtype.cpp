#include "ir/dtype.h"

#include <limits>

namespace onward {
namespace {

enum class Kind : uint8_t { none, text, logical, integer, floating, complex };

struct Row {
  std::string_view name;
  std::string_view onnx_name;
  int bits;
  Kind kind;
};

// Indexed by DType.
constexpr Row kRows[kDTypeCount] = {
    {"undefined", "undefined", 0, Kind::none},
    {"f32", "float", 32, Kind::floating},
    {"u8", "uint8", 8, Kind::integer},
    {"i8", "int8", 8, Kind::integer},
    {"u16", "uint16", 16, Kind::integer},
    {"i16", "int16", 16, Kind::integer},
    {"i32", "int32", 32, Kind::integer},
    {"i64", "int64", 64, Kind::integer},
    {"string", "string", 0, Kind::text},
    {"bool", "bool", 8, Kind::logical},
    {"f16", "float16", 16, Kind::floating},
    {"f64", "double", 64, Kind::floating},
    {"u32", "uint32", 32, Kind::integer},
    {"u64", "uint64", 64, Kind::integer},
    {"c64", "complex64", 64, Kind::complex},
    {"c128", "complex128", 128, Kind::complex},
    {"bf16", "bfloat16", 16, Kind::floating},
    {"f8e4m3fn", "float8e4m3fn", 8, Kind::floating},
    {"f8e4m3fnuz", "float8e4m3fnuz", 8, Kind::floating},
    {"f8e5m2", "float8e5m2", 8, Kind::floating},
    {"f8e5m2fnuz", "float8e5m2fnuz", 8, Kind::floating},
    {"u4", "uint4", 4, Kind::integer},
    {"i4", "int4", 4, Kind::integer},
    {"f4e2m1", "float4e2m1", 4, Kind::floating},
    {"f8e8m0", "float8e8m0", 8, Kind::floating},
    {"u2", "uint2", 2, Kind::integer},
    {"i2", "int2", 2, Kind::integer},
    {"f6e2m3", "float6e2m3", 6, Kind::floating},
    {"f6e3m2", "float6e3m2", 6, Kind::floating},
};

const Row& row(DType dtype) { return kRows[static_cast<int>(dtype)]; }

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
std::string_view onnx_name(DType dtype) { return row(dtype).onnx_name; }
int bits(DType dtype) { return row(dtype).bits; }
bool is_float(DType dtype) { return row(dtype).kind == Kind::floating; }
bool is_integer(DType dtype) { return row(dtype).kind == Kind::integer; }
bool is_complex(DType dtype) { return row(dtype).kind == Kind::complex; }

std::optional<DType> dtype_from_onnx(int64_t number) {
  if (number < 0 || number >= kDTypeCount) return std::nullopt;
  return static_cast<DType>(number);
}

std::optional<DType> dtype_from_name(std::string_view text) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (kRows[i].name == text || kRows[i].onnx_name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<int64_t> packed_bytes(DType dtype, int64_t count) {
  int64_t total_bits = 0;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(bits(dtype)), &total_bits) ||
      total_bits > std::numeric_limits<int64_t>::max() - 7) {
    return std::nullopt;
  }
  return (total_bits + 7) / 8;
}

}  // namespace onward
