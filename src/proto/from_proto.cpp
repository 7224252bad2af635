#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "ir/sparse.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"
#include "proto/proto.h"

namespace onward {
namespace {

/// Packs repeated numbers into bytes of `Stored`; complex numbers come as two entries each.
template <typename Stored, typename Field>
std::shared_ptr<const std::string> pack(const Field& field, int64_t count, std::string_view name) {
  if (field.size() != count) {
    throw Error(fmt::format("{} has {} entries, but {} are needed", name, field.size(), count));
  }
  std::string bytes(static_cast<size_t>(count) * sizeof(Stored), '\0');
  for (int i = 0; i < field.size(); ++i) {
    const auto value = static_cast<Stored>(field.Get(i));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(Stored), &value, sizeof(Stored));
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

/// Types below a byte: each entry of int32_data holds the bytes of several packed elements. Files
/// in the wild hold one byte an entry, the standard's text allows up to four; the count tells.
std::shared_ptr<const std::string> pack_sub_byte(const onnx::TensorProto& proto, int64_t needed) {
  const auto& field = proto.int32_data();
  if (field.size() == needed) return pack<uint8_t>(field, needed, "int32_data");
  if (field.size() != (needed + 3) / 4) {
    throw Error(fmt::format("int32_data has {} entries for {} packed bytes", field.size(), needed));
  }
  std::string bytes(reinterpret_cast<const char*>(field.data()), static_cast<size_t>(needed));
  return std::make_shared<const std::string>(std::move(bytes));
}

/// 6-bit floats: one element an entry in int32_data, four elements in three bytes when packed.
std::shared_ptr<const std::string> pack_six_bits(const onnx::TensorProto& proto, int64_t count) {
  const auto& field = proto.int32_data();
  if (field.size() != count) {
    throw Error(fmt::format("int32_data has {} entries, but {} are needed", field.size(), count));
  }
  std::string bytes(static_cast<size_t>((count * 6 + 7) / 8), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const int32_t entry = field.Get(static_cast<int>(i));
    if (entry < 0 || entry > 0x3f) throw Error(fmt::format("{} is not a 6-bit number", entry));
    const auto first_bit = static_cast<size_t>(i * 6);
    const uint32_t placed = static_cast<uint32_t>(entry) << (first_bit % 8);
    bytes[first_bit / 8] = static_cast<char>(bytes[first_bit / 8] | (placed & 0xff));
    if (placed > 0xff) bytes[first_bit / 8 + 1] = static_cast<char>(placed >> 8);
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

std::shared_ptr<const std::string> pack_typed_fields(const onnx::TensorProto& proto, DType dtype,
                                                     int64_t count) {
  switch (dtype) {
    case DType::f32:
      return pack<float>(proto.float_data(), count, "float_data");
    case DType::c64:
      return pack<float>(proto.float_data(), 2 * count, "float_data");
    case DType::f64:
      return pack<double>(proto.double_data(), count, "double_data");
    case DType::c128:
      return pack<double>(proto.double_data(), 2 * count, "double_data");
    case DType::i64:
      return pack<int64_t>(proto.int64_data(), count, "int64_data");
    case DType::u32:
      return pack<uint32_t>(proto.uint64_data(), count, "uint64_data");
    case DType::u64:
      return pack<uint64_t>(proto.uint64_data(), count, "uint64_data");
    case DType::i32:
      return pack<int32_t>(proto.int32_data(), count, "int32_data");
    default:
      break;
  }
  switch (bits(dtype)) {
    case 16:
      return pack<uint16_t>(proto.int32_data(), count, "int32_data");
    case 8:
      return pack<uint8_t>(proto.int32_data(), count, "int32_data");
    case 6:
      return pack_six_bits(proto, count);
    default:
      return pack_sub_byte(proto, packed_bytes(dtype, count).value_or(0));
  }
}

int64_t parse_number(const std::string& text, std::string_view what) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) {
    throw Error(fmt::format("{} '{}' of external data is not a number", what, text));
  }
  return number;
}

Tensor external_tensor(const onnx::TensorProto& proto, DType dtype, std::vector<int64_t> dims,
                       const TensorOrigin& origin) {
  if (!origin.files) throw Error("its data is external, but the model's folder is not known");
  if (dtype == DType::string) throw Error("strings can't be stored as external data");
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), "offset");
    if (entry.key() == "length") length = parse_number(entry.value(), "length");
  }
  if (!length) length = packed_bytes(dtype, checked_element_count(dims));
  const ExternalBytes found = origin.files->map(location, offset, length);
  const auto alignment = static_cast<size_t>(std::max(1, std::min(bits(dtype) / 8, 8)));
  const Tensor tensor = Tensor::view(dtype, std::move(dims), found.bytes, found.owner);
  const bool is_aligned = reinterpret_cast<uintptr_t>(found.bytes.data()) % alignment == 0;
  // Small ones are looked into at any time, for shapes.
  constexpr size_t kSmall = 16 * 1024;
  return is_aligned && found.bytes.size() > kSmall ? tensor : in_memory(tensor);
}

