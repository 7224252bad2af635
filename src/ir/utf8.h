#pragma once

#include <string>
#include <string_view>

namespace onward {

/// True where the text is well-formed UTF-8 without control characters other than tab and newline.
bool is_readable_utf8(std::string_view text);

/// The text with every byte that is not readable written as \xNN, for messages and JSON.
std::string printable(std::string_view text);

}  // namespace onward
