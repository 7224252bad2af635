// The optimizers of torch.optim. Their numbers are Python floats: what is computed from the
// learning rate and the step count is computed in f64 here too, and rounded where a tensor meets
// it. Slots have the names that a state_dict gives them.

#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

/// g + weight_decay p
Expr decayed_gradient(ParameterUpdate& u) {
  if (!u.settings().is_on("weight_decay")) return u.gradient();
  return u.gradient() + u.number("weight_decay") * u.parameter();
}

// g' = g + weight_decay p;  p_new = p - lr g'
UpdateParameter sgd(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u);
    u.set_parameter(u.parameter() - u.rounded(rate) * g);
  };
}

// buf_new = momentum buf + (1 - dampening) g', but g' in the first step;
//   p_new = p - lr buf_new, or with Nesterov's look ahead p - lr (g' + momentum buf_new)
UpdateParameter momentum(StepParts& step, bool nesterov) {
  // Without dampening a buffer of zeros gives the first step by itself; torch counts none either.
  std::optional<Expr> first_step;
  if (step.settings().is_on("dampening")) {
    first_step = equal(step.steps(), step.number("zero", 0, DType::i64));
  }
  return [=, rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u);
    const Expr buffer = u.slot("momentum_buffer"), momentum = u.number("momentum");
    const Expr next =
        first_step ? where(*first_step, g,
                           momentum * buffer +
                               u.number("one_minus_dampening", 1 - u.settings()["dampening"]) * g)
                   : momentum * buffer + g;
    u.set(buffer, next);
    const Expr change = nesterov ? g + momentum * next : next;
    u.set_parameter(u.parameter() - u.rounded(rate) * change);
  };
}

UpdateParameter plain_momentum(StepParts& step) { return momentum(step, false); }
UpdateParameter nesterov(StepParts& step) { return momentum(step, true); }

/// torch.lerp by one minus a setting, which takes the other of two equal formulas from one half on.
Expr lerp(ParameterUpdate& u, Expr from, Expr to, const std::string& setting) {
  const double weight = 1 - u.settings()[setting];
  if (weight < 0.5) return from + u.number("one_minus_" + setting, weight) * (to - from);
  return to - (to - from) * u.number("lerp_" + setting, 1 - weight);
}

// t = step + 1;  adam: g' = g + weight_decay p;  adamw: p' = p (1 - lr weight_decay)
// m_new = m + (1 - beta1) (g' - m);  v_new = beta2 v + (1 - beta2) g'^2
// p_new = p' - lr / (1 - beta1^t) m_new / (sqrt(v_new) / sqrt(1 - beta2^t) + epsilon)
UpdateParameter adam(StepParts& step, bool decoupled) {
  const OptimizerSettings& s = step.settings();
  const Expr t = cast(step.steps_with_this(), DType::f64);
  const Expr one = step.number("one", 1, DType::f64);
  const auto bias_correction = [&](const std::string& name) {
    return one - pow(step.number(name, s[name], DType::f64), t);
  };
  Rounded step_size(step.learning_rate() / bias_correction("beta1"));
  Rounded correction(sqrt(bias_correction("beta2")));
  std::optional<Rounded> kept;
  if (decoupled && s.is_on("weight_decay")) {
    kept.emplace(one -
                 step.learning_rate() * step.number("weight_decay", s["weight_decay"], DType::f64));
  }
  return [=, &s](ParameterUpdate& u) mutable {
    const Expr g = decoupled ? u.gradient() : decayed_gradient(u);
    const Expr p = kept ? u.parameter() * u.rounded(*kept) : u.parameter();
    const Expr m = u.slot("exp_avg"), v = u.slot("exp_avg_sq");
    const Expr m_new = lerp(u, m, g, "beta1");
    const Expr v_new = u.number("beta2") * v + u.number("one_minus_beta2", 1 - s["beta2"]) * g * g;
    const Expr deviation = sqrt(v_new) / u.rounded(correction) + u.number("epsilon");
    u.set_parameter(p - u.rounded(step_size) * m_new / deviation);
    u.set(m, m_new);
    u.set(v, v_new);
  };
}

UpdateParameter coupled_adam(StepParts& step) { return adam(step, false); }
UpdateParameter adamw(StepParts& step) { return adam(step, true); }

// g' = g + weight_decay p;  sum_new = sum + g'^2
// p_new = p - lr / (1 + step rate_decay) g' / (sqrt(sum_new) + epsilon)
UpdateParameter adagrad(StepParts& step) {
  Expr rate = step.learning_rate();
  if (step.settings().is_on("rate_decay")) {
    rate = rate / (step.number("one", 1, DType::f64) +
                   cast(step.steps(), DType::f64) *
                       step.number("rate_decay", step.settings()["rate_decay"], DType::f64));
  }
  return [step_size = Rounded(rate)](ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u);
    const Expr sum = u.slot("sum");
    const Expr sum_new = sum + g * g;
    u.set_parameter(u.parameter() -
                    u.rounded(step_size) * g / (sqrt(sum_new) + u.number("epsilon")));
    u.set(sum, sum_new);
  };
}

