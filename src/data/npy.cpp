#include "data/npy.h"

#include <fmt/format.h>

#include <cstring>

#include "data/convert.h"
#include "data/npy_header.h"
#include "format/atomic_file.h"
#include "onward/error.h"
#include "proto/external_data.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

using Bytes = std::span<const std::byte>;

/// Calls visit(from, to) for every element: its place in column-major and in row-major order.
template <typename Visit>
void for_each_transposed(std::span<const int64_t> dims, int64_t count, Visit visit) {
  std::vector<int64_t> position(dims.size(), 0), strides(dims.size(), 1);
  for (size_t d = 1; d < dims.size(); ++d) strides[d] = strides[d - 1] * dims[d - 1];
  int64_t from = 0;
  for (int64_t to = 0; to < count; ++to) {
    visit(static_cast<size_t>(from), static_cast<size_t>(to));
    for (size_t d = dims.size(); d-- > 0;) {
      from += strides[d];
      if (++position[d] < dims[d]) break;
      from -= strides[d] * dims[d];
      position[d] = 0;
    }
  }
}

std::shared_ptr<std::string> in_row_major_order(Bytes data, const NpyHeader& header,
                                                int64_t count) {
  auto ordered = std::make_shared<std::string>(data.size(), '\0');
  if (count == 0) return ordered;
  const size_t width = data.size() / static_cast<size_t>(count);
  const char* elements = reinterpret_cast<const char*>(data.data());
  for_each_transposed(header.dims, count, [&](size_t from, size_t to) {
    std::memcpy(ordered->data() + to * width, elements + from * width, width);
  });
  return ordered;
}

void append_utf8(std::string& text, uint32_t point) {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
    throw Error(fmt::format("it has text with U+{:X}, which is not a character", point));
  }
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | (point >> 6));
  } else if (point < 0x10000) {
    add(0xe0 | (point >> 12));
    add(0x80 | ((point >> 6) & 0x3f));
  } else {
    add(0xf0 | (point >> 18));
    add(0x80 | ((point >> 12) & 0x3f));
    add(0x80 | ((point >> 6) & 0x3f));
  }
  add(0x80 | (point & 0x3f));
}

/// One element of a text array, without the zeros that fill it up.
std::string text_at(Bytes element, bool wide) {
  std::string text;
  if (!wide) {
    text.assign(reinterpret_cast<const char*>(element.data()), element.size());
  } else {
    for (size_t i = 0; i < element.size(); i += 4) {
      uint32_t point = 0;
      std::memcpy(&point, element.data() + i, 4);
      append_utf8(text, point);
    }
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

Tensor text_tensor(Bytes data, const NpyHeader& header) {
  const int64_t count = checked_element_count(header.dims);
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(count));
  const size_t width = static_cast<size_t>(header.text_width) * (header.wide_text ? 4 : 1);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    values.push_back(text_at(data.subspan(i * width, width), header.wide_text));
  }
  return Tensor::of_strings(header.dims, std::move(values));
}

void require_truth_values(Bytes data) {
  for (const std::byte each : data) {
    if (std::to_integer<int>(each) > 1) {
      throw Error(
          fmt::format("it has a bool that is {}, neither 0 nor 1", std::to_integer<int>(each)));
    }
  }
}

/// The tensor in a type that NumPy has.
Tensor in_numpy_type(const Tensor& tensor) {
  if (tensor.dtype() == DType::string || !npy_descr(tensor.dtype()).empty()) return tensor;
  for (const DType wider : {DType::u8, DType::i8, DType::f32}) {
    if (converts_exactly(tensor.dtype(), wider)) return converted(tensor, wider);
  }
  throw Error(fmt::format("{} has no counterpart in NumPy", name(tensor.dtype())));
}

bool is_aligned(Bytes data, DType dtype) {
  const auto width = static_cast<uintptr_t>(std::max(1, bits(dtype) / 8));
  return reinterpret_cast<uintptr_t>(data.data()) % width == 0;
}

}  // namespace

Tensor parse_npy(Bytes file, std::shared_ptr<const void> owner) {
  const NpyHeader header = parse_npy_header(file);
  Bytes data = file.subspan(header.data_offset);
  if (data.size() != header.data_size) {
    throw Error(fmt::format("it holds {} bytes of elements, but its header asks for {}",
                            data.size(), header.data_size));
  }
  std::shared_ptr<std::string> ordered;
  if (header.fortran_order && header.dims.size() > 1) {
    ordered = in_row_major_order(data, header, checked_element_count(header.dims));
    data = std::as_bytes(std::span(*ordered));
  }
  if (header.dtype == DType::string) return text_tensor(data, header);
  if (header.dtype == DType::boolean) require_truth_values(data);
  if (ordered) return Tensor::from_bytes(header.dtype, header.dims, std::move(ordered));
  if (owner && is_aligned(data, header.dtype)) {
    return Tensor::view(header.dtype, header.dims, data, std::move(owner));
  }
  return Tensor::from_bytes(
      header.dtype, header.dims,
      std::make_shared<std::string>(reinterpret_cast<const char*>(data.data()), data.size()));
}

Tensor read_npy(const fs::path& file) {
  try {
    auto mapped = std::make_shared<const MappedFile>(file);
    const Bytes bytes = mapped->bytes();
    return parse_npy(bytes, std::move(mapped));
  } catch (Error& error) {
    error.add_context(fmt::format("in array '{}'", file.string()));
    throw;
  }
}

std::span<const std::byte> NpyFile::elements() const {
  return tensor_.dtype() == DType::string ? std::as_bytes(std::span(text_)) : tensor_.bytes();
}

NpyFile::NpyFile(const Tensor& tensor) : tensor_(in_numpy_type(tensor)) {
  if (tensor_.dtype() != DType::string) {
    header_ = npy_header(npy_descr(tensor_.dtype()), tensor_.dims());
    return;
  }
  size_t width = 1;  // NumPy's bytes arrays have elements of one width
  for (const std::string& text : tensor_.strings()) width = std::max(width, text.size());
  for (const std::string& text : tensor_.strings()) {
    text_ += text;
    text_.append(width - text.size(), '\0');
  }
  header_ = npy_header(fmt::format("|S{}", width), tensor_.dims());
}

void write_npy(const Tensor& tensor, const fs::path& file) {
  const NpyFile npy(tensor);
  write_atomically(file, [&](int descriptor) {
    write_all(descriptor, npy.header().data(), npy.header().size());
    write_all(descriptor, npy.elements().data(), npy.elements().size());
  });
}

}  // namespace onward
