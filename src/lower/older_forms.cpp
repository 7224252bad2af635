#include "lower/older_forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "ops/window.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

/// The integers of an input that is a constant, or nothing.
std::optional<Integers> constant_integers(const Value* value) {
  if (!value) return std::nullopt;
  const Node* node = value->producer();
  const Tensor* tensor = value->is_input() ? nullptr : value->tensor();
  if (node && node->op == "Constant" && node->domain.empty()) tensor = node->get<Tensor>("value");
  return tensor ? std::optional(tensor->integers()) : std::nullopt;
}

/// Before opset 18 the axes of most reductions were an attribute.
void turn_axes_into_attribute(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const bool noop = node.int_or("noop_with_empty_axes", 0) != 0;
  Integers axes;
  if (const Value* input = node.input(1)) {
    const auto constant = constant_integers(input);
    if (!constant) throw Error("its axes are computed");
    axes = *constant;
  }
  if (axes.empty() && noop) {
    node.set_op("Identity");
    node.set_inputs({node.input(0)});
    node.remove_attribute("keepdims");
    node.remove_attribute("noop_with_empty_axes");
    return;
  }
  node.set_inputs({node.input(0)});
  node.remove_attribute("noop_with_empty_axes");
  if (!axes.empty()) set_attribute(node, "axes", axes);
}

/// The same for a reduction that is more than one: without axes its function is left.
void turn_axes_of_function_into_attribute(Rewrite& rewrite) {
  struct Left {
    std::string_view op, function;
  };
  constexpr Left kLeft[] = {{"ReduceL1", "Abs"},
                            {"ReduceL2", "Abs"},
                            {"ReduceLogSum", "Log"},
                            {"ReduceSumSquare", "Mul"}};
  Node& node = rewrite.node();
  const auto* left = std::ranges::find(kLeft, std::string_view(node.op), &Left::op);
  turn_axes_into_attribute(rewrite);
  if (node.op != "Identity") return;
  node.set_op(std::string(left->function));
  if (left->function == "Mul") node.set_inputs({node.input(0), node.input(0)});
}

/// Before opset 18 parts of no given size were all equal.
void drop_number_of_parts(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const auto* parts = node.get<int64_t>("num_outputs");
  if (!parts) return;
  const auto& shape = node.input(0)->type.shape;
  const int64_t rank = shape ? static_cast<int64_t>(shape->size()) : 0;
  const int64_t axis = node.int_or("axis", 0);
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  if (!shape || at >= shape->size() || !(*shape)[at].value) {
    throw Error(fmt::format("it is unknown whether '{}' splits into {} equal parts",
                            node.input(0)->name(), *parts));
  }
  const int64_t size = *(*shape)[at].value, part = (size + *parts - 1) / *parts;
  Integers sizes(static_cast<size_t>(*parts), part);
  for (int64_t left = size; int64_t& each : sizes) {
    each = std::min(part, std::max<int64_t>(left, 0));
    left -= each;
  }
  node.set_inputs({node.input(0), rewrite.constant(sizes, "sizes")});
  node.remove_attribute("num_outputs");
}

/// A dimension of zero in Reshape's shape meant "as in the input" before opset 14.
void require_no_zeros(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.int_or("allowzero", 0) != 0) {
    const auto shape = constant_integers(node.input(1));
    if (!shape) throw Error("its shape is computed and may contain a literal zero");
    if (std::ranges::count(*shape, 0) > 0) throw Error("its shape contains a literal zero");
  }
  node.remove_attribute("allowzero");
}

