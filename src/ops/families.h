#pragma once

#include <span>

#include "ops/op_def.h"

namespace onward {

using In = InputRole;

/// The rows of a family, and what holds for all of them.
struct OpFamily {
  std::span<const OpDef> ops;
  Traits traits = 0;
};

// One function a family; its file has the same name. registry.cpp joins them.
OpFamily elementwise_ops();
OpFamily activation_ops();
OpFamily trigonometry_ops();
OpFamily bitwise_ops();
std::span<const OpDef> cumulative_ops();
std::span<const OpDef> einsum_ops();
std::span<const OpDef> matrix_ops();
std::span<const OpDef> group_normalization_ops();
std::span<const OpDef> norm_ops();
std::span<const OpDef> shape_ops();
std::span<const OpDef> indexing_ops();
OpFamily reduction_ops();
std::span<const OpDef> matmul_ops();
std::span<const OpDef> conv_ops();
std::span<const OpDef> pool_ops();
std::span<const OpDef> normalization_ops();
OpFamily softmax_ops();
std::span<const OpDef> loss_ops();
OpFamily random_ops();
std::span<const OpDef> control_flow_ops();
std::span<const OpDef> image_ops();
std::span<const OpDef> resize_ops();
std::span<const OpDef> scatter_ops();
std::span<const OpDef> selection_ops();
std::span<const OpDef> signal_ops();
std::span<const OpDef> fourier_ops();
std::span<const OpDef> grid_sample_ops();
std::span<const OpDef> region_ops();
std::span<const OpDef> deform_conv_ops();
std::span<const OpDef> col2im_ops();
std::span<const OpDef> sequence_ops();
std::span<const OpDef> recurrent_ops();
std::span<const OpDef> lstm_steps_ops();
std::span<const OpDef> quantization_ops();
std::span<const OpDef> attention_ops();
std::span<const OpDef> attention_state_ops();
std::span<const OpDef> text_ops();
std::span<const OpDef> ml_ops();
std::span<const OpDef> ml_svm_ops();
std::span<const OpDef> optimizer_ops();
std::span<const OpDef> internal_ops();
/// Adds what the standard has beside all that is defined.
void add_missing_ops(std::vector<OpDef>& all);

}  // namespace onward
