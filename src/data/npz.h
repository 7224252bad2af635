#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace onward {

/// Arrays by name.
using Arrays = std::map<std::string, Tensor, std::less<>>;

/// Reads the bytes of an .npz archive; `owner` as in parse_npy.
Arrays parse_npz(std::span<const std::byte> archive, const std::shared_ptr<const void>& owner);

Arrays read_npz(const std::filesystem::path& file);

void write_npz(const Arrays& arrays, const std::filesystem::path& file, bool compressed = false);

}  // namespace onward
