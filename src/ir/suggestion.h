#pragma once

#include <span>
#include <string>
#include <string_view>

namespace onward {

/// "did you mean 'adam'?" where one of the names is a slip of the pen away from `given`, else
/// nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string> names);

/// "unknown optimizer 'adma': did you mean 'adam'? Available: sgd, adam", where `what` is
/// "optimizer".
std::string unknown_name(std::string_view what, std::string_view given,
                         std::span<const std::string> names);
std::string unknown_name(std::string_view what, std::string_view given,
                         std::span<const std::string_view> names);

}  // namespace onward
