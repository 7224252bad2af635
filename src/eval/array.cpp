#include "eval/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/float_formats.h"

namespace onward::eval {
namespace {

/// Writes elements of `width` bits one after the other, from the lowest bit up.
class BitWriter {
 public:
  BitWriter(int width, int64_t count)
      : width_(width), bytes_(static_cast<size_t>((count * width + 7) / 8), '\0') {}

  void write(int64_t index, uint32_t pattern) {
    const auto first = static_cast<size_t>(index * width_);
    const uint32_t placed = (pattern & ((1U << width_) - 1)) << (first % 8);
    for (size_t byte = first / 8, shift = 0; placed >> shift; ++byte, shift += 8) {
      bytes_[byte] =
          static_cast<char>(static_cast<uint8_t>(bytes_[byte]) | ((placed >> shift) & 0xff));
    }
  }

  std::string take() { return std::move(bytes_); }

 private:
  int width_;
  std::string bytes_;
};

template <typename To, typename From>
To converted_number(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return to_integer<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename Stored, typename T>
std::string converted(const std::vector<T>& data) {
  std::string bytes(data.size() * sizeof(Stored), '\0');
  for (size_t i = 0; i < data.size(); ++i) {
    const auto value = converted_number<Stored>(data[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
  return bytes;
}

template <typename T>
std::string packed(const Array<T>& array, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return converted<float>(array.data);
    case DType::f64:
      return converted<double>(array.data);
    case DType::i8:
      return converted<int8_t>(array.data);
    case DType::i16:
      return converted<int16_t>(array.data);
    case DType::i32:
      return converted<int32_t>(array.data);
    case DType::i64:
      return converted<int64_t>(array.data);
    case DType::u8:
      return converted<uint8_t>(array.data);
    case DType::u16:
      return converted<uint16_t>(array.data);
    case DType::u32:
      return converted<uint32_t>(array.data);
    case DType::u64:
      return converted<uint64_t>(array.data);
    case DType::boolean: {
      std::string bytes(array.data.size(), '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = array.data[i] != T(0) ? 1 : 0;
      return bytes;
    }
    default:
      break;
  }
  if (!is_float(dtype) && !is_integer(dtype)) {
    throw Error(fmt::format("numbers can't be stored as {}", name(dtype)));
  }
  BitWriter writer(bits(dtype), array.size());
  for (int64_t i = 0; i < array.size(); ++i) {
    writer.write(i, is_float(dtype) ? encode_small_float(dtype, static_cast<double>(array[i]),
                                                         Overflow::special)
                                    : static_cast<uint32_t>(converted_number<int64_t>(array[i])));
  }
  return writer.take();
}

/// The pattern of one element of any fixed width below a byte, as read by Tensor.
uint32_t pattern_of(const Tensor& tensor, int64_t index) {
  const int width = bits(tensor.dtype());
  uint32_t result = 0;
  for (int bit = 0; bit < width; ++bit) {
    const int64_t at = index * width + bit;
    const auto byte = std::to_integer<uint32_t>(tensor.bytes()[static_cast<size_t>(at / 8)]);
    result |= ((byte >> (at % 8)) & 1U) << bit;
  }
  return result;
}

Tensor take_small_elements(const Tensor& from, std::vector<int64_t> dims,
                           std::span<const int64_t> indices, const Tensor* fill) {
  BitWriter writer(bits(from.dtype()), static_cast<int64_t>(indices.size()));
  for (size_t i = 0; i < indices.size(); ++i) {
    writer.write(static_cast<int64_t>(i),
                 indices[i] < 0 ? pattern_of(*fill, 0) : pattern_of(from, indices[i]));
  }
  return Tensor::from_bytes(from.dtype(), std::move(dims),
                            std::make_shared<const std::string>(writer.take()));
}

std::string bytes_of_runs(DType dtype, int64_t count, std::span<const ElementRun> runs) {
  if (bits(dtype) < 8) {
    BitWriter writer(bits(dtype), count);
    int64_t to = 0;
    for (const auto& [from, first, length] : runs) {
      for (int64_t i = 0; i < length; ++i) writer.write(to++, pattern_of(*from, first + i));
    }
    return writer.take();
  }
  const auto width = static_cast<size_t>(bits(dtype) / 8);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count) * width);
  for (const auto& [from, first, length] : runs) {
    bytes.append(
        reinterpret_cast<const char*>(from->bytes().data()) + static_cast<size_t>(first) * width,
        static_cast<size_t>(length) * width);
  }
  return bytes;
}

}  // namespace

template <typename T>
Array<T> to_array(const Tensor& tensor) {
  Array<T> array;
  array.dims = tensor.dims();
  array.data.resize(static_cast<size_t>(tensor.size()));
  const bool whole = is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    // 64-bit integers must not pass through a double.
    array[i] = whole && !std::is_floating_point_v<T> ? static_cast<T>(tensor.integer(i))
                                                     : converted_number<T>(tensor.number(i));
  }
  return array;
}

template <typename T>
Tensor to_tensor(const Array<T>& array, DType dtype) {
  return Tensor::from_bytes(dtype, array.dims,
                            std::make_shared<const std::string>(packed(array, dtype)));
}

template Array<float> to_array(const Tensor&);
template Array<double> to_array(const Tensor&);
template Array<int64_t> to_array(const Tensor&);
template Array<uint64_t> to_array(const Tensor&);
template Array<uint8_t> to_array(const Tensor&);
template Tensor to_tensor(const Array<float>&, DType);
template Tensor to_tensor(const Array<double>&, DType);
template Tensor to_tensor(const Array<int64_t>&, DType);
template Tensor to_tensor(const Array<uint64_t>&, DType);
template Tensor to_tensor(const Array<uint8_t>&, DType);

std::vector<int64_t> strides_of(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::vector<int64_t> broadcast_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(fmt::format("shapes {} and {} can't be broadcast", to_string(a), to_string(b)));
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::vector<int64_t> broadcast_indices(std::span<const int64_t> from, std::span<const int64_t> to) {
  if (!std::ranges::equal(broadcast_shape(from, to), to)) {
    throw Error(fmt::format("shape {} can't be broadcast to {}", to_string(from), to_string(to)));
  }
  const size_t added = to.size() - from.size();
  const auto strides = strides_of(from);
  std::vector<int64_t> indices(static_cast<size_t>(checked_list_size(to, sizeof(int64_t))));
  for_each_position(to, [&](std::span<const int64_t> position, int64_t i) {
    int64_t index = 0;
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] != 1) index += position[added + d] * strides[d];
    }
    indices[static_cast<size_t>(i)] = index;
  });
  return indices;
}