// g' = g + weight_decay p;  v_new = rho v + (1 - rho) g'^2
// centered: a_new = a + (1 - rho) (g' - a), and v_new - a_new^2 in place of v_new below
// h = g' / (sqrt(v_new) + epsilon);  p_new = p - lr h
// With momentum: buf_new = momentum buf + h;  p_new = p - lr buf_new
UpdateParameter rmsprop(StepParts& step) {
  const OptimizerSettings& s = step.settings();
  return [&s, rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u);
    const Expr v = u.slot("square_avg");
    const Expr v_new = u.number("rho") * v + u.number("one_minus_rho", 1 - s["rho"]) * g * g;
    u.set(v, v_new);
    Expr variance = v_new;
    if (s.is_on("centered")) {
      const Expr a = u.slot("grad_avg"), a_new = lerp(u, a, g, "rho");
      u.set(a, a_new);
      variance = v_new - a_new * a_new;
    }
    const Expr deviation = sqrt(variance) + u.number("epsilon");
    if (!s.is_on("momentum")) {
      u.set_parameter(u.parameter() - u.rounded(rate) * g / deviation);
      return;
    }
    const Expr buffer = u.slot("momentum_buffer");
    const Expr next = u.number("momentum") * buffer + g / deviation;
    u.set(buffer, next);
    u.set_parameter(u.parameter() - u.rounded(rate) * next);
  };
}

SettingDef rate(double preset) {
  return {.name = "learning_rate", .preset = preset, .option = "lr"};
}
SettingDef weight_decay(double preset = 0) {
  return {.name = "weight_decay", .preset = preset, .option = "weight_decay"};
}
SettingDef epsilon(double preset) { return {.name = "epsilon", .preset = preset, .option = "eps"}; }
constexpr SettingDef kMomentum = {
    .name = "momentum", .preset = 0.9, .range = SettingRange::fraction, .option = "momentum"};
constexpr SettingDef kBeta1 = {
    .name = "beta1", .preset = 0.9, .range = SettingRange::fraction, .option = "betas[0]"};
constexpr SettingDef kBeta2 = {
    .name = "beta2", .preset = 0.999, .range = SettingRange::fraction, .option = "betas[1]"};

}  // namespace

std::vector<OptimizerDef> torch_optimizers() {
  return {
      {.name = "sgd",
       .settings = {rate(1e-3), weight_decay()},
       .update = sgd,
       .classes = {{"SGD"}},
       .idle = {"dampening"},  // without momentum nothing is dampened
       .counts_itself = false},
      {.name = "momentum",
       .settings = {rate(1e-3),
                    weight_decay(),
                    kMomentum,
                    {.name = "dampening", .range = SettingRange::finite, .option = "dampening"}},
       .slots = {{"momentum_buffer"}},
       .counter = "step",
       .counter_with = "dampening",
       .update = plain_momentum,
       .classes = {{"SGD"}},
       .counts_itself = false},
      {.name = "nesterov",
       .settings = {rate(1e-3), weight_decay(), kMomentum},
       .slots = {{"momentum_buffer"}},
       .update = nesterov,
       .classes = {{.name = "SGD", .needs = "nesterov"}},
       .counts_itself = false},
      {.name = "adam",
       .settings = {rate(1e-3), weight_decay(), kBeta1, kBeta2, epsilon(1e-8)},
       .slots = {{"exp_avg"}, {"exp_avg_sq"}},
       .counter = "step",
       .update = coupled_adam,
       .classes = {{"Adam"}}},
      {.name = "adamw",
       .settings = {rate(1e-3), weight_decay(1e-2), kBeta1, kBeta2, epsilon(1e-8)},
       .slots = {{"exp_avg"}, {"exp_avg_sq"}},
       .counter = "step",
       .update = adamw,
       .classes = {{"AdamW"}, {.name = "Adam", .needs = "decoupled_weight_decay"}},
       .idle = {"decoupled_weight_decay"}},  // which AdamW has by its name
      {.name = "adagrad",
       .settings = {rate(1e-2),
                    weight_decay(),
                    epsilon(1e-10),
                    {.name = "rate_decay", .option = "lr_decay"},
                    {.name = "initial_accumulator", .option = "initial_accumulator_value"}},
       .slots = {{.name = "sum", .starts_with = "initial_accumulator"}},
       .counter = "step",
       .update = adagrad,
       .classes = {{"Adagrad"}}},
      {.name = "rmsprop",
       .settings =
           {rate(1e-2),
            weight_decay(),
            {.name = "rho", .preset = 0.99, .range = SettingRange::fraction, .option = "alpha"},
            {.name = "momentum", .range = SettingRange::fraction, .option = "momentum"},
            epsilon(1e-8),
            {.name = "centered", .range = SettingRange::on_off, .option = "centered"}},
       .slots = {{"square_avg"},
                 {.name = "momentum_buffer", .kept_with = "momentum"},
                 {.name = "grad_avg", .kept_with = "centered"}},
       .counter = "step",
       .update = rmsprop,
       .classes = {{"RMSprop"}}},
  };
}

}  // namespace onward
