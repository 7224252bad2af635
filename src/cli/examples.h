#pragma once

#include <span>
#include <string_view>

namespace onward::cli {

/// A training file in text form, of examples/training/.
struct Example {
  std::string_view name;
  std::string_view text;
};

/// All of them, by name; cmake/examples.cmake makes the source file.
std::span<const Example> examples();

}  // namespace onward::cli
