#pragma once

#include "eval/kernel.h"

namespace onward::eval {

// One function a family; its file has the same name, and is called like the one in ops/ that says
// what the operators are. registry.cpp joins them.
std::span<const KernelDef> elementwise_kernels();
std::span<const KernelDef> shape_kernels();
std::span<const KernelDef> indexing_kernels();
std::span<const KernelDef> reduction_kernels();
std::span<const KernelDef> matmul_kernels();
std::span<const KernelDef> conv_kernels();
std::span<const KernelDef> pool_kernels();
std::span<const KernelDef> normalization_kernels();
std::span<const KernelDef> softmax_kernels();
std::span<const KernelDef> loss_kernels();
std::span<const KernelDef> random_kernels();
std::span<const KernelDef> control_flow_kernels();
std::span<const KernelDef> sequence_kernels();
std::span<const KernelDef> bitwise_kernels();
std::span<const KernelDef> cumulative_kernels();
std::span<const KernelDef> matrix_kernels();
std::span<const KernelDef> quantization_kernels();
std::span<const KernelDef> ml_lookup_kernels();
std::span<const KernelDef> ml_map_kernels();
std::span<const KernelDef> ml_tree_kernels();
std::span<const KernelDef> resize_kernels();
std::span<const KernelDef> scatter_kernels();
std::span<const KernelDef> selection_kernels();
std::span<const KernelDef> fourier_kernels();
std::span<const KernelDef> text_kernels();
std::span<const KernelDef> image_kernels();

}  // namespace onward::eval
