// The standard's optimizers, said in plain operators. Inputs are R (the rate), T (steps done before
// this one), then lists of as many tensors each as are trained.

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

double number(const ExpandContext& c, std::string_view name, float fallback) {
  return static_cast<double>(c.node().float_or(name, fallback));
}

/// A term that an attribute of zero takes out of the formula.
Expr with_norm(double norm, Expr x, Expr g) { return norm == 0 ? g : norm * x + g; }

/// How many tensors are trained, given how many lists follow R and T.
size_t trained(const ExpandContext& c, size_t lists) {
  const size_t tensors = c.node().inputs().size() - 2;
  if (c.node().inputs().size() < 2 || tensors % lists != 0) {
    throw Error("the lists of parameters, gradients and slots differ in length");
  }
  return tensors / lists;
}

/// Everything in the type of the tensor at hand: R may be of another.
struct Scalars {
  Expr rate;
  Expr steps;
};

Scalars scalars(const ExpandContext& c, Expr x) {
  return {cast(c.input(0), x.dtype()), cast(c.input(1), x.dtype())};
}

// G' = norm * X + G;  H_new = H + G'^2;  X_new = X - R / (1 + T * decay) * G' / (sqrt(H_new) +
// epsilon)
std::vector<Expr> adagrad(const ExpandContext& c) {
  const size_t n = trained(c, 3);
  const double decay = number(c, "decay_factor", 0), norm = number(c, "norm_coefficient", 0);
  const double eps = number(c, "epsilon", 1e-6F);
  std::vector<Expr> parameters, slots;
  for (size_t i = 0; i < n; ++i) {
    const Expr x = c.input(2 + i), h = c.input(2 + 2 * n + i);
    const auto [rate, steps] = scalars(c, x);
    const Expr g = with_norm(norm, x, c.input(2 + n + i));
    const Expr h_new = h + g * g;
    parameters.push_back(x - rate / (1 + steps * decay) * g / (sqrt(h_new) + eps));
    slots.push_back(h_new);
  }
  parameters.insert(parameters.end(), slots.begin(), slots.end());
  return parameters;
}

// G' = norm * X + G;  V_new = alpha V + (1 - alpha) G';  H_new = beta H + (1 - beta) G'^2
// R' = T > 0 ? R sqrt(1 - beta^T) / (1 - alpha^T) : R
// X_new = (1 - norm_post) * (X - R' V_new / (sqrt(H_new) + epsilon))
std::vector<Expr> adam(const ExpandContext& c) {
  const size_t n = trained(c, 4);
  const double alpha = number(c, "alpha", 0.9F), beta = number(c, "beta", 0.999F);
  const double norm = number(c, "norm_coefficient", 0), eps = number(c, "epsilon", 1e-6F);
  const double norm_post = number(c, "norm_coefficient_post", 0);
  std::vector<Expr> parameters, first, second;
  for (size_t i = 0; i < n; ++i) {
    const Expr x = c.input(2 + i), v = c.input(2 + 2 * n + i), h = c.input(2 + 3 * n + i);
    const auto [rate, steps] = scalars(c, x);
    Builder& b = c.builder();
    const Expr g = with_norm(norm, x, c.input(2 + n + i));
    const Expr v_new = alpha * v + (1 - alpha) * g;
    const Expr h_new = beta * h + (1 - beta) * (g * g);
    const Expr corrected = rate * sqrt(1 - pow(b.scalar(beta, x.dtype()), steps)) /
                           (1 - pow(b.scalar(alpha, x.dtype()), steps));
    const Expr started = greater(steps, b.scalar(0, x.dtype()));
    const Expr step = where(started, corrected, rate) * v_new / (sqrt(h_new) + eps);
    parameters.push_back(norm_post == 0 ? x - step : (1 - norm_post) * (x - step));
    first.push_back(v_new);
    second.push_back(h_new);
  }
  parameters.insert(parameters.end(), first.begin(), first.end());
  parameters.insert(parameters.end(), second.begin(), second.end());
  return parameters;
}

// G' = norm * X + G;  V_new = alpha V + beta' G' with beta' = 1 in the first step;
// X_new = X - R V_new, or with Nesterov's look ahead X - R (G' + alpha V_new)
std::vector<Expr> momentum(const ExpandContext& c) {
  const size_t n = trained(c, 3);
  const double alpha = number(c, "alpha", 0), beta = number(c, "beta", 0);
  const double norm = number(c, "norm_coefficient", 0);
  const bool nesterov = c.node().string_or("mode", "standard") == "nesterov";
  std::vector<Expr> parameters, slots;
  for (size_t i = 0; i < n; ++i) {
    const Expr x = c.input(2 + i), v = c.input(2 + 2 * n + i);
    const auto [rate, steps] = scalars(c, x);
    Builder& b = c.builder();
    const Expr g = with_norm(norm, x, c.input(2 + n + i));
    const Expr started = greater(steps, b.scalar(0, x.dtype()));
    const Expr factor = where(started, b.scalar(beta, x.dtype()), b.scalar(1, x.dtype()));
    const Expr v_new = alpha * v + factor * g;
    parameters.push_back(x - rate * (nesterov ? g + alpha * v_new : v_new));
    slots.push_back(v_new);
  }
  parameters.insert(parameters.end(), slots.begin(), slots.end());
  return parameters;
}

const OpDef kOptimizerOps[] = {
    {.name = "Adagrad", .domain = kTrainingDomain, .expansion = adagrad},
    {.name = "Adam", .domain = kTrainingDomain, .expansion = adam},
    {.name = "Momentum", .domain = kTrainingDomain, .expansion = momentum},
};

}  // namespace

std::span<const OpDef> optimizer_ops() { return kOptimizerOps; }

}  // namespace onward
