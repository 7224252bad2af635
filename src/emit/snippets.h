#pragma once

#include <set>
#include <string>

#include "emit/body.h"

namespace onward::emit {

/// The source of our own functions, in Python, that say what a framework has no call for; those
/// that they need themselves included, each before its first use.
std::string snippet_source(Target target, const std::set<std::string>& names);

/// What all of them are called.
std::vector<std::string_view> snippet_names();

}  // namespace onward::emit
