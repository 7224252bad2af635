#pragma once

// The operators that take more than a pattern to write in PyTorch, each family in a file of its
// own. calls.cpp has the table.

#include <span>
#include <string>

#include "emit/call.h"

namespace onward::emit::torch {

std::span<const CallRow> calls();

// elementwise.cpp
std::string cast(const Call&);
std::string clip(const Call&);
std::string div(const Call&);
std::string gelu(const Call&);
std::string gemm(const Call&);
std::string max(const Call&);
std::string min(const Call&);
std::string pow(const Call&);
std::string where(const Call&);

// shape.cpp
std::string constant_of_shape(const Call&);
std::string expand(const Call&);
std::string flatten(const Call&);
std::string range(const Call&);
std::string reshape(const Call&);
std::string shape(const Call&);
std::string squeeze(const Call&);
std::string transpose(const Call&);
std::string unsqueeze(const Call&);

// indexing.cpp
std::string gather(const Call&);
std::string pad(const Call&);
std::string split(const Call&);

// reduction.cpp
std::string reduce_max(const Call&);
std::string reduce_mean(const Call&);
std::string reduce_sum(const Call&);

// conv.cpp
std::string conv(const Call&);
std::string conv_transpose(const Call&);

// pool.cpp
std::string average_pool(const Call&);
std::string global_average_pool(const Call&);
std::string max_pool(const Call&);

// normalization.cpp
std::string batch_norm(const Call&);
std::string layer_norm(const Call&);

// loss.cpp
std::string cross_entropy(const Call&);
std::string nll_loss(const Call&);

// random.cpp
std::string dropout(const Call&);
std::string random_normal(const Call&);
std::string random_uniform(const Call&);

}  // namespace onward::emit::torch
