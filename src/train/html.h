#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace onward::html {

/// A text from anywhere as it may stand in HTML, in an attribute in double quotes too. What is not
/// readable UTF-8 is written as \xNN.
std::string escaped(std::string_view text);

/// JSON as it may stand in a script element: nothing in it ends that, or a line.
std::string script_json(const nlohmann::ordered_json& json);

/// A file as the address of itself.
std::string data_uri(std::string_view mime_type, std::string_view bytes);

}  // namespace onward::html
