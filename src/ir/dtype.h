#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace onward {

/// The element types of the standard; the numbers are those of TensorProto.DataType.
enum class DType : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
  f6e2m3 = 27,
  f6e3m2 = 28,
};

inline constexpr int kDTypeCount = 29;

/// The short name that Onward prints: f32, bf16, i4, bool.
std::string_view name(DType dtype);

/// The name in ONNX's text syntax: float, bfloat16, int4, bool.
std::string_view onnx_name(DType dtype);

/// The type of that number in a TensorProto, or nothing for a number the standard does not define.
std::optional<DType> dtype_from_onnx(int64_t number);

/// The type of that short or ONNX name.
std::optional<DType> dtype_from_name(std::string_view text);

/// Bits of one element as the standard packs it; 0 for strings and `undefined`.
int bits(DType dtype);

bool is_float(DType dtype);    // real floating point of any width
bool is_integer(DType dtype);  // signed and unsigned of any width, not bool
bool is_complex(DType dtype);

/// The bytes that `count` packed elements take (4-bit: two a byte, 6-bit: four in three bytes),
/// or nothing where the number does not fit an int64.
std::optional<int64_t> packed_bytes(DType dtype, int64_t count);

}  // namespace onward
