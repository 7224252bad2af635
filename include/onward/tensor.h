#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "onward/api.h"

namespace onward::api {

/// Element types; the numbers are those of ONNX's TensorProto.DataType.
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

/// The element type that holds values of the C++ type T: numbers and bool.
template <typename T>
constexpr DType dtype_of() = delete;
// clang-format off
template <> constexpr DType dtype_of<float>() { return DType::f32; }
template <> constexpr DType dtype_of<double>() { return DType::f64; }
template <> constexpr DType dtype_of<int8_t>() { return DType::i8; }
template <> constexpr DType dtype_of<int16_t>() { return DType::i16; }
template <> constexpr DType dtype_of<int32_t>() { return DType::i32; }
template <> constexpr DType dtype_of<int64_t>() { return DType::i64; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::u8; }
template <> constexpr DType dtype_of<uint16_t>() { return DType::u16; }
template <> constexpr DType dtype_of<uint32_t>() { return DType::u32; }
template <> constexpr DType dtype_of<uint64_t>() { return DType::u64; }
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }
// clang-format on

struct TensorData;  // of the implementation

/// An immutable dense tensor: elements in row-major order, little-endian, packed as ONNX packs
/// them. Copies share the elements.
class ONWARD_API Tensor {
 public:
  Tensor();

  /// Copies elements that are already packed; throws Error where their number does not fit the
  /// shape.
  Tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes);

  /// Copies elements: `Tensor({2, 3}, std::span(values))`.
  template <typename T>
  Tensor(std::vector<int64_t> shape, std::span<const T> values)
      : Tensor(dtype_of<T>(), std::move(shape), std::as_bytes(values)) {}
  template <typename T>
  Tensor(std::vector<int64_t> shape, const std::vector<T>& values)
      : Tensor(std::move(shape), std::span<const T>(values)) {}

  /// Refers to elements of the caller's, which must stay as they are for as long as the tensor or a
  /// copy of it lives.
  static Tensor view(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes);

  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  /// The number of elements.
  int64_t size() const;
  /// "f32[2,3]".
  std::string type() const;

  /// The packed elements; empty for strings.
  std::span<const std::byte> bytes() const;
  const std::vector<std::string>& strings() const;

  /// The elements as T, which must be the tensor's own type.
  template <typename T>
  std::span<const T> data() const {
    require(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<size_t>(size())};
  }

  /// Element `index` of any real type as a double; exact but for 64-bit integers beyond 2^53.
  double number(int64_t index = 0) const;

 private:
  friend struct TensorData;
  explicit Tensor(std::shared_ptr<const TensorData> data);
  void require(DType dtype) const;

  std::shared_ptr<const TensorData> data_;
};

/// Tensors by name: a batch, the outputs of a step, a state.
using Tensors = std::map<std::string, Tensor, std::less<>>;
using Batch = Tensors;

}  // namespace onward::api
