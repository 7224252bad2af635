// The optimizers of Keras 3. All numbers are rounded to the parameter's type before anything is
// computed from them, and those that Keras converts with ops.cast to float32 first where its
// backend is TensorFlow. The decay of weights is apart from the gradient in every kind:
//   p' = p - p weight_decay lr
// Slots have the names that Keras gives their variables.

#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

Expr decayed_parameter(ParameterUpdate& u, Rounded& rate) {
  const Expr p = u.parameter();
  if (!u.settings().is_on("weight_decay")) return p;
  return p - p * u.number("weight_decay") * u.rounded(rate);
}

// p_new = p' - lr g
UpdateParameter sgd(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr change = u.gradient() * u.rounded(rate);
    u.set_parameter(p - change);
  };
}

// m_new = momentum m - lr g;  p_new = p' + m_new, or with Nesterov's look ahead
//   p' + (momentum m_new - lr g)
UpdateParameter momentum(StepParts& step, bool nesterov) {
  return [=, rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr change = u.gradient() * u.rounded(rate);
    const Expr m = u.slot("momentum"), momentum = u.number("momentum");
    const Expr m_new = m * momentum - change;
    u.set_parameter(nesterov ? p + (m_new * momentum - change) : p + m_new);
    u.set(m, m_new);
  };
}

UpdateParameter plain_momentum(StepParts& step) { return momentum(step, false); }
UpdateParameter nesterov(StepParts& step) { return momentum(step, true); }

/// lr sqrt(1 - beta2^t) / (1 - beta1^t) in the type of the parameter.
Expr corrected_rate(StepParts& step, Rounded& rate, DType dtype) {
  const OptimizerSettings& s = step.settings();
  const Expr t = cast(step.steps_with_this(), dtype), one = step.number("one", 1, dtype);
  const Expr power1 = pow(step.number("beta1", s.rounded("beta1"), dtype), t);
  const Expr power2 = pow(step.number("beta2", s.rounded("beta2"), dtype), t);
  return rate.to(dtype) * sqrt(one - power2) / (one - power1);
}

// t = iterations + 1;  alpha = lr sqrt(1 - beta2^t) / (1 - beta1^t)
// m_new = m + (g - m) (1 - beta1);  v_new = v + (g^2 - v) (1 - beta2)
// p_new = p' - m_new alpha / (sqrt(v_new) + epsilon)
// amsgrad: in place of v_new the largest that there was
UpdateParameter adam(StepParts& step) {
  const OptimizerSettings& s = step.settings();
  return [&step, &s, rate = Rounded(step.learning_rate()),
          alphas = std::map<DType, Expr>()](ParameterUpdate& u) mutable {
    if (!alphas.contains(u.dtype())) {
      alphas.emplace(u.dtype(), corrected_rate(step, rate, u.dtype()));
    }
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), m = u.slot("momentum"), v = u.slot("velocity");
    const Expr m_new = m + (g - m) * u.number("one_minus_beta1", 1 - s["beta1"]);
    const Expr v_new = v + (g * g - v) * u.number("one_minus_beta2", 1 - s["beta2"]);
    Expr variance = v_new;
    if (s.is_on("amsgrad")) {
      const Expr largest = u.slot("velocity_hat");
      variance = larger(largest, v_new);
      u.set(largest, variance);
    }
    u.set_parameter(p - m_new * alphas.at(u.dtype()) / (sqrt(variance) + u.number("epsilon")));
    u.set(m, m_new);
    u.set(v, v_new);
  };
}

// t = iterations + 1;  m_new = m + (g - m) (1 - beta1);  u_new = max(beta2 u, |g|)
// p_new = p' - lr m_new / ((1 - beta1^t) (u_new + epsilon))
UpdateParameter adamax(StepParts& step) {
  const OptimizerSettings& s = step.settings();
  return [&step, &s, rate = Rounded(step.learning_rate()),
          corrections = std::map<DType, Expr>()](ParameterUpdate& u) mutable {
    if (!corrections.contains(u.dtype())) {
      const Expr t = cast(step.steps_with_this(), u.dtype());
      const Expr power = pow(step.number("beta1", s.rounded("beta1"), u.dtype()), t);
      corrections.emplace(u.dtype(), step.number("one", 1, u.dtype()) - power);
    }
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), m = u.slot("momentum"), norm = u.slot("norm");
    const Expr m_new = m + (g - m) * u.number("one_minus_beta1", 1 - s["beta1"]);
    const Expr norm_new = larger(u.number("beta2") * norm, abs(g));
    u.set_parameter(p - u.rounded(rate) * m_new /
                            (corrections.at(u.dtype()) * (norm_new + u.number("epsilon"))));
    u.set(m, m_new);
    u.set(norm, norm_new);
  };
}

