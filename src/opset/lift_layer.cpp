#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

// The exponent was a float before it became an integer.
void turn_p_into_integer(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const float p = node.float_or("p", 2);
  if (std::trunc(p) != p || std::fabs(p) > 1e6f) {
    throw Error(fmt::format("p is {}, which is not an integer", p));
  }
  set_attribute(node, "p", static_cast<int64_t>(p));
}

void require_kernel_shape(Rewrite& rewrite) {
  if (!rewrite.node().attribute("kernel_shape")) throw Error("it has no kernel_shape");
  turn_p_into_integer(rewrite);
}

// Where the amount of padding follows from the size of the output, opset 11 puts the odd one on the
// other side.
void refuse_computed_padding(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  if (auto_pad.starts_with("SAME") || node.attribute("output_shape")) {
    throw Error("an odd padding that is computed goes to the other side since");
  }
}

void drop_broadcast(Rewrite& rewrite) { rewrite.node().remove_attribute("broadcast"); }

// In training mode opsets up to 13 do not say whether the running variance is that of the batch or
// an estimate with N - 1, and have outputs that later ones do not.
void refuse_training_outputs(Rewrite& rewrite) {
  const auto outputs = rewrite.node().outputs();
  if (std::any_of(outputs.begin() + 1, outputs.end(), [](const auto& each) { return !!each; })) {
    throw Error("its training mode does not say how the running variance is computed");
  }
}

void drop_is_test(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.int_or("is_test", 0) == 0) {
    throw Error(
        "is_test is 0, and its training mode does not say how the running variance is "
        "computed");
  }
  node.remove_attribute("is_test");
}

// Without `spatial`, each place of each channel has statistics of its own: a channel of a matrix.
void drop_spatial(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.int_or("spatial", 1) == 0) {
    refuse_training_outputs(rewrite);
    Value* shape = rewrite.add("Shape", {node.input(0)}, "shape");
    std::vector<Value*> inputs = {rewrite.add("Flatten", {node.input(0)}, "matrix")};
    Value* flat = rewrite.constant({-1}, "flat");
    constexpr const char* kRoles[] = {"x", "scale", "bias", "mean", "variance"};
    for (size_t i = 1; i < std::size(kRoles); ++i) {
      inputs.push_back(rewrite.add("Reshape", {node.input(i), flat}, kRoles[i]));
    }
    Value* normalized = rewrite.add(node.op, inputs, "normalized");
    set_attribute(*normalized->producer(), "epsilon", node.float_or("epsilon", 1e-5f));
    rewrite.become("Reshape", {normalized, shape}, normalized);
    set_attribute(node, "allowzero", int64_t{1});
  }
  node.remove_attribute("spatial");
}

// What the mask of a Dropout that does nothing holds is not said before opset 12, and programs
// differ; up to opset 9 it also has the type of the data.
void turn_mask_into_bool(Node& node) {
  Value* mask = node.output(1);
  if (!mask) return;
  if (is_needed(*mask)) {
    throw Error(fmt::format("what its mask '{}' holds is not defined", mask->name()));
  }
  if (mask->type.is_tensor()) mask->type.dtype = DType::boolean;
}

void drop_mask(Rewrite& rewrite) { turn_mask_into_bool(rewrite.node()); }

/// The ratio as input 1, and the mode as input 2 where it trains.
void set_dropout_inputs(Rewrite& rewrite, bool trains) {
  Node& node = rewrite.node();
  const auto* ratio = node.get<float>("ratio");
  Value* ratio_input = ratio ? rewrite.constant(Tensor::scalar(*ratio), "ratio") : nullptr;
  const auto truth = std::make_shared<const std::string>(1, '\1');
  Value* mode =
      trains ? rewrite.constant(Tensor::from_bytes(DType::boolean, {}, truth), "training_mode")
             : nullptr;
  node.remove_attribute("ratio");
  node.set_inputs({node.input(0), ratio_input, mode});
}

void turn_is_test_into_mode(Rewrite& rewrite) {
  Node& node = rewrite.node();
  turn_mask_into_bool(node);
  if (node.int_or("is_test", 0) == 0) {
    set_dropout_inputs(rewrite, true);
    node.opset = 12;  // versions in between have no training mode
  }
  node.remove_attribute("is_test");
}

// Without the input training_mode it still does nothing; the ratio is kept for who trains later.
void turn_ratio_into_input(Rewrite& rewrite) {
  turn_mask_into_bool(rewrite.node());
  set_dropout_inputs(rewrite, false);
}

void write_old_roi_mode(Rewrite& rewrite) {
  set_attribute(rewrite.node(), "coordinate_transformation_mode", std::string("output_half_pixel"));
}

void rename_sampling_mode(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const std::string mode = node.string_or("mode", "bilinear");
  if (mode == "bilinear") set_attribute(node, "mode", std::string("linear"));
  if (mode == "bicubic") set_attribute(node, "mode", std::string("cubic"));
}

// Where sizes are given, an empty tensor stood for the scales that are now left out.
void leave_out_empty_scales(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.string_or("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn") {
    throw Error("coordinate_transformation_mode tf_half_pixel_for_nn has no newer form");
  }
  if (node.input(3)) node.set_input(2, nullptr);
}

