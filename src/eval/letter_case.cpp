#include "eval/letter_case.h"

#include <fmt/format.h>

#include <clocale>
#include <cwctype>

#include "onward/error.h"

namespace onward::eval {
namespace {

/// The letters of all scripts, whatever the user's language is.
locale_t all_scripts() {
  static const locale_t found = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return found;
}

char32_t changed(char32_t letter, LetterCase wanted) {
  if (letter < 0x80) {
    const bool is_upper = letter >= 'A' && letter <= 'Z', is_lower = letter >= 'a' && letter <= 'z';
    if (wanted == LetterCase::lower && is_upper) return letter + ('a' - 'A');
    if (wanted == LetterCase::upper && is_lower) return letter - ('a' - 'A');
    return letter;
  }
  if (!all_scripts()) throw Error("this system knows no other letters than those of ASCII");
  const auto given = static_cast<wint_t>(letter);
  return static_cast<char32_t>(wanted == LetterCase::lower ? towlower_l(given, all_scripts())
                                                           : towupper_l(given, all_scripts()));
}

/// Reads one letter at `at`, which moves behind it.
char32_t next_letter(const std::string& text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return byte(at++);
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  char32_t letter = first & (0xFFU >> (length + 1));
  bool is_right = first >= 0xC2 && first <= 0xF4 && at + length <= text.size();
  for (size_t i = 1; is_right && i < length; ++i) {
    is_right = (byte(at + i) & 0xC0U) == 0x80U;
    letter = letter << 6U | (byte(at + i) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0x80, 0x800, 0x10000};
  const bool is_surrogate = letter >= 0xD800 && letter < 0xE000;
  if (!is_right || letter < kSmallest[length - 2] || letter > 0x10FFFF || is_surrogate) {
    throw Error(fmt::format("a text is not in UTF-8, from its byte {} on", at));
  }
  at += length;
  return letter;
}

void append(std::string& text, char32_t letter) {
  const auto add = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (letter < 0x80) return add(letter);
  const unsigned following = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
  constexpr char32_t kMarks[] = {0xC0, 0xE0, 0xF0};
  add(kMarks[following - 1] | letter >> (6 * following));
  for (unsigned i = following; i-- > 0;) add(0x80U | (letter >> (6 * i) & 0x3FU));
}

}  // namespace

LetterCase letter_case(std::string_view name) {
  if (name == "NONE") return LetterCase::unchanged;
  if (name == "LOWER") return LetterCase::lower;
  if (name == "UPPER") return LetterCase::upper;
  throw Error(fmt::format("'{}' is none of NONE, LOWER and UPPER", name));
}

std::string in_case(const std::string& text, LetterCase wanted) {
  if (wanted == LetterCase::unchanged) return text;
  std::string result;
  for (size_t at = 0; at < text.size();) append(result, changed(next_letter(text, at), wanted));
  return result;
}

}  // namespace onward::eval
