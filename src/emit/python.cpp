#include "emit/python.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "onward/error.h"

namespace onward::emit {
namespace {

// Keywords, and the functions that expressions of ours may call.
constexpr std::string_view kPythonWords[] = {
    "False",    "None",       "True",     "abs",    "all",       "and",    "any",      "as",
    "assert",   "async",      "await",    "bool",   "break",     "class",  "continue", "def",
    "del",      "dict",       "elif",     "else",   "enumerate", "except", "finally",  "float",
    "for",      "from",       "getattr",  "global", "if",        "import", "in",       "int",
    "is",       "isinstance", "lambda",   "len",    "list",      "map",    "max",      "min",
    "nonlocal", "not",        "or",       "pass",   "pow",       "print",  "raise",    "range",
    "return",   "reversed",   "round",    "self",   "set",       "slice",  "sorted",   "str",
    "sum",      "super",      "training", "try",    "tuple",     "type",   "while",    "with",
    "yield",    "zip"};

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128;
}

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr DTypeName kDTypes[] = {
    {DType::f32, "float32"},   {DType::f64, "float64"}, {DType::f16, "float16"},
    {DType::bf16, "bfloat16"}, {DType::i8, "int8"},     {DType::i16, "int16"},
    {DType::i32, "int32"},     {DType::i64, "int64"},   {DType::u8, "uint8"},
    {DType::u16, "uint16"},    {DType::u32, "uint32"},  {DType::u64, "uint64"},
    {DType::boolean, "bool"},
};

}  // namespace

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '_') {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.size() > 1 && name.back() == '_' && text.back() != '_') name.pop_back();
  if (name.empty()) return "value";
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(0, "_");
  return name;
}

std::string class_name(std::string_view text, std::string_view fallback) {
  std::string name;
  bool word_begins = true;
  for (const char c : text) {
    if (!is_letter_or_digit(c)) {
      word_begins = true;
      continue;
    }
    name += word_begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    word_begins = false;
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
    return std::string(fallback);
  }
  if (std::ranges::find(kPythonWords, name) != std::end(kPythonWords)) name += fallback;
  return name;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (space > 0) words.push_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return words;
}

PythonNames::PythonNames(std::span<const std::string_view> reserved) {
  for (const std::string_view word : kPythonWords) taken_.emplace(word);
  for (const std::string_view word : reserved) taken_.emplace(word);
}

std::string PythonNames::fresh(std::string_view wanted) {
  const std::string base = identifier(wanted);
  std::string name = base;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string python_float(double number) {
  if (std::isnan(number)) return "float(\"nan\")";
  if (std::isinf(number)) return number > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string python_float(float number, DType dtype) {
  if (dtype == DType::f64 || !std::isfinite(number)) {
    return python_float(static_cast<double>(number));
  }
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string python_bool(bool value) { return value ? "True" : "False"; }

std::string python_tuple(std::span<const int64_t> numbers) {
  if (numbers.size() == 1) return fmt::format("({},)", numbers[0]);
  return fmt::format("({})", fmt::join(numbers, ", "));
}

std::string python_tuple(std::span<const std::string> elements) {
  if (elements.size() == 1) return fmt::format("({},)", elements[0]);
  return fmt::format("({})", fmt::join(elements, ", "));
}

std::string python_square(std::span<const int64_t> numbers) {
  const bool square = !numbers.empty() && std::all_of(numbers.begin(), numbers.end(),
                                                      [&](int64_t n) { return n == numbers[0]; });
  return square ? std::to_string(numbers[0]) : python_tuple(numbers);
}

std::string python_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string python_element(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::boolean) return python_bool(tensor.integer(index) != 0);
  if (is_integer(dtype)) return std::to_string(tensor.integer(index));
  if (dtype == DType::f32) {
    return python_float(tensor.data<float>()[static_cast<size_t>(index)], DType::f32);
  }
  return python_float(tensor.number(index));
}

std::string python_dtype(DType dtype) {
  const auto* found = std::ranges::find(kDTypes, dtype, &DTypeName::dtype);
  if (found != std::end(kDTypes)) return std::string(found->name);
  throw Error(fmt::format("elements of type {} have no counterpart", name(dtype)));
}

}  // namespace onward::emit
