#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace onward {

/// A value on the way from the data to where it is needed.
struct CutVertex {
  int64_t bytes = -1;        // that it takes to keep it; negative where it can't be kept
  std::vector<size_t> from;  // the vertices that it is computed from, which come before it
  bool begins = false;       // it is computed from what is always there
  bool is_needed = false;    // behind the cut
  double multiply_adds = 0;  // that it takes to compute it from those
};

/// The part of the work that may be left behind a cut, where that makes it smaller.
inline constexpr double kWorkBehindCut = 0.05;

/// The vertices of fewest bytes that part what begins from what is needed, the last such ones;
/// nothing where no such vertices can be kept. A vertex with more than kWorkBehindCut of all work
/// behind it parts nothing: where it is needed it is kept, beside those.
std::optional<std::vector<size_t>> smallest_cut(std::span<const CutVertex> vertices);

}  // namespace onward
