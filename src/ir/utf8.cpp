#include "ir/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace onward {
namespace {

/// The length of the well-formed, readable character at the start of `text`, or 0.
size_t readable_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return (lead >= 0x20 && lead != 0x7f) || lead == '\t' || lead == '\n' ? 1 : 0;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const uint8_t second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

bool is_readable_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = readable_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  if (is_readable_utf8(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const size_t length = readable_character(text);
    if (length > 0) {
      result += text.substr(0, length);
    } else {
      result += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace onward