// a_new = a + g^2;  p_new = p' - lr g / sqrt(a_new + epsilon)
UpdateParameter adagrad(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), a = u.slot("accumulator");
    const Expr a_new = a + g * g;
    u.set_parameter(p - g * u.rounded(rate) / sqrt(a_new + u.number("epsilon")));
    u.set(a, a_new);
  };
}

// v_new = rho v + (1 - rho) g^2;  d = sqrt(a + epsilon) g / sqrt(v_new + epsilon)
// a_new = rho a + (1 - rho) d^2;  p_new = p' - lr d
UpdateParameter adadelta(StepParts& step) {
  const OptimizerSettings& s = step.settings();
  return [&s, rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), epsilon = u.number("epsilon");
    const Expr v = u.slot("accumulated_grad"), a = u.slot("accumulated_delta_var");
    const Expr rho = u.number("rho"), rest = u.number("one_minus_rho", 1 - s["rho"]);
    const Expr v_new = rho * v + rest * (g * g);
    const Expr change = sqrt(a + epsilon) * g / sqrt(v_new + epsilon);
    u.set_parameter(p - u.rounded(rate) * change);
    u.set(v, v_new);
    u.set(a, rho * a + rest * (change * change));
  };
}

// p_new = p' - lr sign(m beta1 + g (1 - beta1));  m_new = m beta2 + g (1 - beta2)
// Keras takes 1 - beta of what it has rounded.
UpdateParameter lion(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), m = u.slot("momentum"), one = u.number("one", 1);
    const Expr beta1 = u.number("beta1"), beta2 = u.number("beta2");
    u.set_parameter(p - u.rounded(rate) * sign(m * beta1 + g * (one - beta1)));
    u.set(m, m * beta2 + g * (one - beta2));
  };
}

// v_new = rho v + (1 - rho) g^2;  h = lr g / sqrt(v_new + epsilon);  p_new = p' - h
// centered: a_new = rho a + (1 - rho) g, and v_new - a_new^2 in place of v_new for h
// With momentum: m_new = momentum m + h;  p_new = p' - m_new
UpdateParameter rmsprop(StepParts& step) {
  const OptimizerSettings& s = step.settings();
  return [&s, rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr p = decayed_parameter(u, rate);
    const Expr g = u.gradient(), v = u.slot("velocity");
    const Expr rho = u.number("rho"), rest = u.number("one_minus_rho", 1 - s["rho"]);
    const Expr v_new = rho * v + rest * (g * g);
    u.set(v, v_new);
    Expr variance = v_new;
    if (s.is_on("centered")) {
      const Expr a = u.slot("average_gradient"), a_new = rho * a + rest * g;
      u.set(a, a_new);
      variance = v_new - a_new * a_new;
    }
    const Expr change = u.rounded(rate) * g / sqrt(variance + u.number("epsilon"));
    if (!s.is_on("momentum")) {
      u.set_parameter(p - change);
      return;
    }
    const Expr m = u.slot("momentum"), m_new = u.number("momentum") * m + change;
    u.set(m, m_new);
    u.set_parameter(p - m_new);
  };
}

SettingDef rate(double preset) {
  return {.name = "learning_rate", .preset = preset, .option = "learning_rate"};
}
SettingDef weight_decay(double preset = 0) {
  return {.name = "weight_decay", .preset = preset, .option = "weight_decay", .is_cast = true};
}
constexpr SettingDef kMomentum = {.name = "momentum",
                                  .preset = 0.9,
                                  .range = SettingRange::fraction,
                                  .option = "momentum",
                                  .is_cast = true};
// The betas are cast in the corrections of biases, and there alone.
constexpr SettingDef kBeta1 = {.name = "beta1",
                               .preset = 0.9,
                               .range = SettingRange::fraction,
                               .option = "beta_1",
                               .is_cast = true};
constexpr SettingDef kBeta2 = {.name = "beta2",
                               .preset = 0.999,
                               .range = SettingRange::fraction,
                               .option = "beta_2",
                               .is_cast = true};
constexpr SettingDef kAmsgrad = {
    .name = "amsgrad", .range = SettingRange::on_off, .option = "amsgrad"};
constexpr SlotDef kLargestSquare = {
    .name = "velocity_hat", .attribute = "_velocity_hats", .kept_with = "amsgrad"};
constexpr SettingDef kEpsilon = {.name = "epsilon", .preset = 1e-7, .option = "epsilon"};

}  // namespace

