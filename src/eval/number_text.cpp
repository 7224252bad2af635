#include "eval/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "eval/array.h"

namespace onward::eval {
namespace {

/// A text without white space around it and without a plus sign, which std::from_chars does not
/// know.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

[[noreturn]] void refuse(std::string_view text, DType to) {
  throw Error(fmt::format("'{}' is beyond the range of {}", text, name(to)));
}

/// Whether all of the text is such a number.
template <typename T>
std::errc parse(std::string_view text, T& number) {
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return stop != text.data() + text.size() ? std::errc::invalid_argument : failure;
}

template <typename T>
T parse_float(std::string_view written, DType to) {
  const std::string_view text = trimmed(written);
  T number{};
  const std::errc failure = parse(text, number);
  if (failure == std::errc()) return number;
  long double wide{};
  if (failure != std::errc::result_out_of_range || parse(text, wide) != std::errc()) {
    throw Error(fmt::format("'{}' is no number", written));
  }
  if (std::fabs(wide) > 1) refuse(written, to);
  return std::copysign(T(0), static_cast<T>(wide));
}

/// A whole number, or what stands before the point of another one.
template <typename T>
T parse_integer(std::string_view written, DType to) {
  T number{};
  if (parse(trimmed(written), number) == std::errc()) return number;
  const double decimal = std::trunc(parse_float<double>(written, to));
  const double limit = std::ldexp(1.0, std::is_signed_v<T> ? 63 : 64);
  if (!(decimal >= (std::is_signed_v<T> ? -limit : 0) && decimal < limit)) refuse(written, to);
  return static_cast<T>(decimal);
}

template <typename T, typename Parse>
Array<T> parse_all(const Tensor& texts, Parse parse_one) {
  Array<T> numbers(texts.dims());
  for (int64_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = parse_one(texts.strings()[static_cast<size_t>(i)]);
  }
  return numbers;
}

template <typename T>
Tensor integers_of(const Tensor& texts, DType to) {
  const auto one = [to](const std::string& text) { return parse_integer<T>(text, to); };
  const Array<T> numbers = parse_all<T>(texts, one);
  Tensor packed = to_tensor(numbers, to);
  const Array<T> kept = to_array<T>(packed);
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (kept[i] != numbers[i]) refuse(texts.strings()[static_cast<size_t>(i)], to);
  }
  return packed;
}

}  // namespace

Tensor numbers_to_texts(const Tensor& numbers) {
  std::vector<std::string> texts;
  compute_as(numbers.dtype(), [&]<typename T>() {
    for (const T number : to_array<T>(numbers).data) {
      if (std::is_floating_point_v<T> && !std::isfinite(static_cast<double>(number))) {
        const auto wide = static_cast<double>(number);
        texts.emplace_back(std::isnan(wide) ? "NaN" : wide > 0 ? "INF" : "-INF");
      } else {
        texts.push_back(fmt::format("{}", number));
      }
    }
  });
  return Tensor::of_strings(numbers.dims(), std::move(texts));
}

Tensor texts_to_numbers(const Tensor& texts, DType to) {
  if (to == DType::u64) return integers_of<uint64_t>(texts, to);
  if (is_integer(to)) return integers_of<int64_t>(texts, to);
  if (to == DType::f32) {
    const auto one = [to](const std::string& text) { return parse_float<float>(text, to); };
    return to_tensor(parse_all<float>(texts, one), to);
  }
  // Other floats are rounded once, from double; a truth value is whether a number is not 0.
  const auto one = [to](const std::string& text) { return parse_float<double>(text, to); };
  return to_tensor(parse_all<double>(texts, one), to);
}

}  // namespace onward::eval
