#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

/// Gives B trailing dimensions of 1, so that its first one stands below dimension `axis` of A.
void align_second_input(Rewrite& rewrite, int64_t axis) {
  Node& node = rewrite.node();
  Value* b = node.input(1);
  const auto rank_a = rank(node.input(0)), rank_b = rank(b);
  if (rank_b == 0) return;
  if (axis < 0) throw Error(fmt::format("a negative axis ({}) has no meaning there", axis));
  if (!rank_a || !rank_b) {
    throw Error(fmt::format("axis is {}, and the rank of '{}' is not known", axis,
                            rank_a ? b->name() : node.input(0)->name()));
  }
  if (axis > *rank_a - *rank_b) {
    throw Error(
        fmt::format("axis {} leaves no room for rank {} below rank {}", axis, *rank_b, *rank_a));
  }
  const int64_t missing = *rank_a - *rank_b - axis;
  if (missing == 0) return;
  std::vector<int64_t> axes(missing);
  std::iota(axes.begin(), axes.end(), *rank_b);
  node.set_input(1, rewrite.add("Unsqueeze", {b, rewrite.constant(axes, "b_axes")}, "b"));
}

// Up to opset 6 only B is broadcast, where `broadcast` is set: a single element, a suffix of A's
// shape, or a part of it that begins at `axis`. All but the last is what numpy's rules do too.
void use_numpy_broadcasting(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const auto* axis = node.get<int64_t>("axis");
  if (axis && node.int_or("broadcast", 0) != 0) align_second_input(rewrite, *axis);
  node.remove_attribute("broadcast");
  node.remove_attribute("axis");
}

// A slope of more than one element belongs to the channels, dimension 1 of X; later it is broadcast
// by numpy's rules, which would match it with the last dimension.
void align_slope_with_channels(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Value* x = node.input(0);
  Value* slope = node.input(1);
  const auto& shape = slope->type.shape;
  if (shape && element_count(*shape) == 1) return;
  const auto rank_x = rank(x);
  if (!rank_x || *rank_x < 2 || rank(slope) != 1) {
    throw Error(fmt::format("the channels of '{}' ({}) can't be matched with '{}' ({})", x->name(),
                            to_string(x->type), slope->name(), to_string(slope->type)));
  }
  if (*rank_x == 2) return;
  std::vector<int64_t> axes(*rank_x - 2);
  std::iota(axes.begin(), axes.end(), 1);
  node.set_input(1,
                 rewrite.add("Unsqueeze", {slope, rewrite.constant(axes, "slope_axes")}, "slope"));
}

// The attributes default to the largest floats, even of doubles; inputs that are left out bound
// nothing.
void turn_bounds_into_inputs(Rewrite& rewrite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  Node& node = rewrite.node();
  Value* x = node.input(0);
  Value* min = rewrite.scalar_like(node.float_or("min", -kLargest), x, "min");
  Value* max = rewrite.scalar_like(node.float_or("max", kLargest), x, "max");
  node.remove_attribute("min");
  node.remove_attribute("max");
  node.set_inputs({x, min, max});
}

// The defaults had four digits after the point before they became those of the paper.
void keep_selu_defaults(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (!node.attribute("alpha")) set_attribute(node, "alpha", 1.6732f);
  if (!node.attribute("gamma")) set_attribute(node, "gamma", 1.0507f);
  drop_consumed_inputs(rewrite);
}

void refuse_integers(Rewrite& rewrite) {
  const Value* x = rewrite.node().input(0);
  if (!x->type.is_tensor()) {
    throw Error(
        fmt::format("integers are no longer allowed, and the element type of '{}' is "
                    "not known",
                    x->name()));
  }
  if (!is_float(x->type.dtype)) {
    throw Error(fmt::format("'{}' is of type {}, which is no longer allowed", x->name(),
                            onnx_name(x->type.dtype)));
  }
}

constexpr LiftStep kElementwiseSteps[] = {
    {"Add", 1, 6, drop_consumed_inputs},
    {"Add", 6, 7, use_numpy_broadcasting, true},
    {"Sub", 1, 6, drop_consumed_inputs},
    {"Sub", 6, 7, use_numpy_broadcasting, true},
    {"Mul", 1, 6, drop_consumed_inputs},
    {"Mul", 6, 7, use_numpy_broadcasting, true},
    {"Div", 1, 6, drop_consumed_inputs},
    {"Div", 6, 7, use_numpy_broadcasting, true},
    {"Pow", 1, 7, use_numpy_broadcasting, true},
    {"And", 1, 7, use_numpy_broadcasting, true},
    {"Or", 1, 7, use_numpy_broadcasting, true},
    {"Xor", 1, 7, use_numpy_broadcasting, true},
    {"Equal", 1, 7, use_numpy_broadcasting, true},
    {"Less", 1, 7, use_numpy_broadcasting, true},
    {"Greater", 1, 7, use_numpy_broadcasting, true},

    {"Abs", 1, 6, drop_consumed_inputs},
    {"Ceil", 1, 6, drop_consumed_inputs},
    {"Elu", 1, 6, drop_consumed_inputs},
    {"Exp", 1, 6, drop_consumed_inputs},
    {"Floor", 1, 6, drop_consumed_inputs},
    {"HardSigmoid", 1, 6, drop_consumed_inputs},
    {"LeakyRelu", 1, 6, drop_consumed_inputs},
    {"Log", 1, 6, drop_consumed_inputs},
    {"Max", 1, 6, drop_consumed_inputs},
    {"Mean", 1, 6, drop_consumed_inputs},
    {"Min", 1, 6, drop_consumed_inputs},
    {"Neg", 1, 6, drop_consumed_inputs},
    {"Reciprocal", 1, 6, drop_consumed_inputs},
    {"Relu", 1, 6, drop_consumed_inputs},
    {"Sigmoid", 1, 6, drop_consumed_inputs},
    {"Sqrt", 1, 6, drop_consumed_inputs},
    {"Sum", 1, 6, drop_consumed_inputs},
    {"Tanh", 1, 6, drop_consumed_inputs},

    {"Selu", 1, 6, keep_selu_defaults},
    {"PRelu", 1, 6, drop_consumed_inputs},
    {"PRelu", 6, 7, align_slope_with_channels, true},
    {"Clip", 1, 6, drop_consumed_inputs},
    {"Clip", 6, 11, turn_bounds_into_inputs, true},
    {"Erf", 9, 13, refuse_integers, true},
    {"ReduceLogSum", 18, 28, refuse_integers, true},
    {"ReduceLogSumExp", 18, 28, refuse_integers, true},
};

}  // namespace

void same(Rewrite&) {}

void drop_consumed_inputs(Rewrite& rewrite) { rewrite.node().remove_attribute("consumed_inputs"); }

std::span<const LiftStep> elementwise_lift_steps() { return kElementwiseSteps; }

}  // namespace onward
