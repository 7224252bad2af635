// Activations. Where one bends, its slope is PyTorch's; NaN stays NaN unless a formula says what
// else it is.

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

/// A float attribute as the number that it is: attributes are float32, whatever the tensors are.
double setting(const ExpandContext& c, std::string_view name, float fallback) {
  return static_cast<double>(c.node().float_or(name, fallback));
}

Expr relu(Expr x) { return x.builder().add("Relu", {x.value()}, x.dtype()); }
/// e^x - 1 without what cancels near zero: tanh(x / 2) (e^x + 1).
Expr exp_minus_one(Expr x) { return tanh(x / 2) * (exp(x) + 1); }

/// x above zero, scale (e^(x / width) - 1) elsewhere, whose slope is that at zero too. What is
/// above is kept out of the exponential, whose gradient would be infinite times nothing.
Expr exponential_unit(Expr x, double scale, double width) {
  const Expr zero = x.builder().scalar(0, x.dtype()), positive = greater(x, zero);
  const Expr rest = where(positive, zero, x);
  const Expr bent = exp_minus_one(width == 1 ? rest : rest / width);
  return where(positive, x, scale == 1 ? bent : scale * bent);
}

std::vector<Expr> elu_expansion(const ExpandContext& c) {
  return {exponential_unit(c.input(0), setting(c, "alpha", 1), 1)};
}

std::vector<Expr> celu_expansion(const ExpandContext& c) {
  const double alpha = setting(c, "alpha", 1);
  return {exponential_unit(c.input(0), alpha, alpha)};
}

std::vector<Expr> selu_expansion(const ExpandContext& c) {
  const Expr unit =
      exponential_unit(c.input(0), setting(c, "alpha", 1.67326319217681884765625F), 1);
  return {setting(c, "gamma", 1.05070102214813232421875F) * unit};
}

// y = max(0, min(1, alpha x + beta)), flat at both ends.
std::vector<Expr> hard_sigmoid_expansion(const ExpandContext& c) {
  const Expr x = c.input(0), one = c.builder().scalar(1, x.dtype());
  const Expr rising = relu(setting(c, "alpha", 0.2F) * x + setting(c, "beta", 0.5F));
  return {where(greater_or_equal(rising, one), one, rising)};
}

// y = x tanh(log(1 + e^x))
std::vector<Expr> mish_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  return {x * tanh(c.builder().add("Softplus", {x.value()}, x.dtype()))};
}

/// x sigmoid(alpha x)
Expr swish(Expr x, double alpha) { return x * sigmoid(alpha == 1 ? x : alpha * x); }

std::vector<Expr> swish_expansion(const ExpandContext& c) {
  return {swish(c.input(0), setting(c, "alpha", 1))};
}

std::vector<Expr> swiglu_expansion(const ExpandContext& c) {
  return {swish(c.input(0), setting(c, "alpha", 1)) * c.input(1)};
}

std::vector<Expr> softsign_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  return {x / (1 + c.builder().add("Abs", {x.value()}, x.dtype()))};
}

// y = x above alpha, 0 elsewhere, which NaN is.
std::vector<Expr> thresholded_relu_expansion(const ExpandContext& c) {
  const Expr x = c.input(0), alpha = c.builder().scalar(setting(c, "alpha", 1), x.dtype());
  return {where(greater(x, alpha), x, c.builder().scalar(0, x.dtype()))};
}

// y = slope x below zero, x elsewhere. At zero the slope counts.
Grads prelu_vjp(const VjpContext& c) {
  const Expr x = c.input(0), slope = c.input(1), dy = c.grad(0), zero = zeros_like(x);
  return {where(greater(x, zero), dy, slope * dy), where(less(x, zero), x * dy, zero)};
}

// y = x + bias below -lambd, x - bias above lambd, 0 elsewhere, which NaN is.
std::vector<Expr> shrink_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  if (!is_float(x.dtype())) throw Error("it adds fractions to integers");
  const double bias = setting(c, "bias", 0), lambd = setting(c, "lambd", 0.5F);
  const auto number = [&](double value) { return c.builder().scalar(value, x.dtype()); };
  const Expr above = where(greater(x, number(lambd)), x - bias, number(0));
  return {where(less(x, number(-lambd)), x + bias, above)};
}

const OpDef kActivationOps[] = {
    {.name = "Celu", .expansion = celu_expansion},
    {.name = "Elu", .expansion = elu_expansion},
    {.name = "HardSigmoid",
     .expansion = in_float32<hard_sigmoid_expansion>,
     .range = ranges::truth},
    {.name = "Mish", .expansion = mish_expansion},
    {.name = "PRelu",
     .vjp = prelu_vjp,
     .traits = kBroadcastsToFirst,
     .inputs = {In::data, In::slope}},
    {.name = "Selu", .expansion = selu_expansion},
    {.name = "Shrink", .expansion = shrink_expansion},
    {.name = "Softsign", .expansion = softsign_expansion, .range = ranges::sign_like},
    {.name = "SwiGLU", .expansion = swiglu_expansion},
    {.name = "Swish", .expansion = swish_expansion},
    {.name = "ThresholdedRelu", .expansion = thresholded_relu_expansion},
};

}  // namespace

OpFamily activation_ops() { return {kActivationOps, kElementwise}; }

}  // namespace onward
