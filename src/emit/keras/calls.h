#pragma once

// The operators that Keras writes in its own way, not as NumPy would, each family in a file of its
// own. calls.cpp has the table.

#include <span>
#include <string>

#include "emit/call.h"

namespace onward::emit::keras {

std::span<const CallRow> calls();

// conv.cpp
std::string conv(const Call&);
std::string conv_transpose(const Call&);

// loss.cpp
std::string cross_entropy(const Call&);
std::string nll_loss(const Call&);

// elementwise.cpp
std::string gelu(const Call&);

// shape.cpp
std::string expand(const Call&);
std::string flatten(const Call&);
std::string gather(const Call&);
std::string range(const Call&);
std::string reshape(const Call&);
std::string shape(const Call&);

// image.cpp
std::string depth_to_space(const Call&);
std::string gathered_slices(const Call&);
std::string scattered_elements(const Call&);
std::string scattered_slices(const Call&);
std::string space_to_depth(const Call&);

// normalization.cpp
std::string batch_norm(const Call&);
std::string layer_norm(const Call&);

// pool.cpp
std::string average_pool(const Call&);
std::string global_max_pool(const Call&);
std::string max_pool(const Call&);

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
/// Why a node is none of Keras's layers.
std::string_view refuse_recurrent(const Node& node);

// random.cpp
std::string dropout(const Call&);
std::string multinomial(const Call& c);
std::string random_normal(const Call&);
std::string random_uniform(const Call&);

}  // namespace onward::emit::keras
