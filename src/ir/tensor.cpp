#include "ir/tensor.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/float_formats.h"
#include "onward/error.h"

namespace onward {
namespace {

template <typename T>
T read(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// The bits of element `index` of a type narrower than a byte, packed from the lowest bit up.
uint32_t read_bits(std::span<const std::byte> bytes, int64_t index, int width) {
  const int64_t first_bit = index * width;
  const size_t byte = static_cast<size_t>(first_bit / 8);
  uint32_t window = std::to_integer<uint32_t>(bytes[byte]);
  if (byte + 1 < bytes.size()) window |= std::to_integer<uint32_t>(bytes[byte + 1]) << 8;
  return (window >> (first_bit % 8)) & ((1U << width) - 1);
}

int64_t sign_extend(uint32_t bits, int width) {
  const int64_t value = bits;
  return (bits >> (width - 1)) & 1U ? value - (int64_t{1} << width) : value;
}

}  // namespace

int64_t checked_element_count(std::span<const int64_t> dims) {
  for (const int64_t dim : dims) {
    if (dim < 0) throw Error(fmt::format("dimension {} is negative in {}", dim, to_string(dims)));
  }
  const auto count = element_count(dims);
  if (!count)
    throw Error(fmt::format("the product of the dimensions {} overflows", to_string(dims)));
  return *count;
}

Tensor Tensor::view(DType dtype, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.size_ = checked_element_count(dims);
  tensor.dims_ = std::move(dims);
  const auto needed = packed_bytes(dtype, tensor.size_);
  if (!needed || static_cast<uint64_t>(*needed) != bytes.size()) {
    throw Error(fmt::format("{}{} takes {} bytes, but {} are given", name(dtype),
                            to_string(tensor.dims_), needed.value_or(-1), bytes.size()));
  }
  tensor.bytes_ = bytes;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::from_bytes(DType dtype, std::vector<int64_t> dims,
                          std::shared_ptr<const std::string> bytes) {
  Tensor tensor = view(dtype, std::move(dims), std::as_bytes(std::span(*bytes)), bytes);
  tensor.owned_ = std::move(bytes);
  return tensor;
}

Tensor Tensor::of_strings(std::vector<int64_t> dims, std::vector<std::string> values) {
  Tensor tensor;
  tensor.dtype_ = DType::string;
  tensor.size_ = checked_element_count(dims);
  tensor.dims_ = std::move(dims);
  if (static_cast<uint64_t>(tensor.size_) != values.size()) {
    throw Error(fmt::format("string{} takes {} values, but {} are given", to_string(tensor.dims_),
                            tensor.size_, values.size()));
  }
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return tensor;
}

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  if (checked_element_count(dims) != size_) {
    throw Error(fmt::format("{} elements do not fit shape {}", size_, to_string(dims)));
  }
  Tensor tensor = *this;
  tensor.dims_ = std::move(dims);
  return tensor;
}

Tensor Tensor::part(int64_t first, std::vector<int64_t> dims) const {
  const int64_t count = checked_element_count(dims);
  if (first < 0 || first > size_ || count > size_ - first || bits(dtype_) % 8 != 0) {
    throw Bug(fmt::format("{} elements from {} on of {}", count, first, to_string(type())));
  }
  const auto width = static_cast<size_t>(bits(dtype_) / 8);
  return view(
      dtype_, std::move(dims),
      bytes_.subspan(static_cast<size_t>(first) * width, static_cast<size_t>(count) * width),
      owner_);
}

const std::vector<std::string>& Tensor::strings() const {
  require(DType::string);
  return *strings_;
}

void Tensor::require(DType dtype) const {
  if (dtype_ != dtype) {
    throw Bug(fmt::format("a tensor of {} read as {}", name(dtype_), name(dtype)));
  }
}

int64_t Tensor::integer(int64_t index) const {
  if (index < 0 || index >= size_) {
    throw Bug(fmt::format("element {} of a tensor of {}", index, size_));
  }
  switch (dtype_) {
    case DType::i8:
      return read<int8_t>(bytes_, index);
    case DType::i16:
      return read<int16_t>(bytes_, index);
    case DType::i32:
      return read<int32_t>(bytes_, index);
    case DType::i64:
      return read<int64_t>(bytes_, index);
    case DType::u8:
    case DType::boolean:
      return read<uint8_t>(bytes_, index);
    case DType::u16:
      return read<uint16_t>(bytes_, index);
    case DType::u32:
      return read<uint32_t>(bytes_, index);
    case DType::u64:
      return static_cast<int64_t>(read<uint64_t>(bytes_, index));
    case DType::u4:
      return read_bits(bytes_, index, 4);
    case DType::u2:
      return read_bits(bytes_, index, 2);
    case DType::i4:
      return sign_extend(read_bits(bytes_, index, 4), 4);
    case DType::i2:
      return sign_extend(read_bits(bytes_, index, 2), 2);
    default:
      throw Bug(fmt::format("element of {} read as an integer", name(dtype_)));
  }
}

double Tensor::number(int64_t index) const {
  if (index < 0 || index >= size_) {
    throw Bug(fmt::format("element {} of a tensor of {}", index, size_));
  }
  switch (dtype_) {
    case DType::f32:
      return read<float>(bytes_, index);
    case DType::f64:
      return read<double>(bytes_, index);
    case DType::u64:
      return static_cast<double>(read<uint64_t>(bytes_, index));
    default:
      break;
  }
  if (!is_float(dtype_)) return static_cast<double>(integer(index));
  const int width = bits(dtype_);
  const uint32_t pattern = width == 16  ? read<uint16_t>(bytes_, index)
                           : width == 8 ? read<uint8_t>(bytes_, index)
                                        : read_bits(bytes_, index, width);
  return decode_small_float(dtype_, pattern);
}

std::vector<int64_t> Tensor::integers() const {
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) values.push_back(integer(i));
  return values;
}

Type SparseTensor::type() const {
  Type type = Type::tensor(values.dtype(), std::span<const int64_t>(dims));
  type.kind = Type::Kind::sparse_tensor;
  return type;
}

}  // namespace onward
