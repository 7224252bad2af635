#include "opset/lift_steps.h"

namespace onward {
namespace {

// No axes, or an empty list of them, meant all; so does a left-out input.
void turn_given_axes_into_input(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const auto* axes = node.get<std::vector<int64_t>>("axes");
  if (axes && !axes->empty()) node.set_input(1, rewrite.constant(*axes, "axes"));
  node.remove_attribute("axes");
}

// Up to opset 12 the input is seen as a matrix: the dimensions before `axis` are its rows, the
// others its columns, and every row is normalized as a whole. Now `axis` is the one dimension to
// normalize.
void coerce_to_matrix(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Value* x = node.input(0);
  const int64_t axis = node.int_or("axis", 1);
  const auto rank_x = rank(x);
  if (axis == -1 || (rank_x && axis == *rank_x - 1)) {
    set_attribute(node, "axis", axis);
    return;
  }
  Value* shape = rewrite.add("Shape", {x}, "shape");
  Value* matrix = rewrite.add("Flatten", {x}, "matrix");
  set_attribute(*matrix->producer(), "axis", axis);
  Value* normalized = rewrite.add(node.op, {matrix}, "normalized");
  set_attribute(*normalized->producer(), "axis", int64_t{-1});
  rewrite.become("Reshape", {normalized, shape}, normalized);
  set_attribute(node, "allowzero", int64_t{1});  // a dimension of 0 is one, not "as in the input"
}

constexpr LiftStep kReductionSteps[] = {
    {"ReduceL1", 13, 18, turn_given_axes_into_input},
    {"ReduceL2", 13, 18, turn_given_axes_into_input},
    {"ReduceLogSum", 13, 18, turn_given_axes_into_input},
    {"ReduceLogSumExp", 13, 18, turn_given_axes_into_input},
    {"ReduceMax", 13, 18, turn_given_axes_into_input},
    {"ReduceMean", 13, 18, turn_given_axes_into_input},
    {"ReduceMin", 13, 18, turn_given_axes_into_input},
    {"ReduceProd", 13, 18, turn_given_axes_into_input},
    {"ReduceSum", 11, 13, turn_given_axes_into_input},
    {"ReduceSumSquare", 13, 18, turn_given_axes_into_input},
    {"Hardmax", 11, 13, coerce_to_matrix, true},
    {"LogSoftmax", 11, 13, coerce_to_matrix, true},
    {"Softmax", 11, 13, coerce_to_matrix, true},
};

}  // namespace

std::span<const LiftStep> reduction_lift_steps() { return kReductionSteps; }

}  // namespace onward
