#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

/// A row with what its family says of all. None goes without a gradient and without a word on why.
OpDef completed(OpDef row, const OpFamily& family) {
  row.traits |= family.traits;
  if (!row.vjp && !row.expansion && row.no_gradient.empty()) {
    throw Bug(fmt::format("{} has no gradient, and no reason for that", row.name));
  }
  return row;
}

}  // namespace

Expr VjpContext::demanded_output(size_t index, DType dtype) const {
  if (Value* present = node_.output(index)) return builder_.expr(present);
  // The first output itself may be left out.
  const auto& named =
      *std::ranges::find_if(node_.outputs(), [](const auto& each) { return !!each; });
  const std::string wanted = named->name() + "_" + std::to_string(index);
  return builder_.expr(node_.set_output(index, builder_.fresh(wanted), Type::tensor(dtype)));
}

std::span<const OpDef> op_defs() {
  static const std::vector<OpDef> all = [] {
    const OpFamily families[] = {
        elementwise_ops(),    {shape_ops()},         {indexing_ops()},
        reduction_ops(),      {matmul_ops()},        {conv_ops()},
        {pool_ops()},         {normalization_ops()}, softmax_ops(),
        {loss_ops()},         random_ops(),          {optimizer_ops()},
        {internal_ops()},     {control_flow_ops()},  {sequence_ops()},
        {recurrent_ops()},    activation_ops(),      trigonometry_ops(),
        bitwise_ops(),        {cumulative_ops()},    {einsum_ops()},
        {matrix_ops()},       {norm_ops()},          {group_normalization_ops()},
        {quantization_ops()}, {attention_ops()},     {attention_state_ops()},
        {ml_ops()},           {ml_svm_ops()},        {image_ops()},
        {resize_ops()},       {scatter_ops()},       {selection_ops()},
        {text_ops()},         {signal_ops()},        {fourier_ops()},
        {grid_sample_ops()},  {region_ops()},        {deform_conv_ops()},
        {col2im_ops()},       {lstm_steps_ops()},
    };
    std::vector<OpDef> list;
    for (const OpFamily& family : families) {
      for (const OpDef& row : family.ops) list.push_back(completed(row, family));
    }
    add_missing_ops(list);
    return list;
  }();
  return all;
}

const OpDef* find_op_def(std::string_view domain, std::string_view name) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, const OpDef*> index = [] {
    std::map<Key, const OpDef*> map;
    for (const OpDef& def : op_defs()) {
      if (!map.emplace(Key{def.domain, def.name}, &def).second) {
        throw Bug(fmt::format("{} is defined twice", def.name));
      }
    }
    return map;
  }();
  const auto found = index.find({domain, name});
  return found == index.end() ? nullptr : found->second;
}

bool has_traits(const Node& node, Traits wanted) {
  const OpDef* definition = find_op_def(node);
  return definition && definition->has(wanted);
}

InputRole input_role(const Node& node, size_t input) {
  const OpDef* definition = find_op_def(node);
  return definition ? definition->inputs.of(input) : InputRole::data;
}

bool is_in_training(const Node& node) {
  const OpDef* definition = find_op_def(node);
  return definition && definition->trains && definition->trains(node);
}

std::string_view name(InputRole role) {
  constexpr std::string_view kNames[] = {
      "data",  "weight",    "recurrent weight", "peephole weight",  "bias",  "scale",
      "slope", "embedding", "running mean",     "running variance", "label", "class weight",
      "index", "shape",     "setting"};
  return kNames[static_cast<size_t>(role)];
}

}  // namespace onward
