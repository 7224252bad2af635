#pragma once

// Tensors to and from NumPy arrays, without a copy where NumPy has the element type.

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "eval/runtime_value.h"
#include "runtime/state.h"

namespace onward::python {

namespace nb = nanobind;

/// NumPy's (or ml_dtypes') name of an element type: float32, bfloat16, int4, bool, str.
std::string_view numpy_name(DType dtype);

/// Arrays that tensors look at while a call runs: their memory is the caller's, who may write to it
/// as soon as the call has returned.
class Borrowed {
 public:
  /// A tensor that looks at the memory of `array`, or at that of a copy where the array is not
  /// contiguous or its element type is packed. Anything that numpy.asarray takes will do.
  Tensor tensor(nb::handle array);

  /// The values of a dict by name.
  TensorMap tensors(const nb::dict& arrays);

  /// A value of that type: a list or another iterable for a sequence, a dict for a map, None for an
  /// optional value that is not there.
  eval::RuntimeValue value(nb::handle object, const Type& type);

  /// The tensor itself, or a copy of its bytes where it looks at borrowed memory.
  Tensor owned(const Tensor& tensor) const;
  eval::RuntimeValue owned(const eval::RuntimeValue& value) const;

 private:
  std::vector<std::shared_ptr<const void>> arrays_;
  std::vector<std::span<const std::byte>> memory_;
};

/// Tensors with bytes of their own, by name.
TensorMap tensor_copies(const nb::dict& arrays);

/// An array over the tensor's bytes, which it keeps alive. It can't be written to: the bytes may
/// belong to a model as well.
nb::object to_array(const Tensor& tensor);

nb::dict to_arrays(const TensorMap& tensors);

/// An array, a list of a sequence's values, a dict of a map's, or None for an optional value that
/// is not there. In a dict a tensor of rank 0 is NumPy's scalar.
nb::object to_object(const eval::RuntimeValue& value);

}  // namespace onward::python
