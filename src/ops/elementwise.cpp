#include <cmath>
#include <numbers>

#include "ops/families.h"

namespace onward {
namespace {

/// A derivative as a function of the input x, the result y and the incoming dy.
template <Expr (*Rule)(Expr x, Expr y, Expr dy)>
Grads unary(const VjpContext& c) {
  return {Rule(c.input(0), c.output(0), c.grad(0))};
}

/// Derivatives by both inputs; the driver sums over broadcast dimensions.
template <Grads (*Rule)(Expr a, Expr b, Expr y, Expr dy)>
Grads binary(const VjpContext& c) {
  return Rule(c.input(0), c.input(1), c.output(0), c.grad(0));
}

/// `dy` where the condition holds, else zero.
Expr masked(Expr condition, Expr dy) { return where(condition, dy, zeros_like(dy)); }

Expr abs_rule(Expr x, Expr, Expr dy) { return dy * sign(x); }
Expr exp_rule(Expr, Expr y, Expr dy) { return dy * y; }
Expr identity_rule(Expr, Expr, Expr dy) { return dy; }
Expr log_rule(Expr x, Expr, Expr dy) { return dy / x; }
Expr neg_rule(Expr, Expr, Expr dy) { return -dy; }
Expr reciprocal_rule(Expr, Expr y, Expr dy) { return -(dy * y * y); }
Expr relu_rule(Expr x, Expr, Expr dy) { return masked(greater(x, zeros_like(x)), dy); }
Expr sigmoid_rule(Expr, Expr y, Expr dy) { return dy * y * (1 - y); }
Expr softplus_rule(Expr x, Expr, Expr dy) { return dy * sigmoid(x); }
Expr sqrt_rule(Expr, Expr y, Expr dy) { return dy / (2 * y); }
Expr tanh_rule(Expr, Expr y, Expr dy) { return dy * (1 - y * y); }
// d erf(x) = 2 / sqrt(pi) * exp(-x^2)
Expr erf_rule(Expr x, Expr, Expr dy) { return dy * (2 * std::numbers::inv_sqrtpi * exp(-(x * x))); }

/// A float attribute as the number that it is: attributes are float32, whatever the tensors are.
double number(const VjpContext& c, std::string_view name, float fallback) {
  return static_cast<double>(c.node().float_or(name, fallback));
}

Grads leaky_relu_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  return {where(greater(x, zeros_like(x)), dy, number(c, "alpha", 0.01F) * dy)};
}

// y = x Phi(x), with the normal distribution's Phi or an approximation of it by tanh. Where x is
// negative, 1 + erf cancels.
std::vector<Expr> gelu_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  if (c.node().string_or("approximate", "none") == "tanh") {
    const double scale = std::sqrt(2 / std::numbers::pi);
    return {0.5 * x * (1 + tanh(scale * (x + 0.044715 * (x * x * x))))};
  }
  const Expr scaled = x / std::numbers::sqrt2;
  return {0.5 * x * (1 + c.builder().add("Erf", {scaled.value()}, x.dtype()))};
}

// y = x min(relu(x + 3), 6) / 6. Its slope is 0 at -3 and 1 at 3, as in PyTorch and Keras.
std::vector<Expr> hard_swish_expansion(const ExpandContext& c) {
  const Expr x = c.input(0), six = c.builder().scalar(6, x.dtype());
  const Expr rising = c.builder().add("Relu", {(x + 3).value()}, x.dtype());
  return {x * where(less(rising, six), rising, six) / 6};
}

/// Passes inside of the limits and on them. Beyond, it is the limit's; the upper one's where the
/// two cross, since that wins.
Grads clip_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0), zero = zeros_like(dy);
  Grads grads = {dy, std::nullopt, std::nullopt};
  std::optional<Expr> raised = x;
  if (c.has_input(1)) {
    const Expr low = c.input(1), below = less(x, low);
    grads[0] = where(below, zero, *grads[0]);
    grads[1] = masked(below, dy);
    raised = c.builder().add("Max", values({x, low}), x.dtype());
  }
  if (c.has_input(2)) {
    const Expr high = c.input(2);
    grads[0] = where(greater(x, high), zero, *grads[0]);
    if (grads[1]) grads[1] = where(greater(c.input(1), high), zero, *grads[1]);
    grads[2] = masked(greater(*raised, high), dy);
  }
  return grads;
}

