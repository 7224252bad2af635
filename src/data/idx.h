#pragma once

#include <filesystem>
#include <span>

#include "data/npz.h"

namespace onward {

/// Reads the bytes of an IDX file of unsigned bytes (the format of MNIST).
Tensor parse_idx(std::span<const std::byte> file);

enum class MnistPart : uint8_t { train, test };

/// MNIST's images and labels from its IDX files in a folder, plain or gzipped: `image`
/// f32[N,1,28,28] from 0 to 1, and `label` i64[N].
Arrays read_mnist(const std::filesystem::path& folder, MnistPart part);

}  // namespace onward