std::vector<OptimizerDef> keras_optimizers() {
  return {
      {.name = "sgd",
       .settings = {rate(1e-2), weight_decay()},
       .counter = "iterations",
       .update = sgd,
       .classes = {{"SGD"}},
       .idle = {"nesterov"}},  // of no momentum
      {.name = "momentum",
       .settings = {rate(1e-2), weight_decay(), kMomentum},
       .slots = {{.name = "momentum", .attribute = "momentums"}},
       .counter = "iterations",
       .update = plain_momentum,
       .classes = {{"SGD"}}},
      {.name = "nesterov",
       .settings = {rate(1e-2), weight_decay(), kMomentum},
       .slots = {{.name = "momentum", .attribute = "momentums"}},
       .counter = "iterations",
       .update = nesterov,
       .classes = {{.name = "SGD", .needs = "nesterov"}}},
      {.name = "adam",
       .settings = {rate(1e-3), weight_decay(), kBeta1, kBeta2, kEpsilon, kAmsgrad},
       .slots = {{.name = "momentum", .attribute = "_momentums"},
                 {.name = "velocity", .attribute = "_velocities"},
                 kLargestSquare},
       .counter = "iterations",
       .update = adam,
       .classes = {{"Adam"}},
       .squares_gradients = true},
      {.name = "adamw",
       .settings = {rate(1e-3), weight_decay(4e-3), kBeta1, kBeta2, kEpsilon, kAmsgrad},
       .slots = {{.name = "momentum", .attribute = "_momentums"},
                 {.name = "velocity", .attribute = "_velocities"},
                 kLargestSquare},
       .counter = "iterations",
       .update = adam,
       .classes = {{"AdamW"}},
       .squares_gradients = true},
      {.name = "adamax",
       .settings =
           {rate(1e-3),
            weight_decay(),
            kBeta1,
            {.name = "beta2", .preset = 0.999, .range = SettingRange::fraction, .option = "beta_2"},
            kEpsilon},
       .slots = {{.name = "momentum", .attribute = "_m"}, {.name = "norm", .attribute = "_u"}},
       .counter = "iterations",
       .update = adamax,
       .classes = {{"Adamax"}},
       .squares_gradients = true},
      {.name = "adagrad",
       .settings = {rate(1e-3),
                    weight_decay(),
                    kEpsilon,
                    {.name = "initial_accumulator",
                     .preset = 0.1,
                     .option = "initial_accumulator_value",
                     .is_cast = true}},
       .slots = {{.name = "accumulator",
                  .attribute = "_accumulators",
                  .starts_with = "initial_accumulator"}},
       .counter = "iterations",
       .update = adagrad,
       .classes = {{"Adagrad"}},
       .squares_gradients = true},
      {.name = "rmsprop",
       .settings =
           {rate(1e-3),
            weight_decay(),
            {.name = "rho", .preset = 0.9, .range = SettingRange::fraction, .option = "rho"},
            {.name = "momentum", .range = SettingRange::fraction, .option = "momentum"},
            kEpsilon,
            {.name = "centered", .range = SettingRange::on_off, .option = "centered"}},
       .slots = {{.name = "velocity", .attribute = "_velocities"},
                 {.name = "momentum", .attribute = "_momentums", .kept_with = "momentum"},
                 {.name = "average_gradient",
                  .attribute = "_average_gradients",
                  .kept_with = "centered"}},
       .counter = "iterations",
       .update = rmsprop,
       .classes = {{"RMSprop"}},
       .squares_gradients = true},
      {.name = "adadelta",
       .settings =
           {rate(1e-3),
            weight_decay(),
            {.name = "rho", .preset = 0.95, .range = SettingRange::fraction, .option = "rho"},
            kEpsilon},
       .slots = {{.name = "accumulated_grad", .attribute = "_accumulated_grads"},
                 {.name = "accumulated_delta_var", .attribute = "_accumulated_delta_vars"}},
       .counter = "iterations",
       .update = adadelta,
       .classes = {{"Adadelta"}},
       .squares_gradients = true},
      {.name = "lion",
       .settings = {rate(1e-3),
                    weight_decay(),
                    {.name = "beta1",
                     .preset = 0.9,
                     .range = SettingRange::positive_fraction,
                     .option = "beta_1",
                     .is_cast = true},
                    {.name = "beta2",
                     .preset = 0.99,
                     .range = SettingRange::fraction,
                     .option = "beta_2",
                     .is_cast = true}},
       .slots = {{.name = "momentum", .attribute = "_momentums"}},
       .counter = "iterations",
       .update = lion,
       .classes = {{"Lion"}}},
  };
}

}  // namespace onward
