#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

/// The source of the helper functions that a context asks for, and of those that they call
/// themselves, each before its first use: Python for what a framework has no call for. The modules
/// that they use are added to the context's.
std::string helper_source(SourceContext& context);

/// What all helpers of a dialect are called.
std::vector<std::string_view> helper_names(const Dialect& dialect);
bool has_helper(const Dialect& dialect, std::string_view name);

/// A file src/emit/*/helpers.py, which is part of the program.
struct HelperFile {
  std::string_view framework, text;
};
std::span<const HelperFile> helper_files();

}  // namespace onward::emit
