#include <fmt/format.h>

#include <limits>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

/// Moves an attribute that is a list of integers to input `index`; an absent one stays absent.
void turn_into_input(Rewrite& rewrite, std::string_view attribute, size_t index) {
  Node& node = rewrite.node();
  if (const auto* values = node.get<Integers>(attribute)) {
    node.set_input(index, rewrite.constant(*values, attribute));
  }
  node.remove_attribute(attribute);
}

void turn_axes_into_input(Rewrite& rewrite) { turn_into_input(rewrite, "axes", 1); }

// The text of opset 1 has a default, its schema none.
void write_default_axis(Rewrite& rewrite) {
  if (!rewrite.node().attribute("axis")) set_attribute(rewrite.node(), "axis", int64_t{1});
}

void turn_shape_into_input(Rewrite& rewrite) {
  if (!rewrite.node().get<Integers>("shape")) throw Error("it has no shape");
  turn_into_input(rewrite, "shape", 1);
  drop_consumed_inputs(rewrite);
}

void turn_slice_bounds_into_inputs(Rewrite& rewrite) {
  turn_into_input(rewrite, "starts", 1);
  turn_into_input(rewrite, "ends", 2);
  turn_into_input(rewrite, "axes", 3);
}

void refuse_sizes_as_data(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  if (node.input(1)) throw Error("its sizes are an input of the type of the data");
  if (!node.attribute("axis")) throw Error("it has no axis, and the standard defines no default");
}

void turn_split_into_input(Rewrite& rewrite) { turn_into_input(rewrite, "split", 1); }

// The number of outputs alone no longer says that all are equal. Sizes that can't be equal were not
// allowed before.
void count_outputs(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.input(1)) return;
  set_attribute(node, "num_outputs", static_cast<int64_t>(node.outputs().size()));
}

// Opset 1 describes the order begins, ends; its example has begin and end of one axis side by side.
void settle_order_of_pads(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Integers pads = *node.get<Integers>("paddings");
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    if (pads[i] != pads[2 * i] || pads[pads.size() / 2 + i] != pads[2 * i + 1]) {
      throw Error(fmt::format("the standard is ambiguous about the order of paddings {}",
                              to_string(std::span<const int64_t>(pads))));
    }
  }
  node.remove_attribute("paddings");
  set_attribute(node, "pads", std::move(pads));
}

void turn_pads_into_inputs(Rewrite& rewrite) {
  Node& node = rewrite.node();
  turn_into_input(rewrite, "pads", 1);
  const auto* value = node.get<float>("value");
  if (value && node.string_or("mode", "constant") == "constant") {
    node.set_input(2, rewrite.scalar_like(*value, node.input(0), "value"));
  }
  node.remove_attribute("value");
}

void turn_k_into_input(Rewrite& rewrite) {
  Node& node = rewrite.node();
  node.set_input(1, rewrite.constant(Integers{*node.get<int64_t>("k")}, "k"));
  node.remove_attribute("k");
}

// A negative index gave a row without an entry before it began to count from the end. An index
// beyond every depth still does.
void keep_negative_indices_off(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Value* indices = node.input(0);
  switch (indices->type.dtype) {
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return;
    default:
      break;
  }
  Value* whole = rewrite.add("Cast", {indices}, "indices_i64");
  set_attribute(*whole->producer(), "to", static_cast<int64_t>(DType::i64));
  Value* zero = rewrite.constant(Tensor::scalar<int64_t>(0), "zero");
  Value* nowhere = rewrite.constant(Tensor::scalar(std::numeric_limits<int64_t>::max()), "nowhere");
  Value* negative = rewrite.add("Less", {whole, zero}, "negative");
  node.set_input(0, rewrite.add("Where", {negative, nowhere, whole}, "indices"));
}

void turn_axis_into_input(Rewrite& rewrite) {
  Node& node = rewrite.node();
  node.set_input(2, rewrite.constant(Tensor::scalar(node.int_or("axis", 1)), "axis"));
  node.remove_attribute("axis");
}

// One number of copies and one axis, both of the data's type, became a number for each axis. An
// axis that is not there is refused when it is scattered to.
void write_repeats_of_each_axis(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Value* x = node.input(0);
  const auto as_vector = [&](Value* value, const std::string& role) {
    Value* whole = rewrite.add("Cast", {value}, role + "_i64");
    set_attribute(*whole->producer(), "to", static_cast<int64_t>(DType::i64));
    return rewrite.add("Reshape", {whole, rewrite.constant({-1}, role + "_shape")}, role);
  };
  Value* tiles = as_vector(node.input(1), "tiles");
  Value* axis = as_vector(node.input(2), "axis");
  Value* rank = rewrite.add("Shape", {rewrite.add("Shape", {x}, "shape")}, "rank");
  Value* ones = rewrite.add("Expand", {rewrite.constant({1}, "one"), rank}, "ones");
  node.set_inputs({x, rewrite.add("ScatterElements", {ones, axis, tiles}, "repeats")});
}

constexpr LiftStep kShapeSteps[] = {
    {"Concat", 1, 4, write_default_axis},
    {"DFT", 17, 20, turn_axis_into_input},
    {"OneHot", 9, 11, keep_negative_indices_off, true},
    {"Pad", 1, 2, settle_order_of_pads},
    {"Pad", 2, 11, turn_pads_into_inputs, true},
    {"Reshape", 1, 5, turn_shape_into_input},
    {"Scatter", 9, 11, same, false, "ScatterElements"},
    {"Slice", 1, 10, turn_slice_bounds_into_inputs},
    {"Split", 1, 2, refuse_sizes_as_data},
    {"Split", 11, 13, turn_split_into_input},
    {"Split", 13, 18, count_outputs},
    {"Squeeze", 11, 13, turn_axes_into_input},
    {"Tile", 1, 6, write_repeats_of_each_axis},
    {"TopK", 1, 10, turn_k_into_input},
    {"Unsqueeze", 11, 13, turn_axes_into_input},
};

}  // namespace

std::span<const LiftStep> shape_lift_steps() { return kShapeSteps; }

}  // namespace onward
