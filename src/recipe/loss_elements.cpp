// Losses of labels that are like the prediction. x is the prediction, z the label.

#include <cmath>

#include "recipe/algorithm.h"
#include "recipe/loss_formulas.h"

namespace onward {
namespace {

Expr sum_over_last(Expr x, bool keeps) {
  const Expr axes = x.builder().integers({-1});
  return x.builder().add("ReduceSum", values({x, axes}), x.dtype(), {{"keepdims", int64_t{keeps}}});
}

/// z a + (1 - z) b
Expr mixed(const LossParts& parts, Expr z, Expr a, Expr b) {
  return z * a + (parts.number(z, "one", 1) - z) * b;
}

}  // namespace

Expr squared_error(const LossParts&, Expr x, Expr z) {
  const Expr difference = x - z;
  return difference * difference;
}

// Abs has the derivative 0 at 0, as in both frameworks.
Expr absolute_error(const LossParts&, Expr x, Expr z) { return abs(x - z); }

// d^2 / (2 beta) where |d| is below beta, else |d| - beta / 2
Expr smooth_l1(const LossParts& parts, Expr x, Expr z) {
  const Expr difference = x - z, size = abs(difference);
  const double beta = parts["beta"];
  if (beta == 0) return size;
  const Expr limit = parts.number(x, "beta", beta), half = parts.number(x, "half", 0.5);
  return where(less(size, limit), half * difference * difference / limit,
               size - parts.number(x, "half_beta", 0.5 * beta));
}

// d^2 / 2 where |d| is below delta, else delta (|d| - delta / 2)
Expr huber(const LossParts& parts, Expr x, Expr z) {
  const Expr difference = x - z, size = abs(difference);
  const Expr delta = parts.number(x, "delta", parts["delta"]);
  return where(less(size, delta), parts.number(x, "half", 0.5) * difference * difference,
               delta * (size - parts.number(x, "half_delta", 0.5 * parts["delta"])));
}

// -(z log p + (1 - z) log(1 - p)), in which no logarithm is below -100, as in torch; its derivative
// there is 0.
Expr binary_cross_entropy(const LossParts& parts, Expr p, Expr z) {
  const Expr one = parts.number(p, "one", 1);
  // e^-100, or what each type has above 0.
  const double least = p.dtype() == DType::f64   ? std::exp(-100.0)
                       : p.dtype() == DType::f16 ? 0x1p-24
                                                 : 0x1p-126;
  const auto logarithm = [&](Expr x) {
    const Expr is_small = less(x, parts.number(p, "least_probability", least));
    return where(is_small, parts.number(p, "least_logarithm", -100), log(where(is_small, one, x)));
  };
  return -mixed(parts, z, logarithm(p), logarithm(one - p));
}

// max(x, 0) - x z + log(1 + exp(-|x|)), with (x + |x|) / 2 for max(x, 0): so its derivative at 0,
// where a model that starts from zeros is, is the true one, 1/2 - z.
// With pos_weight w: (1 - z) x + (1 + (w - 1) z) (log(1 + exp(-|x|)) + max(-x, 0))
// Focal: times (1 - p)^gamma, where p is the probability of what z says, and times alpha where z is
// 1, 1 - alpha where it is 0.
Expr binary_cross_entropy_of_logits(const LossParts& parts, Expr x, Expr z) {
  const auto number = [&](const std::string& name, double value) {
    return parts.number(x, name, value);
  };
  const Expr magnitude = abs(x), tail = log(number("one", 1) + exp(-magnitude));
  const double weight = parts["pos_weight"], gamma = parts["focal_gamma"],
               alpha = parts["focal_alpha"];
  Expr each = (x + magnitude) * number("half", 0.5) - x * z + tail;
  if (weight != 1) {
    const Expr scale = number("one", 1) + number("pos_weight_minus_one", weight - 1) * z;
    each = (number("one", 1) - z) * x + scale * (tail + (magnitude - x) * number("half", 0.5));
  }
  if (gamma != 0) {
    const Expr p = sigmoid(x);
    // 1 - (z p + (1 - z) (1 - p)), with the sigmoid of -x for 1 - p, which is exact near 0.
    const Expr wrong = mixed(parts, z, sigmoid(-x), p);
    each = pow(wrong, number("focal_gamma", gamma)) * each;
  }
  if (alpha != 0) {
    each =
        each * mixed(parts, z, number("focal_alpha", alpha), number("one_minus_alpha", 1 - alpha));
  }
  return each;
}

// z (log z - x), where z log z is 0 at 0; of logarithms of labels: e^z (z - x)
Expr kl_divergence(const LossParts& parts, Expr logs, Expr z) {
  if (parts["log_target"] != 0) return exp(z) * (z - logs);
  const Expr zero = parts.number(z, "zero", 0);
  const Expr is_zero = equal(z, zero);
  const Expr own = z * log(where(is_zero, parts.number(z, "one", 1), z));
  return own - z * logs;
}

// e^x - z x; of rates that are no logarithms: x - z log(x + log_epsilon)
Expr poisson(const LossParts& parts, Expr x, Expr z) {
  if (parts["log_input"] != 0) return exp(x) - z * x;
  return x - z * log(x + parts.number(x, "log_epsilon", parts["log_epsilon"]));
}

// max(0, 1 - z x), of labels -1 and 1. On the kink it has the slope of 1 - z x, as in TensorFlow.
Expr hinge(const LossParts& parts, Expr x, Expr z) {
  const Expr zero = parts.number(x, "zero", 0), margin = parts.number(x, "one", 1) - z * x;
  return where(less(margin, zero), zero, margin);
}

Expr squared_hinge(const LossParts& parts, Expr x, Expr z) {
  const Expr each = hinge(parts, x, z);
  return each * each;
}

// -sum x/|x| z/|z| along the last dimension, where no |.| is below 1e-7
Expr cosine_similarity(const LossParts& parts, Expr x, Expr z) {
  const auto normalized = [&](Expr v) {
    const Expr square = sum_over_last(v * v, true);
    return v / sqrt(larger(square, parts.number(x, "least_square", 1e-14)));
  };
  return -sum_over_last(normalized(x) * normalized(z), false);
}

}  // namespace onward
