#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "eval/arithmetic.h"
#include "ir/memory_limit.h"
#include "ir/tensor.h"
#include "onward/error.h"

namespace onward::eval {

/// The elements of a tensor in the type that reference kernels compute in. Truth values are
/// uint8_t.
template <typename T>
struct Array {
  std::vector<int64_t> dims;
  std::vector<T> data;

  Array() = default;
  explicit Array(std::vector<int64_t> shape, T fill = T())
      : dims(std::move(shape)),
        data(static_cast<size_t>(checked_list_size(dims, sizeof(T))), fill) {}

  int64_t size() const { return static_cast<int64_t>(data.size()); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  T& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  const T& operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
};

/// Converts elements of any numeric type; T is float, double, int64_t, uint64_t or uint8_t (bool).
template <typename T>
Array<T> to_array(const Tensor& tensor);

/// Converts to elements of any numeric type: floats to the nearest, integers by their low bits.
template <typename T>
Tensor to_tensor(const Array<T>& array, DType dtype);

/// Calls `body.template operator()<T>()` with the type in which elements of `dtype` are computed.
template <typename Body>
auto compute_as(DType dtype, Body body) {
  if (dtype == DType::f64) return body.template operator()<double>();
  if (is_float(dtype)) return body.template operator()<float>();
  if (dtype == DType::boolean) return body.template operator()<uint8_t>();
  if (dtype == DType::u64) return body.template operator()<uint64_t>();
  if (is_integer(dtype)) return body.template operator()<int64_t>();
  throw Error("elements of type " + std::string(name(dtype)) + " can't be computed with");
}

/// The same for operators that take only floats.
template <typename Body>
auto compute_as_float(DType dtype, Body body) {
  if (dtype == DType::f64) return body.template operator()<double>();
  if (is_float(dtype)) return body.template operator()<float>();
  throw Error("elements of type " + std::string(name(dtype)) + " are no floats");
}

/// The steps between elements along each dimension of a row-major tensor.
std::vector<int64_t> strides_of(std::span<const int64_t> dims);

/// The shape of a broadcast; throws Error where the shapes do not fit.
std::vector<int64_t> broadcast_shape(std::span<const int64_t> a, std::span<const int64_t> b);

/// For each element of a broadcast result of shape `to`, the index of the element of shape `from`
/// that it takes; throws Error where it can't be broadcast to it.
std::vector<int64_t> broadcast_indices(std::span<const int64_t> from, std::span<const int64_t> to);

/// An axis counted from the front; throws Error where it is out of range for the rank.
int64_t checked_axis(int64_t axis, int64_t rank);

/// Visits all positions of a shape in row-major order.
template <typename Visit>
void for_each_position(std::span<const int64_t> dims, Visit visit) {
  std::vector<int64_t> position(dims.size(), 0);
  const int64_t count = checked_element_count(dims);
  for (int64_t i = 0; i < count; ++i) {
    visit(std::span<const int64_t>(position), i);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++position[d] < dims[d]) break;
      position[d] = 0;
    }
  }
}

/// Neighbouring elements of a tensor.
struct ElementRun {
  const Tensor* from;
  int64_t first, count;
};

/// A tensor of runs of elements of its type, one after the other.
Tensor take_runs(DType dtype, std::vector<int64_t> dims, std::span<const ElementRun> runs);

/// A tensor of elements taken from `from`, byte for byte and of any type, by index; -1 takes the
/// element of `fill`, a tensor of one element.
Tensor take_elements(const Tensor& from, std::vector<int64_t> dims,
                     std::span<const int64_t> indices, const Tensor* fill = nullptr);

}  // namespace onward::eval