/// Before opset 22 the standard's rules count a last window that ceil_mode lets begin behind the
/// input, which nothing that runs computes. Padding that only such a window reaches goes, and
/// ceil_mode where it adds no other.
void leave_out_windows_behind_input(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.int_or("ceil_mode", 0) == 0) return;
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  const auto& shape = node.input(0)->type.shape;
  if (auto_pad.starts_with("SAME")) node.remove_attribute("ceil_mode");  // which says nothing there
  if (auto_pad.starts_with("SAME") || !shape) return;
  const size_t count = shape->size() - 2;
  const Integers kernel = list_or(node, "kernel_shape", count, 1);
  const Integers strides = list_or(node, "strides", count, 1);
  const Integers dilations = list_or(node, "dilations", count, 1);
  const Integers given = list_or(node, "pads", 2 * count, 0);
  Integers pads = given;
  bool rounds_up = false;
  for (size_t d = 0; d < count; ++d) {
    const auto& size = (*shape)[d + 2].value;
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    const int64_t room = size.value_or(0) + pads[d] + pads[count + d] - reach;
    const bool is_inside =
        size && (room / strides[d] + 1) * strides[d] < *size + pads[d];  // the window more
    if (!size || (room % strides[d] != 0 && is_inside)) {
      rounds_up = true;
    } else {
      pads[count + d] -= room % strides[d];
    }
  }
  if (rounds_up && std::ranges::min(pads) < 0) {
    throw Error("a window that begins behind the input is left out since opset 22");
  }
  if (!rounds_up) {
    node.remove_attribute("ceil_mode");
  } else if (pads != given) {
    set_attribute(node, "pads", pads);
  }
}

/// Before opset 28 only integers had a remainder of the divisor's sign.
void require_integers_of_floor(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  if (node.int_or("fmod", 0) == 0 && is_float(node.input(0)->type.dtype)) {
    throw Error("a remainder of floats with fmod = 0 is new in opset 28");
  }
}

/// Where two versions differ in some cases only, the rule that lifts refuses just these and changes
/// nothing: it serves as the check of the downgrade.
template <typename Table>
void check_as_lifting_does(Rewrite& rewrite, const Table& table) {
  for (const LiftStep& step : table) {
    if (step.op != rewrite.node().op || step.to <= 13) continue;
    step.rule(rewrite);
  }
}

void check_layer(Rewrite& rewrite) { check_as_lifting_does(rewrite, layer_lift_steps()); }
void check_conversion(Rewrite& rewrite) { check_as_lifting_does(rewrite, conversion_lift_steps()); }
void check_elements(Rewrite& rewrite) { check_as_lifting_does(rewrite, elementwise_lift_steps()); }

constexpr OlderForm kForms[] = {
    {"AveragePool", 22, 19, leave_out_windows_behind_input},
    {"BatchNormalization", 14, 9, check_layer},
    {"Cast", 24, 23, check_conversion},
    {"CastLike", 24, 23, check_conversion},
    {"LpPool", 22, 18, leave_out_windows_behind_input},
    {"MaxPool", 22, 12, leave_out_windows_behind_input},
    {"Mod", 28, 13, require_integers_of_floor},
    {"ReduceL1", 18, 13, turn_axes_of_function_into_attribute},
    {"ReduceL2", 18, 13, turn_axes_of_function_into_attribute},
    {"ReduceLogSum", 18, 13, turn_axes_of_function_into_attribute},
    {"ReduceLogSum", 28, 18, check_elements},
    {"ReduceLogSumExp", 18, 13, turn_axes_into_attribute},
    {"ReduceLogSumExp", 28, 18, check_elements},
    {"ReduceMax", 18, 13, turn_axes_into_attribute},
    {"ReduceMean", 18, 13, turn_axes_into_attribute},
    {"ReduceMin", 18, 13, turn_axes_into_attribute},
    {"ReduceProd", 18, 13, turn_axes_into_attribute},
    {"ReduceSumSquare", 18, 13, turn_axes_of_function_into_attribute},
    {"Reshape", 14, 13, require_no_zeros},
    {"Split", 18, 13, drop_number_of_parts},
};

constexpr NewValue kValues[] = {
    {"Pad", "mode", "wrap", 19},
    {"ScatterElements", "reduction", "max", 18},
    {"ScatterElements", "reduction", "min", 18},
    {"ScatterND", "reduction", "max", 18},
    {"ScatterND", "reduction", "min", 18},
};

}  // namespace

std::span<const OlderForm> older_forms() { return kForms; }
std::span<const NewValue> new_values() { return kValues; }

}  // namespace onward
