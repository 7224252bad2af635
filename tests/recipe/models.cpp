#include "tests/recipe/models.h"

#include <string>

#include "format/load.h"

namespace onward {

/// Names with dots are quoted in ONNX's syntax, which makes graphs hard to read: here they are not.
Model model_of(std::string_view text) {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  std::string quoted;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find_first_not_of(kName, i), text.size());
    const std::string_view word = text.substr(i, end - i);
    const bool dotted = word.find('.') != std::string_view::npos &&
                        word.find_first_not_of("0123456789.") != std::string_view::npos &&
                        !word.starts_with("ai.");
    if (dotted) {
      quoted += '"';
      quoted += word;
      quoted += '"';
    } else {
      quoted += word;
    }
    if (end < text.size()) quoted += text[end];
    i = end + 1;
  }
  return parse_text(quoted);
}

}  // namespace onward
