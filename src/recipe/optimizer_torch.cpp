// The optimizers of torch.optim. Their numbers are Python floats: what is computed from the
// learning rate and the step count is computed in f64 here too, and rounded where a tensor meets
// it. Slots have the names that a state_dict gives them.

#include "recipe/optimizer_torch.h"

namespace onward {
namespace {

using namespace torch_optimizer;

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
    const Expr v_new = square_average(u, v, g, "rho");
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

// g' = g + weight_decay p;  v_new = rho v + (1 - rho) g'^2
// d = sqrt(a + epsilon) / sqrt(v_new + epsilon) g';  a_new = rho a + (1 - rho) d^2
// p_new = p - lr d
UpdateParameter adadelta(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    const Expr g = decayed_gradient(u), epsilon = u.number("epsilon");
    const Expr v = u.slot("square_avg"), a = u.slot("acc_delta");
    const Expr v_new = square_average(u, v, g, "rho");
    const Expr change = sqrt(a + epsilon) / sqrt(v_new + epsilon) * g;
    u.set_parameter(u.parameter() - u.rounded(rate) * change);
    u.set(v, v_new);
    u.set(a, square_average(u, a, change, "rho"));
  };
}

// Where g and that of the step before agree in sign, size grows by eta_plus; where they do not, it
// shrinks by eta_minus, and g' is 0; else g' = g. size stays from min_step to max_step.
// p_new = p - sign(g') size_new. The learning rate is the first size.
UpdateParameter rprop(StepParts&) {
  return [](ParameterUpdate& u) {
    const Expr g = u.gradient(), before = u.slot("prev"), size = u.slot("step_size");
    const Expr zero = u.number("zero", 0), product = g * before;
    const Expr turned = less(product, zero);
    const Expr scaled = where(greater(product, zero), size * u.number("eta_plus"),
                              where(turned, size * u.number("eta_minus"), size));
    const Expr size_new = smaller(larger(scaled, u.number("min_step")), u.number("max_step"));
    const Expr g_kept = where(turned, zero, g);
    u.set_parameter(u.parameter() - sign(g_kept) * size_new);
    u.set(before, g_kept);
    u.set(size, size_new);
  };
}

constexpr SettingDef kMomentum = {
    .name = "momentum", .preset = 0.9, .range = SettingRange::fraction, .option = "momentum"};

}  // namespace

std::vector<OptimizerDef> torch_optimizers() {
  std::vector<OptimizerDef> rows = {
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
      {.name = "adadelta",
       .settings =
           {rate(1),
            weight_decay(),
            {.name = "rho", .preset = 0.9, .range = SettingRange::fraction, .option = "rho"},
            epsilon(1e-6)},
       .slots = {{"square_avg"}, {"acc_delta"}},
       .counter = "step",
       .update = adadelta,
       .classes = {{"Adadelta"}}},
      {.name = "rprop",
       .settings = {rate(1e-2),
                    {.name = "eta_minus",
                     .preset = 0.5,
                     .range = SettingRange::positive_fraction,
                     .option = "etas[0]"},
                    {.name = "eta_plus",
                     .preset = 1.2,
                     .range = SettingRange::above_one,
                     .option = "etas[1]"},
                    {.name = "min_step", .preset = 1e-6, .option = "step_sizes[0]"},
                    {.name = "max_step", .preset = 50, .option = "step_sizes[1]"}},
       .slots = {{"prev"}, {.name = "step_size", .starts_with = "learning_rate"}},
       .counter = "step",
       .update = rprop,
       .classes = {{"Rprop"}}},
  };
  const std::vector<OptimizerDef> adams = torch_adam_optimizers();
  rows.insert(rows.begin() + 3, adams.begin(), adams.end());  // after those that only descend
  return rows;
}

}  // namespace onward
