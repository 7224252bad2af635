#include "python/arrays.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "data/convert.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"
#include "python/names.h"

namespace onward::python {

using eval::RuntimeValue;

namespace {

/// How NumPy holds the elements of a type. The types that NumPy itself lacks are those of the
/// package ml_dtypes; it keeps those of less than a byte in a byte each, which the standard packs.
struct NumpyType {
  DType dtype;
  std::string_view name;
  bool needs_ml_dtypes = false;
};

constexpr NumpyType kTypes[] = {
    {DType::f32, "float32"},
    {DType::f64, "float64"},
    {DType::f16, "float16"},
    {DType::i8, "int8"},
    {DType::i16, "int16"},
    {DType::i32, "int32"},
    {DType::i64, "int64"},
    {DType::u8, "uint8"},
    {DType::u16, "uint16"},
    {DType::u32, "uint32"},
    {DType::u64, "uint64"},
    {DType::boolean, "bool"},
    {DType::c64, "complex64"},
    {DType::c128, "complex128"},
    {DType::string, "str"},
    {DType::bf16, "bfloat16", true},
    {DType::f8e4m3fn, "float8_e4m3fn", true},
    {DType::f8e4m3fnuz, "float8_e4m3fnuz", true},
    {DType::f8e5m2, "float8_e5m2", true},
    {DType::f8e5m2fnuz, "float8_e5m2fnuz", true},
    {DType::f8e8m0, "float8_e8m0fnu", true},
    {DType::u4, "uint4", true},
    {DType::i4, "int4", true},
    {DType::u2, "uint2", true},
    {DType::i2, "int2", true},
    {DType::f4e2m1, "float4_e2m1fn", true},
    {DType::f6e2m3, "float6_e2m3fn", true},
    {DType::f6e3m2, "float6_e3m2fn", true},
};

const NumpyType& numpy_type(DType dtype) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const NumpyType& type) { return type.dtype == dtype; });
  if (found == std::end(kTypes)) throw Error(fmt::format("NumPy has no type {}", name(dtype)));
  return *found;
}

bool is_packed(DType dtype) { return bits(dtype) > 0 && bits(dtype) < 8; }

nb::object numpy() { return nb::module_::import_("numpy"); }

nb::object dtype_object(const NumpyType& type) {
  if (!type.needs_ml_dtypes) return numpy().attr(type.name == "bool" ? "bool_" : type.name.data());
  try {
    return nb::module_::import_("ml_dtypes").attr(type.name.data());
  } catch (nb::python_error&) {
    throw Error(
        fmt::format("NumPy has no type {}: please install the package ml_dtypes", type.name));
  }
}

std::vector<int64_t> shape_of(const nb::object& array) {
  std::vector<int64_t> dims;
  for (nb::handle dim : array.attr("shape")) dims.push_back(nb::cast<int64_t>(dim));
  return dims;
}

/// The memory of a contiguous array. (Its buffer would be empty for types of ml_dtypes.)
std::span<const std::byte> memory_of(const nb::object& array) {
  const nb::object interface = array.attr("__array_interface__");
  const auto address = nb::cast<uintptr_t>(interface["data"][0]);
  const auto size = nb::cast<size_t>(array.attr("nbytes"));
  return {reinterpret_cast<const std::byte*>(address), size};
}

Tensor strings_from(const nb::object& array) {
  std::vector<std::string> values;
  for (nb::handle each : nb::list(array.attr("ravel")().attr("tolist")())) {
    if (nb::isinstance<nb::bytes>(each)) {
      const nb::bytes bytes = nb::borrow<nb::bytes>(each);
      values.emplace_back(bytes.c_str(), bytes.size());
    } else if (nb::isinstance<nb::str>(each)) {
      values.push_back(text_from(each, "a string of the array"));
    } else {
      throw Error(fmt::format("an array of objects must hold strings, not {}", type_name_of(each)));
    }
  }
  return Tensor::of_strings(shape_of(array), std::move(values));
}

