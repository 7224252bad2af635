#include "data/npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "ir/type.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLongestHeader = 65536;
constexpr size_t kMaxDims = 64;  // as in NumPy

struct NumpyType {
  std::string_view descr;
  DType dtype;
};

constexpr NumpyType kTypes[] = {
    {"|b1", DType::boolean}, {"|i1", DType::i8},    {"|u1", DType::u8},  {"<i2", DType::i16},
    {"<u2", DType::u16},     {"<i4", DType::i32},   {"<u4", DType::u32}, {"<i8", DType::i64},
    {"<u8", DType::u64},     {"<f2", DType::f16},   {"<f4", DType::f32}, {"<f8", DType::f64},
    {"<c8", DType::c64},     {"<c16", DType::c128},
};

/// Reads the Python literal of a header: a dict of strings, truth values and a tuple of integers.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) damaged();
  }
  bool next_is(char wanted) {
    skip_space();
    return !text_.empty() && text_.front() == wanted;
  }

  std::string_view quoted() {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) damaged();
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) damaged();
    const std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }

  bool truth() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    damaged();
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> numbers;
    expect('(');
    while (!take(')')) {
      if (numbers.size() == kMaxDims) damaged();
      numbers.push_back(integer());
      take_word("L");  // a long of Python 2
      if (!take(',') && !next_is(')')) damaged();
    }
    return numbers;
  }

  [[noreturn]] static void damaged() { throw Error("its .npy header is damaged"); }

 private:
  void skip_space() {
    const size_t first = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(first == std::string_view::npos ? text_.size() : first);
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (failure != std::errc() || value < 0) damaged();
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }

  std::string_view text_;
};

/// Sets type and text width from a description such as "<f4" or "<U10".
void put_type(NpyHeader& header, std::string_view descr) {
  for (const NumpyType& type : kTypes) {
    // A single byte has no order, whatever stands for it.
    const bool any_order = type.descr[0] == '|' && !descr.empty();
    if (descr == type.descr || (any_order && descr.substr(1) == type.descr.substr(1))) {
      header.dtype = type.dtype;
      return;
    }
  }
  const char kind = descr.size() > 1 ? descr[1] : '\0';
  if ((kind == 'U' && descr[0] == '<') || kind == 'S') {
    const std::string_view digits = descr.substr(2);
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), header.text_width);
    constexpr int64_t kLongestText = 1 << 20;
    if (failure != std::errc() || end != digits.data() + digits.size() || header.text_width < 0 ||
        header.text_width > kLongestText) {
      Scanner::damaged();
    }
    header.dtype = DType::string;
    header.wide_text = kind == 'U';
    return;
  }
  if (descr.starts_with('>')) {
    throw Error(
        fmt::format("its elements are big-endian ('{}'): save it with "
                    "array.astype(array.dtype.newbyteorder('<'))",
                    descr));
  }
  if (kind == 'O') throw Error("it holds Python objects: save it as an array of numbers");
  throw Error(fmt::format("its element type '{}' has no counterpart in ONNX", descr));
}

std::optional<int64_t> bytes_of(const NpyHeader& header, int64_t count) {
  if (header.dtype != DType::string) return packed_bytes(header.dtype, count);
  const int64_t width = header.text_width * (header.wide_text ? 4 : 1);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(width, count, &bytes)) return std::nullopt;
  return bytes;
}

size_t number_at(std::span<const std::byte> bytes, size_t offset, size_t width) {
  size_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= std::to_integer<size_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file) {
  constexpr size_t kShortest = 12;  // magic, version, length
  if (file.size() < kShortest || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error("it is not an .npy array");
  }
  const int version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3)
    throw Error(fmt::format("its .npy version {} is not supported", version));
  const size_t length_width = version == 1 ? 2 : 4;
  const size_t length = number_at(file, 8, length_width);
  NpyHeader header;
  header.data_offset = 8 + length_width + length;
  if (length > kLongestHeader || header.data_offset > file.size()) Scanner::damaged();

  Scanner scanner({reinterpret_cast<const char*>(file.data()) + 8 + length_width, length});
  bool has_descr = false, has_order = false, has_shape = false;
  scanner.expect('{');
  while (!scanner.take('}')) {
    const std::string_view key = scanner.quoted();
    scanner.expect(':');
    if (key == "descr" && !has_descr) {
      if (scanner.next_is('[')) throw Error("it is a table of named fields: save each as an array");
      put_type(header, scanner.quoted());
      has_descr = true;
    } else if (key == "fortran_order" && !has_order) {
      header.fortran_order = scanner.truth();
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      header.dims = scanner.tuple();
      has_shape = true;
    } else {
      Scanner::damaged();
    }
    if (!scanner.take(',') && !scanner.next_is('}')) Scanner::damaged();
  }
  if (!has_descr || !has_order || !has_shape) Scanner::damaged();

  const auto count = element_count(std::span<const int64_t>(header.dims));
  const auto size = count ? bytes_of(header, *count) : std::nullopt;
  if (!size) throw Error(fmt::format("its shape {} is too large", to_string(header.dims)));
  // Elements without width take no bytes, so that a short file could ask for any number of them.
  constexpr int64_t kMaxEmpty = 1 << 24;
  if (*size == 0 && *count > kMaxEmpty) {
    throw Error(fmt::format("it has {} empty strings", *count));
  }
  header.data_size = static_cast<size_t>(*size);
  return header;
}

std::string_view npy_descr(DType dtype) {
  for (const NumpyType& type : kTypes) {
    if (type.dtype == dtype) return type.descr;
  }
  return {};
}

std::string npy_header(std::string_view descr, std::span<const int64_t> dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += fmt::format("{}, ", dim);
  if (dims.size() != 1 && !shape.empty()) shape.resize(shape.size() - 2);
  if (dims.size() == 1) shape.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // Elements begin at a multiple of 64, so that a mapped file can be used in place.
  constexpr size_t kBefore = 10, kAlignment = 64;
  const size_t total = (kBefore + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  text.append(total - kBefore - text.size() - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace onward
