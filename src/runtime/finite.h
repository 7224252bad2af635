#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ir/dtype.h"

namespace onward {

/// Whether all elements are numbers of at most 1e12: no sum or product of a few of them leaves
/// the range of float32.
bool is_tame(DType dtype, std::span<const int64_t> dims, const std::byte* elements);

/// Throws an Error with that advice where an element is not finite; with `old`, only where the old
/// one was.
struct Checked {
  std::string name;
  DType dtype;
  std::span<const int64_t> dims;
  const std::byte* elements;
  const std::byte* old = nullptr;
  std::string advice = {};
};
void refuse_not_finite(const Checked& checked);

}  // namespace onward