/// Each input takes the gradient where it is the result; inputs that tie share it.
Grads extremum_vjp(const VjpContext& c) {
  const Expr y = c.output(0), dy = c.grad(0);
  std::vector<Expr> chosen;
  for (size_t i = 0; i < c.node().inputs().size(); ++i) {
    chosen.push_back(cast(equal(c.input(i), y), dy.dtype()));
  }
  Expr count = chosen[0];
  for (size_t i = 1; i < chosen.size(); ++i) count = count + chosen[i];
  Grads grads;
  for (const Expr& each : chosen) grads.push_back(dy * each / count);
  return grads;
}

Grads sum_vjp(const VjpContext& c) { return Grads(c.node().inputs().size(), c.grad(0)); }

// d x^e = e x^(e-1) dx + x^e log(x) de. A power of zero has no slope in e, and x^0 none in x.
Grads pow_rule(Expr x, Expr e, Expr y, Expr dy) {
  const Expr exponent = cast(e, x.dtype());
  const Expr dx = dy * exponent * pow(x, exponent - 1);
  Grads grads = {where(equal(exponent, zeros_like(exponent)), zeros_like(dy), dx)};
  if (is_float(e.dtype())) {
    const Expr de = dy * y * log(x);
    grads.push_back(cast(where(equal(x, zeros_like(x)), zeros_like(dy), de), e.dtype()));
  }
  return grads;
}

Grads where_vjp(const VjpContext& c) {
  const Expr condition = c.input(0), dy = c.grad(0), zero = zeros_like(dy);
  return {std::nullopt, where(condition, dy, zero), where(condition, zero, dy)};
}

Grads cast_vjp(const VjpContext& c) {
  if (!is_float(c.input(0).dtype()) || !is_float(c.output(0).dtype())) return {};
  return {cast(c.grad(0), c.input(0).dtype())};
}

std::vector<Expr> mean_expansion(const ExpandContext& c) {
  std::vector<Value*> all;
  for (size_t i = 0; i < c.node().inputs().size(); ++i) all.push_back(c.input(i).value());
  const Expr total = c.builder().add("Sum", all, c.input(0).dtype());
  return {total / static_cast<double>(all.size())};
}

/// The type that it casts to is known long before it runs.
std::vector<Expr> cast_like_expansion(const ExpandContext& c) {
  const DType to = c.input(1).dtype();
  std::vector<NamedAttribute> attributes = {{"to", static_cast<int64_t>(to)}};
  if (const auto* saturate = c.node().get<int64_t>("saturate")) {
    attributes.push_back({"saturate", *saturate});
  }
  if (const auto* mode = c.node().get<std::string>("round_mode")) {
    attributes.push_back({"round_mode", *mode});
  }
  return {c.builder().add("Cast", {c.node().input(0)}, to, attributes)};
}

// y = a - q b, whose quotient q goes in steps: it is rounded down, or towards zero.
Grads mod_vjp(const VjpContext& c) {
  const Expr a = c.input(0), b = c.input(1), dy = c.grad(0), quotient = a / b;
  const auto rounded = [&](std::string_view op) {
    return c.builder().add(op, {quotient.value()}, a.dtype());
  };
  const Expr zero = c.builder().scalar(0, a.dtype()), down = rounded("Floor");
  const bool to_zero = c.attribute("fmod", 0) != 0;
  const Expr q = to_zero ? where(less(quotient, zero), rounded("Ceil"), down) : down;
  return {dy, -(dy * q)};
}

Grads add_rule(Expr, Expr, Expr, Expr dy) { return {dy, dy}; }
Grads sub_rule(Expr, Expr, Expr, Expr dy) { return {dy, -dy}; }
Grads mul_rule(Expr a, Expr b, Expr, Expr dy) { return {dy * b, dy * a}; }
Grads div_rule(Expr, Expr b, Expr y, Expr dy) { return {dy / b, -(dy * y / b)}; }

constexpr std::string_view kTruth = "its result is true or false";
constexpr std::string_view kSteps = "its result is constant but for steps";

