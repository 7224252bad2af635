#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace onward::eval {

enum class LetterCase : uint8_t { unchanged, lower, upper };

/// What the standard calls NONE, LOWER or UPPER.
LetterCase letter_case(std::string_view name);

/// A text in UTF-8 with the case of its letters changed, each letter by itself: of those that
/// become two (ß) none does. The standard leaves that to the implementation; ONNX Runtime does it
/// so too, by the C++ library's locales, ONNX's evaluator not ("SS", by Python's upper()). Throws
/// Error where the text is not in UTF-8.
std::string in_case(const std::string& text, LetterCase wanted);

}  // namespace onward::eval
