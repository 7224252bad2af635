#pragma once

// Expressions that dialects have in common but for a word or two, and calls of helpers that all of
// them have.

#include <string>
#include <string_view>

#include "emit/call.h"

namespace onward::emit {

/// Max or Min. Inputs that tie share the gradient equally, whatever a framework's own function of
/// two tensors does: `shares` says that it does so.
struct Extremum {
  std::string_view of_two;
  bool shares;
  std::string_view of_all;  // ours
};

std::string extremum(const Call& c, const Extremum& words);

/// Where: a function of a condition and two choices.
std::string chosen(const Call& c, std::string_view function);

/// alpha * (a @ b) + beta * c, without the factors that are one; patterns of the transposed matrix
/// and of the product.
std::string gemm(const Call& c, std::string_view transposed, std::string_view product);

std::string sum(const Call& c);
/// A Constant that is no known tensor.
std::string constant(const Call& c);

std::string one_hot(const Call& c);
std::string sliced(const Call& c);
/// A Pad of any mode.
std::string padded(const Call& c);
std::string batch_norm_in_training(const Call& c);
/// QuantizeLinear.
std::string quantized(const Call& c);

/// ", weight=w, ignore_index=-1, reduction=\"sum\"" of a loss, without what is the default.
std::string loss_options(const Call& c);
/// The loss, with the log probabilities where the node gives them.
std::string with_log_prob(const Call& c, const std::string& loss, const std::string& log_prob);

// By helpers.
std::string bit_shift(const Call& c);
std::string cum_prod(const Call& c);
std::string cum_sum(const Call& c);
std::string hardmax(const Call& c);

/// A call of a function like NumPy's einsum.
std::string einsum(const Call& c, std::string_view function);

/// Why a Swish of another slope is not called but written in plainer operators.
std::string_view refuse_alpha(const Node& node);
/// Why a ConvTranspose is not called but written in plainer operators.
std::string_view refuse_output_shape(const Node& node);

}  // namespace onward::emit