/// The one typed field that holds data; a tensor with two is refused.
void require_one_field(const onnx::TensorProto& proto) {
  const int used = (proto.float_data_size() > 0) + (proto.int32_data_size() > 0) +
                   (proto.string_data_size() > 0) + (proto.int64_data_size() > 0) +
                   (proto.double_data_size() > 0) + (proto.uint64_data_size() > 0) +
                   !proto.raw_data().empty();
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (used + external > 1) throw Error("its data is given more than once");
}

std::optional<Shape> shape_from_proto(const onnx::TensorShapeProto& proto) {
  Shape shape;
  for (const auto& dim : proto.dim()) {
    Dim converted;
    if (dim.has_dim_value()) converted.value = dim.dim_value();
    if (dim.has_dim_param()) converted.symbol = dim.dim_param();
    if (dim.has_denotation()) converted.denotation = dim.denotation();
    // Exporters write -1 for what they do not know; whoever reads a declaration warns of it.
    if (converted.value && *converted.value < 0) converted.value.reset();
    shape.push_back(std::move(converted));
  }
  return shape;
}

/// Tensor and SparseTensor messages of a TypeProto have the same fields.
template <typename Proto>
Type tensor_type_from_proto(const Proto& proto, Type::Kind kind) {
  Type type = Type::tensor(dtype_from_proto(proto.elem_type()));
  type.kind = kind;
  if (proto.has_shape()) type.shape = shape_from_proto(proto.shape());
  return type;
}

}  // namespace

DType dtype_from_proto(int64_t number) {
  const auto dtype = dtype_from_onnx(number);
  if (!dtype) throw Error(fmt::format("element type {} is not known to the standard", number));
  return *dtype;
}

Type type_from_proto(const onnx::TypeProto& proto) {
  Type type;
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      type = tensor_type_from_proto(proto.tensor_type(), Type::Kind::tensor);
      break;
    case onnx::TypeProto::kSparseTensorType:
      type = tensor_type_from_proto(proto.sparse_tensor_type(), Type::Kind::sparse_tensor);
      break;
    case onnx::TypeProto::kSequenceType:
      type = Type::sequence(type_from_proto(proto.sequence_type().elem_type()));
      break;
    case onnx::TypeProto::kOptionalType:
      type = Type::optional(type_from_proto(proto.optional_type().elem_type()));
      break;
    case onnx::TypeProto::kMapType:
      type = Type::map(dtype_from_proto(proto.map_type().key_type()),
                       type_from_proto(proto.map_type().value_type()));
      break;
    case onnx::TypeProto::kOpaqueType:
      type.kind = Type::Kind::opaque;
      type.opaque_domain = proto.opaque_type().domain();
      type.opaque_name = proto.opaque_type().name();
      break;
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
  }
  if (proto.has_denotation()) type.denotation = proto.denotation();
  return type;
}

Tensor tensor_from_proto(const onnx::TensorProto& proto, const TensorOrigin& origin) {
  const DType dtype = dtype_from_proto(proto.data_type());
  if (dtype == DType::undefined) throw Error("its element type is not given");
  if (proto.has_segment()) throw Error("it is stored in segments, which are not supported");
  require_one_field(proto);
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());

  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    return external_tensor(proto, dtype, std::move(dims), origin);
  }
  if (dtype == DType::string) {
    return Tensor::of_strings(std::move(dims),
                              {proto.string_data().begin(), proto.string_data().end()});
  }
  if (const auto found = origin.taken.find(&proto); found != origin.taken.end()) {
    return Tensor::from_bytes(dtype, std::move(dims), found->second);
  }
  if (!proto.raw_data().empty()) {
    const std::string& raw = proto.raw_data();
    if (!origin.owner) {
      return Tensor::from_bytes(dtype, std::move(dims), std::make_shared<const std::string>(raw));
    }
    return Tensor::view(dtype, std::move(dims), std::as_bytes(std::span(raw)), origin.owner);
  }
  // The count is compared with the entries there are before anything of its size is allocated.
  const int64_t count = checked_element_count(dims);
  return Tensor::from_bytes(dtype, std::move(dims), pack_typed_fields(proto, dtype, count));
}

SparseTensor sparse_tensor_from_proto(const onnx::SparseTensorProto& proto,
                                      const TensorOrigin& origin) {
  SparseTensor sparse;
  sparse.dims.assign(proto.dims().begin(), proto.dims().end());
  checked_element_count(sparse.dims);
  sparse.values = in_memory(tensor_from_proto(proto.values(), origin));
  if (proto.has_indices()) {
    sparse.indices = in_memory(tensor_from_proto(proto.indices(), origin));
  } else {
    sparse.indices = Tensor::of<int64_t>({0}, {});
  }
  const auto rank = static_cast<int64_t>(sparse.dims.size());
  const auto& shape = sparse.indices.dims();
  if (sparse.values.dims().size() != 1) throw Error("its values are not of rank 1");
  const int64_t count = sparse.values.size();
  if (sparse.indices.dtype() != DType::i64) throw Error("its indices are not i64");
  const bool linear = shape.size() == 1 && shape[0] == count;
  const bool by_axis = shape.size() == 2 && shape[0] == count && shape[1] == rank;
  if (!linear && !by_axis) {
    throw Error(fmt::format("its indices have shape {} for {} values of a tensor of rank {}",
                            to_string(shape), count, rank));
  }
  check_indices(sparse);
  return sparse;
}

}  // namespace onward
