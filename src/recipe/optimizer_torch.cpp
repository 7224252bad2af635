// The optimizers of torch.optim. Their numbers are Python floats: what is computed from the
// learning rate and the step count is computed in f64 here too, and rounded where a tensor meets
// it. Slots have the names that a state_dict gives them.

#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

using Parameters = std::span<const ParameterGradient>;

/// g + weight_decay p
Expr decayed_gradient(ParameterUpdate& u, double decay) {
  if (decay == 0) return u.gradient();
  return u.gradient() + u.number("weight_decay", decay) * u.parameter();
}

// g' = g + weight_decay p;  p_new = p - lr g'
// With momentum: buf_new = momentum buf + (1 - dampening) g', but g' in the first step;
//   p_new = p - lr buf_new, or with Nesterov's look ahead p - lr (g' + momentum buf_new)
OptimizerState sgd(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  // Without dampening a buffer of zeros gives the first step by itself; torch counts none either.
  std::optional<Expr> first_step;
  if (s.kind == OptimizerKind::momentum && s.dampening != 0) {
    first_step = equal(parts.count_steps("step"), parts.number("zero", 0, DType::i64));
  }
  Rounded rate(parts.learning_rate());
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    Expr g = decayed_gradient(u, s.weight_decay);
    if (s.kind != OptimizerKind::sgd) {
      const Expr buffer = u.slot("momentum_buffer"), momentum = u.number("momentum", s.momentum);
      const Expr next =
          first_step
              ? where(*first_step, g,
                      momentum * buffer + u.number("one_minus_dampening", 1 - s.dampening) * g)
              : momentum * buffer + g;
      u.set(buffer, next);
      g = s.kind == OptimizerKind::nesterov ? g + momentum * next : next;
    }
    u.set_parameter(u.parameter() - u.rounded(rate) * g);
    state.slots.push_back(u.slots());
  }
  return state;
}

/// torch.lerp, which takes the other of two equal formulas from one half on.
Expr lerp(ParameterUpdate& u, Expr from, Expr to, double weight) {
  if (weight < 0.5) return from + u.number("one_minus_beta1", weight) * (to - from);
  return to - (to - from) * u.number("lerp_beta1", 1 - weight);
}

// t = step + 1;  adam: g' = g + weight_decay p;  adamw: p' = p (1 - lr weight_decay)
// m_new = m + (1 - beta1) (g' - m);  v_new = beta2 v + (1 - beta2) g'^2
// p_new = p' - lr / (1 - beta1^t) m_new / (sqrt(v_new) / sqrt(1 - beta2^t) + epsilon)
OptimizerState adam(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  const bool decoupled = s.kind == OptimizerKind::adamw;
  parts.count_steps("step");
  const Expr t = cast(parts.steps_with_this(), DType::f64);
  const Expr one = parts.number("one", 1, DType::f64);
  const auto bias_correction = [&](const std::string& name, double beta) {
    return one - pow(parts.number(name, beta, DType::f64), t);
  };
  Rounded step_size(parts.learning_rate() / bias_correction("beta1", s.beta1));
  Rounded correction(sqrt(bias_correction("beta2", s.beta2)));
  std::optional<Rounded> kept;
  if (decoupled && s.weight_decay != 0) {
    kept.emplace(one -
                 parts.learning_rate() * parts.number("weight_decay", s.weight_decay, DType::f64));
  }
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    const Expr g = decayed_gradient(u, decoupled ? 0 : s.weight_decay);
    const Expr p = kept ? u.parameter() * u.rounded(*kept) : u.parameter();
    const Expr m = u.slot("exp_avg"), v = u.slot("exp_avg_sq");
    const Expr m_new = lerp(u, m, g, 1 - s.beta1);
    const Expr v_new =
        u.number("beta2", s.beta2) * v + u.number("one_minus_beta2", 1 - s.beta2) * g * g;
    const Expr deviation = sqrt(v_new) / u.rounded(correction) + u.number("epsilon", s.epsilon);
    u.set_parameter(p - u.rounded(step_size) * m_new / deviation);
    u.set(m, m_new);
    u.set(v, v_new);
    state.slots.push_back(u.slots());
  }
  return state;
}

// g' = g + weight_decay p;  sum_new = sum + g'^2
// p_new = p - lr / (1 + step rate_decay) g' / (sqrt(sum_new) + epsilon)
OptimizerState adagrad(StepParts& parts, Parameters parameters) {
  const OptimizerSettings& s = parts.settings();
  const Expr steps = parts.count_steps("step");
  Expr rate = parts.learning_rate();
  if (s.rate_decay != 0) {
    rate = rate / (parts.number("one", 1, DType::f64) +
                   cast(steps, DType::f64) * parts.number("rate_decay", s.rate_decay, DType::f64));
  }
  Rounded step_size(rate);
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    const Expr g = decayed_gradient(u, s.weight_decay);
    const Expr sum = u.slot("sum", s.initial_accumulator);
    const Expr sum_new = sum + g * g;
    u.set_parameter(u.parameter() -
                    u.rounded(step_size) * g / (sqrt(sum_new) + u.number("epsilon", s.epsilon)));
    u.set(sum, sum_new);
    state.slots.push_back(u.slots());
  }
  return state;
}

}  // namespace

OptimizerState write_torch_optimizer(Algorithm& algorithm, const OptimizerSettings& settings,
                                     Parameters parameters) {
  StepParts parts(algorithm, settings, DType::f64);
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
