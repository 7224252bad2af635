#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ir/dtype.h"

namespace onward {

/// No sum or product of a few numbers of at most this size leaves the range of float32.
inline constexpr double kModerate = 1e12;

/// Whether all elements are numbers of at most kModerate.
bool is_tame(DType dtype, std::span<const int64_t> dims, const std::byte* elements);

/// A tensor that should be finite; with `old`, at least where the old one was.
struct Checked {
  std::string name;
  DType dtype;
  std::span<const int64_t> dims;
  const std::byte* elements;
  const std::byte* old = nullptr;
  std::string advice = {};
};
/// The first element that is not, or nothing.
std::optional<double> find_not_finite(const Checked& checked);
/// Throws an Error with the advice where there is one.
void refuse_not_finite(const Checked& checked);

}  // namespace onward
