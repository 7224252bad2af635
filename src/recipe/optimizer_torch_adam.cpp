// Adam and what follows from it, as torch.optim has them.

#include "recipe/optimizer_torch.h"

namespace onward {
namespace {

using namespace torch_optimizer;

/// 1 - setting^t, in the step t that this one is.
Expr bias_correction(StepParts& step, const std::string& setting) {
  const Expr t = cast(step.steps_with_this(), DType::f64);
  return step.number("one", 1, DType::f64) -
         pow(step.number(setting, step.settings()[setting], DType::f64), t);
}

/// 1 - lr weight_decay, what a parameter is multiplied with where decay is apart from gradients.
std::optional<Rounded> kept_part(StepParts& step) {
  if (!step.settings().is_on("weight_decay")) return std::nullopt;
  return Rounded(step.number("one", 1, DType::f64) -
                 step.learning_rate() *
                     step.number("weight_decay", step.settings()["weight_decay"], DType::f64));
}

// t = step + 1;  adam: g' = g + weight_decay p;  adamw: p' = p (1 - lr weight_decay)
// m_new = m + (1 - beta1) (g' - m);  v_new = beta2 v + (1 - beta2) g'^2
// p_new = p' - lr / (1 - beta1^t) m_new / (sqrt(v_new) / sqrt(1 - beta2^t) + epsilon)
// amsgrad: in place of v_new the largest that there was
UpdateParameter adam(StepParts& step, bool decoupled) {
  Rounded step_size(step.learning_rate() / bias_correction(step, "beta1"));
  Rounded correction(sqrt(bias_correction(step, "beta2")));
  std::optional<Rounded> kept;
  if (decoupled) kept = kept_part(step);
  return [=](ParameterUpdate& u) mutable {
    const Expr g = decoupled ? u.gradient() : decayed_gradient(u);
    const Expr p = kept ? u.parameter() * u.rounded(*kept) : u.parameter();
    const Expr m = u.slot("exp_avg"), v = u.slot("exp_avg_sq");
    const Expr m_new = lerp(u, m, g, "beta1");
    const Expr v_new = square_average(u, v, g, "beta2");
    Expr variance = v_new;
    if (u.settings().is_on("amsgrad")) {
      const Expr largest = u.slot("max_exp_avg_sq");
      variance = larger(largest, v_new);
      u.set(largest, variance);
    }
    const Expr deviation = sqrt(variance) / u.rounded(correction) + u.number("epsilon");
    u.set_parameter(p - u.rounded(step_size) * m_new / deviation);
    u.set(m, m_new);
    u.set(v, v_new);
  };
}

UpdateParameter coupled_adam(StepParts& step) { return adam(step, false); }
UpdateParameter adamw(StepParts& step) { return adam(step, true); }

// g' = g + weight_decay p;  m_new = m + (1 - beta1) (g' - m)
// u_new = max(beta2 u, |g'| + epsilon);  p_new = p - lr / (1 - beta1^t) m_new / u_new
UpdateParameter adamax(StepParts& step) {
  return [step_size = Rounded(step.learning_rate() / bias_correction(step, "beta1"))](
             ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u);
    const Expr m = u.slot("exp_avg"), norm = u.slot("exp_inf");
    const Expr m_new = lerp(u, m, g, "beta1");
    const Expr norm_new = larger(u.number("beta2") * norm, abs(g) + u.number("epsilon"));
    u.set_parameter(u.parameter() - u.rounded(step_size) * m_new / norm_new);
    u.set(m, m_new);
    u.set(norm, norm_new);
  };
}

/// sqrt((rho - 4) (rho - 2) top / ((top - 4) (top - 2) rho)) sqrt(1 - beta2^t), where
///   top = 2 / (1 - beta2) - 1 and rho = top - 2 t beta2^t / (1 - beta2^t)
/// as long as rho is above 5, and whether it is. Null where it never gets there.
struct Rectification {
  Expr is_on, factor;
};
std::optional<Rectification> rectification(StepParts& step) {
  const double beta2 = step.settings()["beta2"], top = 2 / (1 - beta2) - 1;
  if (top <= 5) return std::nullopt;  // of which rho stays below
  const auto number = [&](const std::string& name, double value) {
    return step.number(name, value, DType::f64);
  };
  const Expr t = cast(step.steps_with_this(), DType::f64);
  const Expr power = pow(number("beta2", beta2), t);
  const Expr correction = number("one", 1) - power;
  const Expr rho = number("rho_top", top) - number("two", 2) * t * power / correction;
  const Expr is_on = greater(rho, number("five", 5));
  // Of 5 where it is not used, so that no root of what is negative is taken.
  const Expr length = where(is_on, rho, number("five", 5));
  const Expr square = (length - number("four", 4)) * (length - number("two", 2)) *
                      number("rho_top", top) /
                      (number("rho_scale", (top - 4) * (top - 2)) * length);
  return Rectification{is_on, sqrt(square) * sqrt(correction)};
}

// g' = g + weight_decay p, or p' = p (1 - lr weight_decay) where decay is decoupled
// m_new = m + (1 - beta1) (g' - m);  v_new = beta2 v + (1 - beta2) g'^2
// p_new = p' - lr / (1 - beta1^t) m_new, at first; then that times rectification /
//   (sqrt(v_new) + epsilon)
UpdateParameter radam(StepParts& step) {
  const bool decoupled = step.settings().is_on("decoupled_weight_decay");
  Rounded step_size(step.learning_rate() / bias_correction(step, "beta1"));
  std::optional<Rounded> kept, factor;
  if (decoupled) kept = kept_part(step);
  const std::optional<Rectification> rectified = rectification(step);
  if (rectified) factor.emplace(rectified->factor);
  return [=](ParameterUpdate& u) mutable {
    const Expr g = decoupled ? u.gradient() : decayed_gradient(u);
    const Expr p = kept ? u.parameter() * u.rounded(*kept) : u.parameter();
    const Expr m = u.slot("exp_avg"), v = u.slot("exp_avg_sq");
    const Expr m_new = lerp(u, m, g, "beta1");
    const Expr v_new = square_average(u, v, g, "beta2");
    const Expr plain = u.rounded(step_size) * m_new;
    const Expr change =
        factor ? where(rectified->is_on,
                       plain * u.rounded(*factor) / (sqrt(v_new) + u.number("epsilon")), plain)
               : plain;
    u.set_parameter(p - change);
    u.set(m, m_new);
    u.set(v, v_new);
  };
}

constexpr SettingDef kBeta1 = {
    .name = "beta1", .preset = 0.9, .range = SettingRange::fraction, .option = "betas[0]"};
constexpr SettingDef kBeta2 = {
    .name = "beta2", .preset = 0.999, .range = SettingRange::fraction, .option = "betas[1]"};
constexpr SettingDef kAmsgrad = {
    .name = "amsgrad", .range = SettingRange::on_off, .option = "amsgrad"};
constexpr SlotDef kLargestSquare = {.name = "max_exp_avg_sq", .kept_with = "amsgrad"};

}  // namespace