/// What is no UTF-8 stays the bytes that it is.
nb::object text_or_bytes(const std::string& value) {
  PyObject* text =
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), nullptr);
  if (text) return nb::steal(text);
  PyErr_Clear();
  return nb::bytes(value.data(), value.size());
}

Tensor pack(const nb::object& array, DType dtype) {
  const nb::object bytes =
      is_integer(dtype) ? array.attr("astype")("int8") : array.attr("view")("uint8");
  const auto memory = memory_of(bytes);
  const int width = bits(dtype);
  std::string packed(
      static_cast<size_t>(packed_bytes(dtype, static_cast<int64_t>(memory.size())).value_or(0)),
      '\0');
  for (size_t i = 0; i < memory.size(); ++i) {
    const unsigned pattern = std::to_integer<unsigned>(memory[i]) & ((1U << width) - 1U);
    const size_t bit = i * static_cast<size_t>(width);
    const unsigned shifted = pattern << (bit % 8);
    packed[bit / 8] = static_cast<char>(static_cast<unsigned char>(packed[bit / 8]) | shifted);
    if (shifted > 0xFF) packed[bit / 8 + 1] = static_cast<char>(shifted >> 8);
  }
  return Tensor::from_bytes(dtype, shape_of(array),
                            std::make_shared<const std::string>(std::move(packed)));
}

nb::object unpack(const Tensor& tensor, const nb::object& dtype) {
  const int width = bits(tensor.dtype());
  const bool is_signed = tensor.dtype() == DType::i4 || tensor.dtype() == DType::i2;
  std::string values(static_cast<size_t>(tensor.size()), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t bit = i * static_cast<size_t>(width);
    unsigned window = std::to_integer<unsigned>(tensor.bytes()[bit / 8]);
    if (bit / 8 + 1 < tensor.bytes().size()) {
      window |= std::to_integer<unsigned>(tensor.bytes()[bit / 8 + 1]) << 8;
    }
    unsigned pattern = (window >> (bit % 8)) & ((1U << width) - 1U);
    if (is_signed && (pattern >> (width - 1)) != 0) pattern |= 0xFFU << width;
    values[i] = static_cast<char>(pattern);
  }
  const nb::object bytes = nb::bytes(values.data(), values.size());
  const nb::object plain =
      numpy().attr("frombuffer")(bytes, is_integer(tensor.dtype()) ? "int8" : "uint8");
  return is_integer(tensor.dtype()) ? plain.attr("astype")(dtype) : plain.attr("view")(dtype);
}

/// Keeps an array alive; may be let go of in any thread.
std::shared_ptr<const void> kept(nb::object array) {
  return {array.release().ptr(), [](const void* pointer) {
            if (!nb::is_alive()) return;  // the interpreter is gone, and the array with it
            const nb::gil_scoped_acquire locked;
            nb::handle(static_cast<PyObject*>(const_cast<void*>(pointer))).dec_ref();
          }};
}

/// The element type as DLPack says it; unsigned integers of the same size for those it would not.
nb::dlpack::dtype element_of(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::UInt;
  if (numpy_type(dtype).needs_ml_dtypes) {
    code = Code::UInt;
  } else if (dtype == DType::boolean) {
    code = Code::Bool;
  } else if (is_complex(dtype)) {
    code = Code::Complex;
  } else if (is_float(dtype)) {
    code = Code::Float;
  } else if (numpy_name(dtype).front() == 'i') {
    code = Code::Int;
  }
  return {
      .code = static_cast<uint8_t>(code), .bits = static_cast<uint8_t>(bits(dtype)), .lanes = 1};
}

bool is_string_kind(const std::string& kind) {
  return kind == "U" || kind == "S" || kind == "O" || kind == "T";
}

DType dtype_of_array(const nb::object& array) {
  const auto wanted = nb::cast<std::string>(array.attr("dtype").attr("name"));
  for (const NumpyType& type : kTypes) {
    if (type.name == wanted) return type.dtype;
  }
  throw Error(fmt::format("an array of {} has no type of ONNX", wanted));
}

