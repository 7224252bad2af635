#include "text/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "ir/utf8.h"

namespace onward {
namespace {

/// Names that begin something else where a value's or graph's name may stand.
constexpr std::string_view kReservedWords[] = {"seq",    "map", "optional", "sparse_tensor",
                                               "opaque", "inf", "infinity", "nan"};

bool is_reserved(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::ranges::find(kReservedWords, lower) != std::end(kReservedWords)) return true;
  const auto dtype = dtype_from_name(name);
  return dtype && onnx_name(*dtype) == name;
}

bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_plain(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, is_plain_character) && !is_reserved(name);
}

std::string shape_text(const std::optional<Shape>& shape) {
  if (!shape) return "[]";
  if (shape->empty()) return "";
  std::string text = "[";
  for (const Dim& dim : *shape) {
    if (text.size() > 1) text += ',';
    text += dim.value             ? fmt::format("{}", *dim.value)
            : !dim.symbol.empty() ? name_text(dim.symbol)
                                  : "?";
  }
  return text += ']';
}

/// The bits of element `index`, for types of at most 16 bits.
uint32_t bit_pattern(const Tensor& tensor, int64_t index) {
  const auto width = static_cast<size_t>(bits(tensor.dtype()));
  const size_t first_bit = static_cast<size_t>(index) * width;
  const auto byte = [&](size_t i) {
    return i < tensor.bytes().size() ? static_cast<uint32_t>(tensor.bytes()[i]) : 0;
  };
  const uint32_t two_bytes = byte(first_bit / 8) | byte(first_bit / 8 + 1) << 8;
  return two_bytes >> (first_bit % 8) & ((1u << width) - 1);
}

template <typename Part>
std::string complex_text(const Tensor& tensor, int64_t index) {
  const auto* parts = reinterpret_cast<const Part*>(tensor.bytes().data());
  return fmt::format("{}, {}", parts[2 * index], parts[2 * index + 1]);
}

std::string element_text(const Tensor& tensor, int64_t index) {
  const auto at = static_cast<size_t>(index);
  switch (tensor.dtype()) {
    case DType::f32:
      return fmt::format("{}", tensor.data<float>()[at]);
    case DType::f64:
      return fmt::format("{}", tensor.data<double>()[at]);
    case DType::u64:
      return fmt::format("{}", tensor.data<uint64_t>()[at]);
    case DType::string:
      return quoted_text(tensor.strings()[at]);
    case DType::c64:
      return complex_text<float>(tensor, index);
    case DType::c128:
      return complex_text<double>(tensor, index);
    default:
      break;
  }
  if (is_float(tensor.dtype())) return fmt::format("{}", bit_pattern(tensor, index));
  return fmt::format("{}", tensor.integer(index));
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '\n' || c == '\t') {
      result += c == '\n' ? "\\\\n" : "\\\\t";
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result += '"';
}

std::string name_text(std::string_view name) {
  return is_plain(name) ? std::string(name) : quoted_text(name);
}

std::string plain_name(std::string_view name) {
  std::string plain(name);
  std::ranges::replace_if(plain, std::not_fn(is_plain_character), '_');
  return is_plain(plain) ? plain : "_" + plain;
}

std::string type_text(const Type& type) {
  const std::string element = type.element ? type_text(*type.element) : "";
  switch (type.kind) {
    case Type::Kind::unknown:
      return "";
    case Type::Kind::tensor:
      return type.dtype == DType::undefined
                 ? ""
                 : fmt::format("{}{}", onnx_name(type.dtype), shape_text(type.shape));
    case Type::Kind::sparse_tensor:
      return fmt::format("sparse_tensor({}{})", onnx_name(type.dtype), shape_text(type.shape));
    case Type::Kind::sequence:
      return fmt::format("seq({})", element);
    case Type::Kind::optional:
      return fmt::format("optional({})", element);
    case Type::Kind::map:
      return fmt::format("map({}, {})", onnx_name(type.dtype), element);
    case Type::Kind::opaque:
      return fmt::format("opaque({}{}{})", printable(type.opaque_domain),
                         type.opaque_domain.empty() ? "" : ",", printable(type.opaque_name));
  }
  return "";
}

std::string float_text(float number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string elements_text(const Tensor& tensor, const PrintOptions& options) {
  return list_text('{', tensor.size(), '}', options,
                   [&](int64_t i) { return element_text(tensor, i); });
}

std::string tensor_text(const Tensor& tensor, const PrintOptions& options) {
  return type_text(tensor.type()) + " " + elements_text(tensor, options);
}

std::string elements_text(const SparseTensor& tensor, const PrintOptions& options) {
  const int64_t axes = tensor.indices.dims().size() == 2 ? tensor.indices.dims()[1] : 0;
  return list_text('{', tensor.values.size(), '}', options, [&](int64_t i) {
    const std::string value = element_text(tensor.values, i);
    if (axes == 0) return fmt::format("{}: {}", tensor.indices.integer(i), value);
    const auto index = list_text(
        '(', axes, ')', {.max_elements = PrintOptions::kAllElements},
        [&](int64_t axis) { return fmt::format("{}", tensor.indices.integer(i * axes + axis)); });
    return fmt::format("{}: {}", index, value);
  });
}

int64_t shown_elements(int64_t count, const PrintOptions& options) {
  constexpr int64_t kFirstFew = 3;
  return count <= options.max_elements ? count : std::min(kFirstFew, options.max_elements);
}

}  // namespace onward