std::vector<OptimizerDef> torch_adam_optimizers() {
  return {
      {.name = "adam",
       .settings = {rate(1e-3), weight_decay(), kBeta1, kBeta2, epsilon(1e-8), kAmsgrad},
       .slots = {{"exp_avg"}, {"exp_avg_sq"}, kLargestSquare},
       .counter = "step",
       .update = coupled_adam,
       .classes = {{"Adam"}}},
      {.name = "adamw",
       .settings = {rate(1e-3), weight_decay(1e-2), kBeta1, kBeta2, epsilon(1e-8), kAmsgrad},
       .slots = {{"exp_avg"}, {"exp_avg_sq"}, kLargestSquare},
       .counter = "step",
       .update = adamw,
       .classes = {{"AdamW"}, {.name = "Adam", .needs = "decoupled_weight_decay"}},
       .idle = {"decoupled_weight_decay"}},  // which AdamW has by its name
      {.name = "adamax",
       .settings = {rate(2e-3), weight_decay(), kBeta1, kBeta2, epsilon(1e-8)},
       .slots = {{"exp_avg"}, {"exp_inf"}},
       .counter = "step",
       .update = adamax,
       .classes = {{"Adamax"}}},
      {.name = "radam",
       .settings = {rate(1e-3),
                    weight_decay(),
                    kBeta1,
                    kBeta2,
                    epsilon(1e-8),
                    {.name = "decoupled_weight_decay",
                     .range = SettingRange::on_off,
                     .option = "decoupled_weight_decay"}},
       .slots = {{"exp_avg"}, {"exp_avg_sq"}},
       .counter = "step",
       .update = radam,
       .classes = {{"RAdam"}}},
  };
}

}  // namespace onward
