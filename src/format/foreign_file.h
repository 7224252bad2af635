#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace onward {

/// What a file or folder is that holds a model of another framework, and how it becomes one of
/// ONNX: "it is a Keras model ...". Nothing where it is none that we know, or can't be read.
std::optional<std::string> foreign_format(const std::filesystem::path& file);

}  // namespace onward
