#include <fmt/format.h>

#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

/// torch's own has the channels that stay first; where they are last it is one of ours.
std::string moved_blocks(const Call& c, const char* own, const char* ours) {
  const bool depth_first = c.node().string_or("mode", "DCR") == "DCR";
  const std::string function = depth_first ? c.function(ours) : c.module("F") + "." + own;
  return fmt::format("{}({}, {})", function, c.in(0), c.int_attribute("blocksize", 1));
}

}  // namespace

std::string depth_to_space(const Call& c) {
  return moved_blocks(c, "pixel_shuffle", "depth_to_space");
}

std::string space_to_depth(const Call& c) {
  return moved_blocks(c, "pixel_unshuffle", "space_to_depth");
}

std::string unique(const Call& c) {
  const auto* axis = c.node().get<int64_t>("axis");
  const size_t results = c.node().outputs().size();  // of four
  return fmt::format("{}({}{}{}){}", c.function("unique"), c.in(0),
                     axis ? fmt::format(", axis={}", *axis) : "",
                     c.int_attribute("sorted", 1) == 0 ? ", is_sorted=False" : "",
                     results == 1   ? "[0]"
                     : results == 4 ? ""
                                    : fmt::format("[:{}]", results));
}

std::string non_max_suppression(const Call& c) {
  std::string options;
  constexpr const char* kNames[] = {"most", "overlap", "least"};
  for (size_t i = 0; i < 3; ++i) {
    if (c.has(i + 2)) options += fmt::format(", {}={}", kNames[i], c.scalar(i + 2));
  }
  if (c.int_attribute("center_point_box", 0) != 0) options += ", by_center=True";
  return fmt::format("{}({}, {}{})", c.function("non_max_suppression"), c.in(0), c.in(1), options);
}

}  // namespace onward::emit::torch
