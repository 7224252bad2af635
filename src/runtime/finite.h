#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ir/dtype.h"
#include "onward/error.h"
#include "ops/range.h"

namespace onward {

/// The smallest range around both.
inline Range hull(const Range& a, const Range& b) {
  return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/// Nothing where an element is not finite.
using FoundRange = std::optional<Range>;

/// From the smallest element to the largest, {0, 0} without any. Of what is no float, all that a
/// type holds.
FoundRange find_range(DType dtype, std::span<const int64_t> dims, const std::byte* elements);

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
/// A number that should be finite is not: which tensor has it.
class NotFinite : public Error {
 public:
  NotFinite(const std::string& message, std::string name)
      : Error(message), name_(std::move(name)) {}
  ~NotFinite() override;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Throws NotFinite with the advice where there is one.
void refuse_not_finite(const Checked& checked);

}  // namespace onward
