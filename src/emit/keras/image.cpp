#include <fmt/format.h>

#include "emit/helper_calls.h"
#include "emit/keras/calls.h"
#include "onward/error.h"

namespace onward::emit::keras {
namespace {

std::string moved_blocks(const Call& c, const char* function) {
  const bool depth_first = c.node().string_or("mode", "DCR") == "DCR";
  return fmt::format("{}({}, {}{})", c.function(function), c.in(0), c.int_attribute("blocksize", 1),
                     depth_first ? "" : ", depth_first=False");
}

/// Keras adds on the way, or puts; nothing else.
void refuse_other_reductions(const Call& c) {
  const std::string reduction = c.node().string_or("reduction", "none");
  if (reduction == "none" || reduction == "add") return;
  throw Error(
      fmt::format("Keras has no function that scatters with the reduction '{}'", reduction));
}

/// A function of a graph goes over the numbers of a tuple one by one.
void refuse_open_tuples(const Call& c) {
  if (c.dim(1, c.rank(1) - 1)) return;
  throw Error(
      fmt::format("how many numbers the tuples of its input '{}' have is not known; "
                  "declare its shape",
                  c.value(1)->name()));
}

}  // namespace

std::string gathered_slices(const Call& c) {
  refuse_open_tuples(c);
  return gather_nd(c);
}

std::string scattered_elements(const Call& c) {
  refuse_other_reductions(c);
  return scatter_elements(c);
}

std::string scattered_slices(const Call& c) {
  refuse_other_reductions(c);
  refuse_open_tuples(c);
  return scatter_nd(c);
}

std::string depth_to_space(const Call& c) { return moved_blocks(c, "depth_to_space"); }

std::string space_to_depth(const Call& c) { return moved_blocks(c, "space_to_depth"); }

}  // namespace onward::emit::keras
