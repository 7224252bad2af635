#include "train/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ir/utf8.h"

namespace onward::html {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string script_json(const nlohmann::ordered_json& json) {
  constexpr bool kAscii = true;  // so that U+2028 is an escape, too
  std::string result;
  for (const char letter :
       json.dump(-1, ' ', kAscii, nlohmann::ordered_json::error_handler_t::replace)) {
    if (letter == '<' || letter == '>' || letter == '&') {
      result += fmt::format("\\u{:04x}", static_cast<int>(letter));
    } else {
      result += letter;
    }
  }
  return result;
}

std::string data_uri(std::string_view mime_type, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result = fmt::format("data:{};base64,", mime_type);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) -> uint32_t {
      return at < bytes.size() ? static_cast<uint8_t>(bytes[at]) : 0;
    };
    const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const size_t digits = std::min<size_t>(bytes.size() - i, 3) + 1;
    for (size_t d = 0; d < 4; ++d) {
      result += d < digits ? kDigits[three >> (18 - 6 * d) & 63] : '=';
    }
  }
  return result;
}

}  // namespace onward::html