/// Whether an element is masked, also in arrays of a list: NumPy's conversion would uncover it.
bool is_masked(nb::handle object, int depth = 0) {
  constexpr int kDeepest = 64;  // of an array's dimensions: NumPy refuses more
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
    if (depth == kDeepest) return false;
    for (const nb::handle each : object) {
      if (is_masked(each, depth + 1)) return true;
    }
    return false;
  }
  return nb::hasattr(object, "mask") &&
         nb::cast<bool>(numpy().attr("ma").attr("is_masked")(object));
}

/// A contiguous array; a tensor of PyTorch may belong to a graph, or lie elsewhere.
nb::object as_array(nb::handle object) {
  if (is_masked(object)) {
    throw Error(
        "the array has masked elements, which tensors cannot have: fill them first, for example "
        "with array.filled(0)");
  }
  try {
    nb::object source = nb::borrow(object);
    if (nb::hasattr(source, "detach") && nb::hasattr(source, "cpu")) {
      source = source.attr("detach")().attr("cpu")();
    }
    return numpy().attr("asarray")(source, nb::arg("order") = "C");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError) &&
        !error.matches(PyExc_RuntimeError)) {
      throw;
    }
    throw Error(fmt::format("{} can't be taken for an array: {}; pass a NumPy array",
                            type_name_of(object), nb::cast<std::string>(nb::str(error.value()))));
  }
}

}  // namespace

std::string_view numpy_name(DType dtype) {
  return dtype == DType::undefined ? "" : numpy_type(dtype).name;
}

Tensor Borrowed::tensor(nb::handle object) {
  nb::object array = as_array(object);
  if (is_string_kind(nb::cast<std::string>(array.attr("dtype").attr("kind")))) {
    return strings_from(array);
  }
  const nb::object dtype = array.attr("dtype");
  if (!nb::cast<bool>(dtype.attr("isnative"))) {
    array = array.attr("astype")(dtype.attr("newbyteorder")("="));
  }
  const DType type = dtype_of_array(array);
  if (is_packed(type)) return pack(array, type);
  const auto memory = memory_of(array);
  std::vector<int64_t> dims = shape_of(array);
  arrays_.push_back(kept(std::move(array)));
  memory_.push_back(memory);
  return Tensor::view(type, std::move(dims), memory, arrays_.back());
}

eval::RuntimeValue Borrowed::value(nb::handle object, const Type& type) {
  switch (type.kind) {
    case Type::Kind::sequence: {
      eval::RuntimeSequence sequence{*type.element, {}};
      for (nb::handle each : object) sequence.values.push_back(value(each, *type.element));
      return sequence;
    }
    case Type::Kind::optional: {
      eval::RuntimeOptional optional{*type.element, {}};
      if (!object.is_none()) optional.value.push_back(value(object, *type.element));
      return optional;
    }
    case Type::Kind::map: {
      if (!nb::isinstance<nb::dict>(object)) {
        throw Error(fmt::format("a dict is needed, not {}", type_name_of(object)));
      }
      const auto dict = nb::borrow<nb::dict>(object);
      eval::RuntimeMap map{fitted(tensor(dict.keys()), Type::tensor(type.dtype)), {}};
      for (nb::handle each : dict.values()) map.values.push_back(value(each, *type.element));
      return map;
    }
    default:
      return fitted(tensor(object), type);
  }
}

TensorMap Borrowed::tensors(const nb::dict& arrays) {
  TensorMap tensors;
  for (const auto& [key, value] : arrays) {
    const std::string name = text_from(key, "the name of an array");
    try {
      tensors.emplace(name, tensor(value));
    } catch (Error& error) {
      throw error.add_context(fmt::format("in the array for '{}'", name));
    }
  }
  return tensors;
}

