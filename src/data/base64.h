#pragma once

#include <string>
#include <string_view>

namespace onward {

/// Bytes as letters, digits, + and /, filled up with = (RFC 4648), as a text of metadata can hold
/// them.
std::string to_base64(std::string_view bytes);
/// Throws Error where the text is none that to_base64 gives.
std::string from_base64(std::string_view text);

}  // namespace onward