// Scale and bias were one number for each group; now each channel has its own.
void repeat_for_channels(Rewrite& rewrite) {
  Node& node = rewrite.node();
  Value* shape = rewrite.add("Shape", {node.input(0)}, "shape");
  Value* channels = rewrite.add("Gather", {shape, rewrite.constant({1}, "place")}, "channels");
  Value* groups = rewrite.constant({node.int_or("num_groups", 1)}, "groups");
  Value* one = rewrite.constant({1}, "one");
  Value* each = rewrite.add("Div", {channels, groups}, "channels_of_group");
  Value* columns = rewrite.add("Concat", {one, each}, "columns");
  set_attribute(*columns->producer(), "axis", int64_t{0});
  Value* flat = rewrite.constant({-1}, "flat");
  const auto repeated = [&](Value* per_group, const std::string& role) {
    Value* column = rewrite.add("Unsqueeze", {per_group, one}, role + "_of_groups");
    Value* spread = rewrite.add("Expand", {column, columns}, role + "_spread");
    return rewrite.add("Reshape", {spread, flat}, role);
  };
  Value* scale = repeated(node.input(1), "scale");
  node.set_inputs({node.input(0), scale, repeated(node.input(2), "bias")});
}

// Opset 1 is of images alone, and as its example shows an element is repeated `scale` times.
void write_scale_of_each_axis(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const float height = *node.get<float>("height_scale"), width = *node.get<float>("width_scale");
  if (node.string_or("mode", "nearest") == "bilinear") {
    set_attribute(node, "mode", std::string("linear"));
  }
  node.remove_attribute("height_scale");
  node.remove_attribute("width_scale");
  set_attribute(node, "scales", std::vector<float>{1, 1, height, width});
}

void turn_scales_into_input(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const auto& scales = *node.get<std::vector<float>>("scales");
  const auto count = static_cast<int64_t>(scales.size());
  node.set_input(1, rewrite.constant(Tensor::of<float>({count}, scales), "scales"));
  node.remove_attribute("scales");
}

/// The form of opset 13, in which the region can be left out. Sample i was at i / scale.
void write_resize(Node& node, const char* nearest_mode) {
  set_attribute(node, "coordinate_transformation_mode", std::string("asymmetric"));
  if (node.string_or("mode", "nearest") == "nearest") {
    set_attribute(node, "nearest_mode", std::string(nearest_mode));
  }
  node.set_inputs({node.input(0), nullptr, node.input(1)});
  node.opset = 13;
}

// No scale is below one.
void turn_upsample_into_resize(Rewrite& rewrite) { write_resize(rewrite.node(), "floor"); }

/// The elements of a tensor that the model fixes, or null.
const Tensor* fixed_tensor(const Value& value) {
  if (value.tensor() && !value.is_input()) return value.tensor();
  const Node* producer = value.producer();
  return producer && producer->op == "Constant" ? producer->get<Tensor>("value") : nullptr;
}

// The nearest element was the one before a sample where the scale is larger than one, the one
// behind it where it is smaller, as the standard's tests of that opset have it.
void write_nearest_mode(Rewrite& rewrite) {
  Node& node = rewrite.node();
  if (node.string_or("mode", "nearest") != "nearest") return write_resize(node, "");
  const Tensor* scales = fixed_tensor(*node.input(1));
  if (!scales) throw Error("whether it samples up or down is known only when it runs");
  bool is_up = false, is_down = false;
  for (int64_t i = 0; i < scales->size(); ++i) {
    is_up |= scales->number(i) > 1;
    is_down |= scales->number(i) < 1;
  }
  if (is_up && is_down) throw Error("it samples one dimension up and another one down");
  write_resize(node, is_down ? "ceil" : "floor");
}

constexpr LiftStep kLayerSteps[] = {
    {"BatchNormalization", 1, 6, drop_consumed_inputs},
    {"BatchNormalization", 6, 7, drop_is_test},
    {"BatchNormalization", 7, 9, drop_spatial},
    {"BatchNormalization", 9, 14, refuse_training_outputs},
    {"ConvTranspose", 1, 11, refuse_computed_padding},
    {"Dropout", 1, 6, drop_consumed_inputs},
    {"Dropout", 6, 7, turn_is_test_into_mode},
    {"Dropout", 7, 10, drop_mask},
    {"Dropout", 10, 12, turn_ratio_into_input},
    {"Gemm", 6, 7, drop_broadcast},
    {"GroupNormalization", 18, 21, repeat_for_channels},
    {"GlobalLpPool", 1, 2, turn_p_into_integer},
    {"GridSample", 16, 20, rename_sampling_mode},
    {"InstanceNormalization", 1, 6, drop_consumed_inputs},
    {"LpPool", 1, 2, require_kernel_shape},
    {"Resize", 10, 11, write_nearest_mode},
    {"Resize", 11, 13, leave_out_empty_scales},
    {"RoiAlign", 10, 16, write_old_roi_mode},
    {"Upsample", 1, 7, write_scale_of_each_axis},
    {"Upsample", 7, 9, turn_scales_into_input},
    {"Upsample", 9, 10, turn_upsample_into_resize, false, "Resize"},
};

}  // namespace

std::span<const LiftStep> layer_lift_steps() { return kLayerSteps; }

}  // namespace onward
