#pragma once

#include "image/bytes.h"

namespace onward::image {

/// The indices of all pixels, of rows in the order of the file, which are written there as runs of
/// 4 or 8 bits each. Those that the file leaves out are 0.
std::vector<uint8_t> expand_runs(const LittleEndian& file, uint64_t at, int64_t width,
                                 int64_t height, uint32_t bits);

}  // namespace onward::image