Tensor Borrowed::owned(const Tensor& tensor) const {
  const auto bytes = tensor.bytes();
  const bool borrowed = std::any_of(memory_.begin(), memory_.end(), [&](const auto& memory) {
    return bytes.data() >= memory.data() && bytes.data() < memory.data() + memory.size();
  });
  if (!borrowed) return tensor;
  return Tensor::from_bytes(tensor.dtype(), tensor.dims(),
                            std::make_shared<const std::string>(
                                reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

RuntimeValue Borrowed::owned(const RuntimeValue& value) const {
  const auto all_owned = [&](const std::vector<RuntimeValue>& values) {
    std::vector<RuntimeValue> copies;
    for (const RuntimeValue& each : values) copies.push_back(owned(each));
    return copies;
  };
  switch (value.type().kind) {
    case Type::Kind::sequence:
      return eval::RuntimeSequence{value.sequence().element, all_owned(value.sequence().values)};
    case Type::Kind::optional:
      return eval::RuntimeOptional{value.optional().element, all_owned(value.optional().value)};
    case Type::Kind::map:
      return eval::RuntimeMap{owned(value.map().keys), all_owned(value.map().values)};
    default:
      return owned(value.tensor());
  }
}

TensorMap tensor_copies(const nb::dict& arrays) {
  Borrowed borrowed;
  TensorMap tensors = borrowed.tensors(arrays);
  for (auto& [name, tensor] : tensors) tensor = borrowed.owned(tensor);
  return tensors;
}

nb::object to_array(const Tensor& given) {
  const Tensor tensor = in_memory(given);  // an array lives on where its file is cut
  const nb::object shape = [&] {
    nb::list dims;
    for (const int64_t dim : tensor.dims()) dims.append(dim);
    return nb::tuple(dims);
  }();
  if (tensor.dtype() == DType::string) {
    nb::list values;
    for (const std::string& value : tensor.strings()) values.append(text_or_bytes(value));
    const nb::object flat = numpy().attr("array")(values, nb::arg("dtype") = "object");
    return flat.attr("reshape")(shape);
  }
  const nb::object dtype = dtype_object(numpy_type(tensor.dtype()));
  if (is_packed(tensor.dtype())) return unpack(tensor, dtype).attr("reshape")(shape);
  if (tensor.size() == 0) return numpy().attr("zeros")(shape, dtype);

  const nb::capsule owner(new Tensor(tensor),
                          [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
  const std::vector<size_t> dims(tensor.dims().begin(), tensor.dims().end());
  const nb::ndarray<nb::numpy, nb::ro> array(tensor.bytes().data(), dims.size(), dims.data(), owner,
                                             nullptr, element_of(tensor.dtype()));
  const nb::object plain = nb::cast(array);
  return numpy_type(tensor.dtype()).needs_ml_dtypes ? plain.attr("view")(dtype) : plain;
}

nb::dict to_arrays(const TensorMap& tensors) {
  nb::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[nb::cast(name)] = to_array(tensor);
  return arrays;
}

nb::object to_object(const RuntimeValue& value) {
  switch (value.type().kind) {
    case Type::Kind::sequence: {
      nb::list list;
      for (const RuntimeValue& each : value.sequence().values) list.append(to_object(each));
      return list;
    }
    case Type::Kind::optional: {
      const auto& values = value.optional().value;
      return values.empty() ? nb::none() : to_object(values[0]);
    }
    case Type::Kind::map: {
      const nb::object keys = to_array(value.map().keys).attr("tolist")();
      nb::dict dict;
      for (size_t i = 0; i < value.map().values.size(); ++i) {
        const nb::object each = to_object(value.map().values[i]);
        const bool is_scalar = nb::hasattr(each, "ndim") && nb::cast<int>(each.attr("ndim")) == 0;
        dict[keys[i]] = is_scalar ? nb::object(each[nb::make_tuple()]) : each;
      }
      return dict;
    }
    default:
      return to_array(value.tensor());
  }
}

}  // namespace onward::python
