#pragma once

// Files of tensors that every framework reads: 8 bytes with the length of a JSON header, the
// header, the data.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace onward::emit {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct Safetensors {
  std::map<std::string, Tensor, std::less<>> tensors;  // views of the mapped file
  std::map<std::string, std::string, std::less<>> metadata;
};

/// Writes the file, whole or not at all. Throws Error for element types that the format lacks.
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// Reads a file; throws Error where it is damaged: a header that is no JSON of the format's, data
/// that lies outside of the file or does not fit its shape.
Safetensors read_safetensors(const std::filesystem::path& file);

}  // namespace onward::emit
