#pragma once

#include <cstdint>
#include <span>

#include "ir/dtype.h"

namespace onward {

/// How many bytes may be asked for at once: the machine's memory, unless set otherwise. A model can
/// ask for any size in a few letters, and a system that lends more than it has only ends the
/// process when the memory is used.
int64_t memory_limit();
void set_memory_limit(int64_t bytes);

/// Bytes of a tensor that is about to be made; throws Error where they are over the limit.
int64_t checked_bytes(DType dtype, std::span<const int64_t> dims);

/// Elements of a list that is about to be made, with `width` bytes each; throws Error likewise.
int64_t checked_list_size(std::span<const int64_t> dims, int64_t width);

/// Throws Error where `bytes` are over the limit; `what` needs them.
void refuse_beyond_memory(int64_t bytes, std::string_view what);

}  // namespace onward
