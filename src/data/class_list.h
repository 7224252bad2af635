#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onward {

/// Reads names of classes in the order of their numbers: one in each line, or a JSON list of texts.
/// Throws Error where there is none, a line between them is empty, or two are the same.
std::vector<std::string> read_class_list(const std::filesystem::path& file);

}  // namespace onward
