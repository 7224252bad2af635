#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/type.h"

namespace onward {

/// The element type that holds values of the C++ type T.
template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

/// An immutable dense tensor: elements in row-major order, little-endian, packed as the standard
/// packs them. Copies share the bytes, which may lie in a mapped file that is read when touched.
class Tensor {
 public:
  Tensor() = default;

  /// Takes bytes that are already packed; throws Error where their number does not fit `dims`.
  static Tensor from_bytes(DType dtype, std::vector<int64_t> dims,
                           std::shared_ptr<const std::string> bytes);

  /// Refers to bytes that `owner` keeps alive.
  static Tensor view(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner);

  static Tensor of_strings(std::vector<int64_t> dims, std::vector<std::string> values);

  /// The same elements, which are shared, in another shape of as many.
  Tensor reshaped(std::vector<int64_t> dims) const;
  /// The elements from number `first` on that fill `dims`, which are shared. Not for strings, nor
  /// for elements smaller than a byte.
  Tensor part(int64_t first, std::vector<int64_t> dims) const;

  template <typename T>
  static Tensor of(std::vector<int64_t> dims, const std::vector<T>& values) {
    auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(values.data()),
                                               values.size() * sizeof(T));
    return from_bytes(dtype_of<T>(), std::move(dims), std::move(bytes));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, std::vector<T>{value});
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t size() const { return size_; }  // elements
  Type type() const { return Type::tensor(dtype_, std::span<const int64_t>(dims_)); }

  /// The packed elements; empty for strings.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<std::string>& strings() const;

  /// The elements as T, which must be the tensor's own type.
  template <typename T>
  std::span<const T> data() const {
    require(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes_.data()), static_cast<size_t>(size_)};
  }

  /// Element `index` of any real type as a double; exact but for 64-bit integers beyond 2^53.
  double number(int64_t index) const;
  /// Element `index` of an integer or bool tensor.
  int64_t integer(int64_t index) const;
  /// All elements of an integer tensor.
  std::vector<int64_t> integers() const;

  /// The string that owns the bytes, where one does and they fill it; saving lends it to protobuf
  /// instead of copying.
  const std::shared_ptr<const std::string>& owned_bytes() const { return owned_; }

  /// True where both share the same bytes: a cheap "was it replaced?".
  bool shares_bytes_with(const Tensor& other) const {
    return bytes_.data() == other.bytes_.data() && size_ == other.size_ &&
           strings_ == other.strings_ && dtype_ == other.dtype_ && dims_ == other.dims_;
  }

 private:
  void require(DType dtype) const;

  DType dtype_ = DType::undefined;
  std::vector<int64_t> dims_;
  int64_t size_ = 0;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const std::string> owned_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

/// A sparse tensor in the standard's form: `values` of shape [n], `indices` of shape [n] (linear)
/// or [n, rank].
struct SparseTensor {
  std::vector<int64_t> dims;
  Tensor values;
  Tensor indices;

  Type type() const;
};

/// The number of elements of `dims`; throws Error where one is negative or the product overflows.
int64_t checked_element_count(std::span<const int64_t> dims);

}  // namespace onward