const OpDef kElementwiseOps[] = {
    {.name = "Abs", .vjp = unary<abs_rule>, .range = ranges::absolute},
    {.name = "Erf", .vjp = unary<erf_rule>},
    {.name = "Exp", .vjp = unary<exp_rule>, .range = ranges::exponential},
    {.name = "Identity", .vjp = unary<identity_rule>, .traits = kView, .range = ranges::same_range},
    {.name = "Log", .vjp = unary<log_rule>, .range = ranges::logarithm},
    {.name = "Neg", .vjp = unary<neg_rule>, .range = ranges::neg},
    {.name = "Reciprocal", .vjp = unary<reciprocal_rule>, .range = ranges::reciprocal},
    {.name = "Relu", .vjp = unary<relu_rule>, .range = ranges::relu},
    {.name = "Sigmoid", .vjp = unary<sigmoid_rule>, .range = ranges::truth},
    {.name = "Softplus", .vjp = unary<softplus_rule>},
    {.name = "Sqrt", .vjp = unary<sqrt_rule>, .range = ranges::root},
    {.name = "Tanh", .vjp = unary<tanh_rule>, .range = ranges::sign_like},
    {.name = "Add", .vjp = binary<add_rule>, .traits = kBroadcasts, .range = ranges::add},
    {.name = "Sub", .vjp = binary<sub_rule>, .traits = kBroadcasts, .range = ranges::sub},
    {.name = "Mul", .vjp = binary<mul_rule>, .traits = kBroadcasts, .range = ranges::mul},
    {.name = "Div", .vjp = binary<div_rule>, .traits = kBroadcasts, .range = ranges::div},
    {.name = "Cast",
     .vjp = cast_vjp,
     .traits = kKeepsSameType | kMovesData,
     .range = ranges::same_range},
    {.name = "CastLike",
     .expansion = cast_like_expansion,
     .traits = kKeepsSameType | kMovesData,
     .inputs = {In::data, In::setting}},
    {.name = "Clip",
     .vjp = clip_vjp,
     .traits = kBroadcasts,
     .inputs = {In::data, In::setting},
     .range = ranges::hull_rule},
    {.name = "Gelu", .expansion = in_float32<gelu_expansion>},
    {.name = "HardSwish", .expansion = in_float32<hard_swish_expansion>},
    {.name = "LeakyRelu", .vjp = leaky_relu_vjp},
    {.name = "Max", .vjp = extremum_vjp, .traits = kBroadcasts, .range = ranges::largest},
    {.name = "Mean",
     .expansion = in_float32<mean_expansion>,
     .traits = kBroadcasts,
     .range = ranges::hull_rule},
    {.name = "Min", .vjp = extremum_vjp, .traits = kBroadcasts, .range = ranges::smallest},
    {.name = "Mod", .vjp = mod_vjp, .traits = kBroadcasts},
    {.name = "Pow", .vjp = binary<pow_rule>, .traits = kBroadcasts, .range = ranges::power},
    {.name = "Sum", .vjp = sum_vjp, .traits = kBroadcasts, .range = ranges::add},
    {.name = "Where",
     .vjp = where_vjp,
     .traits = kBroadcasts,
     .inputs = {In::setting, In::data},
     .range = ranges::branches},
    {.name = "And", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Ceil", .no_gradient = kSteps},
    {.name = "Equal", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Floor", .no_gradient = kSteps},
    {.name = "Greater", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "GreaterOrEqual",
     .traits = kBroadcasts,
     .range = ranges::truth,
     .no_gradient = kTruth},
    {.name = "IsInf", .range = ranges::truth, .no_gradient = kTruth},
    {.name = "IsNaN", .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Less", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "LessOrEqual", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Not", .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Or", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
    {.name = "Round", .no_gradient = kSteps},
    {.name = "Sign", .range = ranges::sign_like, .no_gradient = kSteps},
    {.name = "Xor", .traits = kBroadcasts, .range = ranges::truth, .no_gradient = kTruth},
};

}  // namespace

OpFamily elementwise_ops() { return {kElementwiseOps, kElementwise}; }

}  // namespace onward
