// The optimizers of Keras 3. All numbers are rounded to the parameter's type before anything is
// computed from them, and those that Keras converts with ops.cast to float32 first where its
// backend is TensorFlow. The decay of weights is apart from the gradient in every kind:
//   p' = p - p weight_decay lr
// Slots have the names that Keras gives their variables.

#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

using Parameters = std::span<const ParameterGradient>;

/// A number as ops.cast gives it.
double keras_cast(const OptimizerSettings& s, double number) {
  return s.float32_numbers ? static_cast<double>(static_cast<float>(number)) : number;
}

Expr decayed_parameter(ParameterUpdate& u, Rounded& rate, const OptimizerSettings& s) {
  const Expr p = u.parameter();
  if (s.weight_decay == 0) return p;
  return p - p * u.number("weight_decay", keras_cast(s, s.weight_decay)) * u.rounded(rate);
}

// p_new = p' - lr g
// With momentum: m_new = momentum m - lr g;  p_new = p' + m_new, or with Nesterov's look ahead
//   p' + (momentum m_new - lr g)
OptimizerState sgd(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  parts.count_steps("iterations");
  Rounded rate(parts.learning_rate());
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    const Expr p = decayed_parameter(u, rate, s);
    const Expr change = u.gradient() * u.rounded(rate);
    if (s.kind == OptimizerKind::sgd) {
      u.set_parameter(p - change);
    } else {
      const Expr m = u.slot("momentum"), momentum = u.number("momentum", keras_cast(s, s.momentum));
      const Expr m_new = m * momentum - change;
      u.set_parameter(s.kind == OptimizerKind::nesterov ? p + (m_new * momentum - change)
                                                        : p + m_new);
      u.set(m, m_new);
    }
    state.slots.push_back(u.slots());
  }
  return state;
}

/// lr sqrt(1 - beta2^t) / (1 - beta1^t) in the type of the parameter.
Expr corrected_rate(StepParts& parts, Rounded& rate, DType dtype) {
  const OptimizerSettings& s = parts.settings();
  const Expr t = cast(parts.steps_with_this(), dtype), one = parts.number("one", 1, dtype);
  const Expr power1 = pow(parts.number("beta1", keras_cast(s, s.beta1), dtype), t);
  const Expr power2 = pow(parts.number("beta2", keras_cast(s, s.beta2), dtype), t);
  return rate.to(dtype) * sqrt(one - power2) / (one - power1);
}

// t = iterations + 1;  alpha = lr sqrt(1 - beta2^t) / (1 - beta1^t)
// m_new = m + (g - m) (1 - beta1);  v_new = v + (g^2 - v) (1 - beta2)
// p_new = p' - m_new alpha / (sqrt(v_new) + epsilon)
OptimizerState adam(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  parts.count_steps("iterations");
  Rounded rate(parts.learning_rate());
  std::map<DType, Expr> alphas;
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    const DType dtype = each.parameter->type.dtype;
    if (!alphas.contains(dtype)) alphas.emplace(dtype, corrected_rate(parts, rate, dtype));
    ParameterUpdate u(parts, each);
    const Expr p = decayed_parameter(u, rate, s);
    const Expr g = u.gradient(), m = u.slot("momentum"), v = u.slot("velocity");
    const Expr m_new = m + (g - m) * u.number("one_minus_beta1", 1 - s.beta1);
    const Expr v_new = v + (g * g - v) * u.number("one_minus_beta2", 1 - s.beta2);
    u.set_parameter(p - m_new * alphas.at(dtype) / (sqrt(v_new) + u.number("epsilon", s.epsilon)));
    u.set(m, m_new);
    u.set(v, v_new);
    state.slots.push_back(u.slots());
  }
  return state;
}

// a_new = a + g^2;  p_new = p' - lr g / sqrt(a_new + epsilon)
OptimizerState adagrad(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  parts.count_steps("iterations");
  Rounded rate(parts.learning_rate());
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    const Expr p = decayed_parameter(u, rate, s);
    const Expr g = u.gradient(), a = u.slot("accumulator", keras_cast(s, s.initial_accumulator));
    const Expr a_new = a + g * g;
    u.set_parameter(p - g * u.rounded(rate) / sqrt(a_new + u.number("epsilon", s.epsilon)));
    u.set(a, a_new);
    state.slots.push_back(u.slots());
  }
  return state;
}

}  // namespace

OptimizerState write_keras_optimizer(Algorithm& algorithm, const OptimizerSettings& settings,
                                     Parameters parameters) {
  StepParts parts(algorithm, settings, parameters[0].parameter->type.dtype);
  switch (settings.kind) {
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return adam(parts, parameters);
    case OptimizerKind::adagrad:
      return adagrad(parts, parameters);
    default:
      return sgd(parts, parameters);
  }
}

}  // namespace onward
