#include "data/base64.h"

#include <algorithm>
#include <cstdint>

#include "onward/error.h"

namespace onward {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i) {
      three = three << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0U);
    }
    for (size_t i = 0; i < 4; ++i) {
      const bool is_filling = at + i > bytes.size();
      text += is_filling ? '=' : kDigits[three >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t three = 0;
    for (size_t i = 0; i < 4; ++i) {
      const char digit = at + i < text.size() ? text[at + i] : '\0';
      const size_t value = digit == '=' ? 0 : kDigits.find(digit);
      if (value == std::string_view::npos) throw Error("it is not in base64", ErrorCode::data);
      three = three << 6 | static_cast<uint32_t>(value);
    }
    for (size_t i = 0; i < 3; ++i) bytes += static_cast<char>(three >> (16 - 8 * i) & 255);
  }
  const size_t filling = text.size() - std::min(text.find('='), text.size());
  if (filling > 2 || to_base64(std::string_view(bytes).substr(0, bytes.size() - filling)) != text) {
    throw Error("it is not in base64", ErrorCode::data);
  }
  bytes.resize(bytes.size() - filling);
  return bytes;
}

}  // namespace onward
