#pragma once

// The operators that take more than a pattern to say; each family in a file of its own, both
// frameworks side by side. calls.cpp has the table.

#include <string>

#include "emit/call.h"

namespace onward::emit {

// emit_elementwise.cpp
std::string torch_cast(const Call&);
std::string keras_cast(const Call&);
std::string torch_clip(const Call&);
std::string keras_clip(const Call&);
std::string torch_div(const Call&);
std::string keras_div(const Call&);
std::string torch_gelu(const Call&);
std::string keras_gelu(const Call&);
std::string torch_max(const Call&);
std::string keras_max(const Call&);
std::string torch_min(const Call&);
std::string keras_min(const Call&);
std::string torch_pow(const Call&);
std::string keras_pow(const Call&);
std::string sum(const Call&);
std::string torch_where(const Call&);
std::string keras_where(const Call&);

// emit_shape.cpp
std::string constant(const Call&);
std::string torch_constant_of_shape(const Call&);
std::string keras_constant_of_shape(const Call&);
std::string torch_expand(const Call&);
std::string keras_expand(const Call&);
std::string torch_flatten(const Call&);
std::string keras_flatten(const Call&);
std::string torch_reshape(const Call&);
std::string keras_reshape(const Call&);
std::string torch_shape(const Call&);
std::string keras_shape(const Call&);
std::string torch_squeeze(const Call&);
std::string keras_squeeze(const Call&);
std::string torch_transpose(const Call&);
std::string keras_transpose(const Call&);
std::string torch_unsqueeze(const Call&);
std::string keras_unsqueeze(const Call&);

// emit_indexing.cpp
std::string torch_gather(const Call&);
std::string torch_one_hot(const Call&);
std::string keras_one_hot(const Call&);
std::string torch_pad(const Call&);
std::string keras_pad(const Call&);
std::string torch_slice(const Call&);
std::string keras_slice(const Call&);
std::string torch_split(const Call&);
std::string keras_split(const Call&);

// emit_reduction.cpp
std::string torch_reduce_max(const Call&);
std::string keras_reduce_max(const Call&);
std::string torch_reduce_mean(const Call&);
std::string keras_reduce_mean(const Call&);
std::string torch_reduce_sum(const Call&);
std::string keras_reduce_sum(const Call&);

// emit_matmul.cpp
std::string torch_gemm(const Call&);
std::string keras_gemm(const Call&);

// emit_conv.cpp
std::string torch_conv(const Call&);
std::string keras_conv(const Call&);
std::string torch_conv_transpose(const Call&);
std::string keras_conv_transpose(const Call&);

// emit_pool.cpp
std::string torch_average_pool(const Call&);
std::string keras_average_pool(const Call&);
std::string torch_global_average_pool(const Call&);
std::string keras_global_average_pool(const Call&);
std::string torch_max_pool(const Call&);
std::string keras_max_pool(const Call&);

// emit_normalization.cpp
std::string torch_batch_norm(const Call&);
std::string keras_batch_norm(const Call&);
std::string torch_layer_norm(const Call&);
std::string keras_layer_norm(const Call&);

// emit_loss.cpp
std::string torch_cross_entropy(const Call&);
std::string keras_cross_entropy(const Call&);
std::string torch_nll_loss(const Call&);
std::string keras_nll_loss(const Call&);

// emit_random.cpp
std::string torch_dropout(const Call&);
std::string keras_dropout(const Call&);
std::string torch_random_normal(const Call&);
std::string keras_random_normal(const Call&);
std::string torch_random_uniform(const Call&);
std::string keras_random_uniform(const Call&);

}  // namespace onward::emit
