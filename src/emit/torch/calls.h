#pragma once

// The operators that take more than a pattern to write in PyTorch, each family in a file of its
// own. calls.cpp has the table.

#include <span>
#include <string>

#include "emit/call.h"

namespace onward::emit::torch {

std::span<const CallRow> calls();

// elementwise.cpp
std::string bit_cast(const Call& c);
std::string cast(const Call&);
std::string clip(const Call&);
std::string div(const Call&);
std::string gelu(const Call&);
std::string gemm(const Call&);
std::string is_inf(const Call&);
std::string max(const Call&);
std::string min(const Call&);
std::string mod(const Call&);
std::string pow(const Call&);
std::string selu(const Call&);
std::string where(const Call&);

// shape.cpp
std::string constant_of_shape(const Call&);
std::string expand(const Call&);
std::string flatten(const Call&);
std::string range(const Call&);
std::string reshape(const Call&);
std::string shape(const Call&);
std::string squeeze(const Call&);
std::string tile(const Call&);
std::string transpose(const Call&);
std::string unsqueeze(const Call&);

// indexing.cpp
std::string gather(const Call&);
std::string pad(const Call&);
std::string split(const Call&);

// matrix.cpp
std::string einsum(const Call&);
std::string eye_like(const Call&);
std::string trilu(const Call&);

// reduction.cpp
std::string arg_max(const Call&);
std::string arg_min(const Call&);
std::string reduce_log_sum_exp(const Call&);
std::string reduce_max(const Call&);
std::string reduce_mean(const Call&);
std::string reduce_min(const Call&);
std::string reduce_prod(const Call&);
std::string reduce_sum(const Call&);

// conv.cpp
std::string conv(const Call&);
std::string conv_transpose(const Call&);

// pool.cpp
std::string average_pool(const Call&);
std::string global_average_pool(const Call&);
std::string global_max_pool(const Call&);
std::string max_pool(const Call&);

// image.cpp
std::string depth_to_space(const Call&);
std::string non_max_suppression(const Call&);
std::string space_to_depth(const Call&);
std::string unique(const Call&);

// resize.cpp
std::string resize(const Call&);

// normalization.cpp
std::string batch_norm(const Call&);
std::string group_norm(const Call&);
std::string instance_norm(const Call&);
std::string layer_norm(const Call&);
std::string lrn(const Call&);
std::string_view refuse_even_size(const Node&);

// attention.cpp
std::string attention(const Call&);
/// Why a node is not what PyTorch's function computes.
std::string_view refuse_attention(const Node& node);

// loss.cpp
std::string cross_entropy(const Call&);
std::string nll_loss(const Call&);

// control_flow.cpp
void if_(const Node& node, Body& body);
void loop(const Node& node, Body& body);
void scan(const Node& node, Body& body);
void sequence_map(const Node& node, Body& body);

// sequence.cpp
std::string concat_from_sequence(const Call& c);
std::string split_to_sequence(const Call& c);

// recurrent.cpp
/// Never called: what is no layer is written in plainer operators.
std::string recurrent(const Call&);
/// Why a node is none of PyTorch's layers.
std::string_view refuse_recurrent(const Node& node);

// random.cpp
std::string dropout(const Call&);
std::string multinomial(const Call& c);
std::string random_normal(const Call&);
std::string random_uniform(const Call&);

}  // namespace onward::emit::torch
