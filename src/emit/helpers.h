#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

/// The source of the helper functions of these names, and of those that they call themselves, each
/// before its first use: Python that says what a framework has no call for.
std::string helper_source(Target target, const std::set<std::string>& names);

/// What all of them are called, in all frameworks.
std::vector<std::string_view> helper_names();

/// A file src/emit/*/helpers.py, which is part of the program.
struct HelperFile {
  std::string_view framework, text;
};
std::span<const HelperFile> helper_files();

}  // namespace onward::emit
