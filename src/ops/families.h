#pragma once

#include <span>

#include "ops/op_def.h"

namespace onward {

// One function a family; its file has the same name. registry.cpp joins them.
std::span<const OpDef> elementwise_ops();
std::span<const OpDef> shape_ops();
std::span<const OpDef> indexing_ops();
std::span<const OpDef> reduction_ops();
std::span<const OpDef> matmul_ops();
std::span<const OpDef> conv_ops();
std::span<const OpDef> pool_ops();
std::span<const OpDef> normalization_ops();
std::span<const OpDef> softmax_ops();
std::span<const OpDef> loss_ops();
std::span<const OpDef> random_ops();
std::span<const OpDef> optimizer_ops();
std::span<const OpDef> internal_ops();

}  // namespace onward