int64_t checked_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw Error(fmt::format("axis {} is out of range for rank {}", axis, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Tensor take_runs(DType dtype, std::vector<int64_t> dims, std::span<const ElementRun> runs) {
  if (dtype != DType::string) {
    auto bytes = bytes_of_runs(dtype, checked_element_count(dims), runs);
    return Tensor::from_bytes(dtype, std::move(dims),
                              std::make_shared<const std::string>(std::move(bytes)));
  }
  std::vector<std::string> texts;
  for (const auto& [from, first, length] : runs) {
    const auto begin = from->strings().begin() + first;
    texts.insert(texts.end(), begin, begin + length);
  }
  return Tensor::of_strings(std::move(dims), std::move(texts));
}

Tensor take_elements(const Tensor& from, std::vector<int64_t> dims,
                     std::span<const int64_t> indices, const Tensor* fill) {
  if (from.dtype() == DType::string) {
    std::vector<std::string> texts;
    for (const int64_t index : indices) {
      texts.push_back(index < 0 ? fill->strings()[0] : from.strings()[static_cast<size_t>(index)]);
    }
    return Tensor::of_strings(std::move(dims), std::move(texts));
  }
  if (bits(from.dtype()) < 8) return take_small_elements(from, std::move(dims), indices, fill);
  const auto width = static_cast<size_t>(bits(from.dtype()) / 8);
  std::string bytes(indices.size() * width, '\0');
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto source = indices[i] < 0
                            ? fill->bytes().data()
                            : from.bytes().data() + static_cast<size_t>(indices[i]) * width;
    std::memcpy(bytes.data() + i * width, source, width);
  }
  return Tensor::from_bytes(from.dtype(), std::move(dims),
                            std::make_shared<const std::string>(std::move(bytes)));
}

}  // namespace onward::eval
