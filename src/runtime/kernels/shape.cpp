// Operators that move elements, or only say otherwise what shape they have.

#include <cstring>

#include "runtime/kernel.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

Reason accepts(const Node&) { return {}; }

/// The same elements in the same order: nothing to do.
void make_view(Site& site) { site.share(0, 0); }

/// A transpose that swaps two neighbouring runs of dimensions, the rest staying in front: a stack
/// of matrices.
struct Swap {
  int64_t stack = 1, rows = 1, columns = 1;
};

std::optional<Swap> as_swap(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  const size_t rank = dims.size();
  size_t front = 0;
  while (front < rank && permutation[front] == static_cast<int64_t>(front)) ++front;
  Swap swap;
  for (size_t d = 0; d < front; ++d) swap.stack *= dims[d];
  if (front == rank) return swap;
  const auto second = static_cast<size_t>(permutation[front]);  // where the second run begins
  for (size_t i = front; i < rank; ++i) {
    const size_t expected = i < front + rank - second ? second + i - front : i - (rank - second);
    if (permutation[i] != static_cast<int64_t>(expected)) return std::nullopt;
  }
  for (size_t d = front; d < second; ++d) swap.rows *= dims[d];
  for (size_t d = second; d < rank; ++d) swap.columns *= dims[d];
  return swap;
}

std::optional<Swap> swap_of(const Node& node) {
  const auto dims = *static_dims(*node.input(0));
  std::vector<int64_t> permutation;
  if (const auto* given = node.get<std::vector<int64_t>>("perm")) {
    permutation = *given;
  } else {
    for (size_t d = dims.size(); d-- > 0;) permutation.push_back(static_cast<int64_t>(d));
  }
  return as_swap(dims, permutation);
}

Reason refuses_transpose(const Node& node) {
  const int width = bits(node.output(0)->type.dtype);
  if (width < 8 || width > 64) return "elements of an unusual width";
  return swap_of(node) ? "" : "more than two runs of dimensions are moved";
}

void make_transpose(Site& site) {
  const Swap swap = *swap_of(site.node());
  if (swap.rows == 1 || swap.columns == 1) return site.share(0, 0);
  const Reorder order{.images = swap.stack,
                      .rows = swap.rows,
                      .columns = swap.columns,
                      .element = static_cast<size_t>(bits(site.dtype())) / 8};
  const SlotIndex x = site.input(0), y = site.output(0);
  site.action([=](const Run& run) { order.run(run.at<std::byte>(x), run.at<std::byte>(y)); });
}

constexpr KernelChoice kChoices[] = {
    {"Flatten", "view", accepts, make_view},
    {"Identity", "view", accepts, make_view},
    {"Reshape", "view", accepts, make_view},
    {"Squeeze", "view", accepts, make_view},
    {"Transpose", "blocks", refuses_transpose, make_transpose},
    {"Unsqueeze", "view", accepts, make_view},
};

}  // namespace

std::span<const KernelChoice> shape_choices() { return kChoices; }

}  // namespace onward
