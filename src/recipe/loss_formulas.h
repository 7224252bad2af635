#pragma once

// The formulas of losses: what rows of the table are made of.

#include "recipe/loss_def.h"

namespace onward {

// Of classes: all of the loss, by nodes that take the mean themselves.
Expr softmax_cross_entropy(const LossParts&, Expr logits, Expr label);
Expr negative_log_likelihood(const LossParts&, Expr logs, Expr label);

// Of labels like the prediction: the loss of each element, or of each row.
Expr squared_error(const LossParts&, Expr x, Expr z);
Expr absolute_error(const LossParts&, Expr x, Expr z);
Expr smooth_l1(const LossParts&, Expr x, Expr z);
Expr huber(const LossParts&, Expr x, Expr z);
Expr binary_cross_entropy(const LossParts&, Expr p, Expr z);
Expr binary_cross_entropy_of_logits(const LossParts&, Expr x, Expr z);
Expr categorical_cross_entropy(const LossParts&, Expr logits, Expr shares);
Expr kl_divergence(const LossParts&, Expr logs, Expr z);
Expr poisson(const LossParts&, Expr x, Expr z);
Expr hinge(const LossParts&, Expr x, Expr z);
Expr squared_hinge(const LossParts&, Expr x, Expr z);
Expr cosine_similarity(const LossParts&, Expr x, Expr z);

}  // namespace onward
