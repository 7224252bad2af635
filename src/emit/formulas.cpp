// The optimizers' formulas as Python, for frameworks that do not have them. x is the parameter, g
// its gradient, lr the rate now, t the count of steps; docs/recipes.md has the same formulas.

#include <fmt/format.h>

#include "emit/optimizer.h"

namespace onward::emit {
namespace {

using OptimizerKind = OptimizerKind;
using Lines = std::vector<std::string>;

bool is_adam(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
}

/// The numbers of an optimizer as literals; those of the standard's nodes are float32.
struct Numbers {
  explicit Numbers(const OptimizerSettings& s) : settings(s) {}

  std::string literal(double number) const {
    const bool narrow = settings.formula == Formula::onnx;
    return python_float(narrow ? static_cast<double>(static_cast<float>(number)) : number);
  }
  /// A number that Keras converts with ops.cast, which passes through float32 on TensorFlow.
  std::string keras_cast(double number) const {
    return python_float(settings.float32_numbers ? static_cast<double>(static_cast<float>(number))
                                                 : number);
  }
  std::string momentum() const { return literal(settings.momentum); }
  std::string kept_gradient() const { return literal(1 - settings.dampening); }
  std::string beta1() const { return literal(settings.beta1); }
  std::string beta2() const { return literal(settings.beta2); }
  std::string epsilon() const { return literal(settings.epsilon); }
  std::string decay() const { return literal(settings.weight_decay); }
  std::string rate_decay() const { return literal(settings.rate_decay); }

  const OptimizerSettings& settings;
};

/// A choice by the step count, which is a number in torch and a tensor in Keras.
std::string chosen(Target target, std::string_view condition, std::string_view yes,
                   std::string_view no) {
  if (target == Target::torch) return fmt::format("{} if {} else {}", yes, condition, no);
  return fmt::format("ops.where({}, {}, {})", condition, yes, no);
}

Lines torch_lines(const OptimizerSettings& s, Target target) {
  const Numbers n(s);
  Lines lines;
  const bool decoupled = s.kind == OptimizerKind::adamw;
  if (s.weight_decay != 0) {
    lines.push_back(decoupled ? fmt::format("x = x * (1 - lr * {})", n.decay())
                              : fmt::format("g = g + {} * x", n.decay()));
  }
  if (is_adam(s.kind)) {
    lines.push_back(fmt::format("exp_avg = exp_avg + (1 - {}) * (g - exp_avg)", n.beta1()));
    lines.push_back(fmt::format("exp_avg_sq = {0} * exp_avg_sq + (1 - {0}) * g * g", n.beta2()));
    lines.push_back(fmt::format("deviation = exp_avg_sq**0.5 / (1 - {}**t) ** 0.5 + {}", n.beta2(),
                                n.epsilon()));
    lines.push_back(fmt::format("x = x - lr / (1 - {}**t) * exp_avg / deviation", n.beta1()));
  } else if (s.kind == OptimizerKind::adagrad) {
    const std::string rate =
        s.rate_decay == 0 ? "lr" : fmt::format("lr / (1 + (t - 1) * {})", n.rate_decay());
    lines.emplace_back("sum = sum + g * g");
    lines.push_back(fmt::format("x = x - {} * g / (sum**0.5 + {})", rate, n.epsilon()));
  } else if (s.kind == OptimizerKind::sgd) {
    lines.emplace_back("x = x - lr * g");
  } else {
    std::string next = fmt::format("{} * momentum_buffer + {}g", n.momentum(),
                                   s.dampening == 0 ? "" : n.kept_gradient() + " * ");
    if (s.dampening != 0) next = chosen(target, "t > 1", next, "g");
    lines.push_back("momentum_buffer = " + next);
    lines.push_back(s.kind == OptimizerKind::nesterov
                        ? fmt::format("x = x - lr * (g + {} * momentum_buffer)", n.momentum())
                        : "x = x - lr * momentum_buffer");
  }
  return lines;
}

Lines keras_lines(const OptimizerSettings& s, Target) {
  const Numbers n(s);
  Lines lines;
  if (s.weight_decay != 0) {
    lines.push_back(fmt::format("x = x - x * {} * lr", n.keras_cast(s.weight_decay)));
  }
  if (is_adam(s.kind)) {
    lines.push_back(fmt::format("rate = lr * (1 - {}**t) ** 0.5 / (1 - {}**t)",
                                n.keras_cast(s.beta2), n.keras_cast(s.beta1)));
    lines.push_back(fmt::format("momentum = momentum + (g - momentum) * (1 - {})", n.beta1()));
    lines.push_back(fmt::format("velocity = velocity + (g * g - velocity) * (1 - {})", n.beta2()));
    lines.push_back(fmt::format("x = x - rate * momentum / (velocity**0.5 + {})", n.epsilon()));
  } else if (s.kind == OptimizerKind::adagrad) {
    lines.emplace_back("accumulator = accumulator + g * g");
    lines.push_back(fmt::format("x = x - lr * g / (accumulator + {}) ** 0.5", n.epsilon()));
  } else if (s.kind == OptimizerKind::sgd) {
    lines.emplace_back("x = x - lr * g");
  } else {
    lines.push_back(fmt::format("momentum = {} * momentum - lr * g", n.keras_cast(s.momentum)));
    lines.push_back(s.kind == OptimizerKind::nesterov
                        ? fmt::format("x = x + {} * momentum - lr * g", n.keras_cast(s.momentum))
                        : "x = x + momentum");
  }
  return lines;
}

Lines onnx_lines(const OptimizerSettings& s, Target target) {
  const Numbers n(s);
  Lines lines;
  if (s.weight_decay != 0 && s.kind != OptimizerKind::adamw) {
    lines.push_back(fmt::format("g = g + {} * x", n.decay()));
  }
  if (is_adam(s.kind)) {
    lines.push_back(fmt::format("V = {0} * V + (1 - {0}) * g", n.beta1()));
    lines.push_back(fmt::format("H = {0} * H + (1 - {0}) * g * g", n.beta2()));
    lines.push_back(
        "rate = " +
        chosen(target, "t > 0",
               fmt::format("lr * (1 - {}**t) ** 0.5 / (1 - {}**t)", n.beta2(), n.beta1()), "lr"));
    lines.push_back(fmt::format("x = x - rate * V / (H**0.5 + {})", n.epsilon()));
    if (s.kind == OptimizerKind::adamw && s.weight_decay != 0) {
      lines.push_back(fmt::format("x = (1 - {}) * x", n.decay()));
    }
  } else if (s.kind == OptimizerKind::adagrad) {
    const std::string rate =
        s.rate_decay == 0 ? "lr" : fmt::format("lr / (1 + t * {})", n.rate_decay());
    lines.emplace_back("H = H + g * g");
    lines.push_back(fmt::format("x = x - {} * g / (H**0.5 + {})", rate, n.epsilon()));
  } else if (s.kind == OptimizerKind::sgd) {
    lines.emplace_back("x = x - lr * g");
  } else {
    const std::string factor =
        s.dampening == 0
            ? ""
            : fmt::format("({}) * ", chosen(target, "t > 0", n.kept_gradient(), "1.0"));
    lines.push_back(fmt::format("V = {} * V + {}g", n.momentum(), factor));
    lines.push_back(s.kind == OptimizerKind::nesterov
                        ? fmt::format("x = x - lr * (g + {} * V)", n.momentum())
                        : "x = x - lr * V");
  }
  return lines;
}

std::string_view words(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return "Sgd";
    case OptimizerKind::momentum:
      return "Momentum";
    case OptimizerKind::nesterov:
      return "Nesterov";
    case OptimizerKind::adam:
      return "Adam";
    case OptimizerKind::adamw:
      return "AdamW";
    case OptimizerKind::adagrad:
      return "Adagrad";
  }
  return "";
}

std::string_view words(Formula formula) {
  switch (formula) {
    case Formula::torch:
      return "Torch";
    case Formula::keras:
      return "Keras";
    case Formula::onnx:
      return "Onnx";
  }
  return "";
}

}  // namespace

std::string optimizer_class_name(const OptimizerSettings& settings) {
  return fmt::format("{}{}", words(settings.formula), words(settings.kind));
}

std::string update_function(const Job& job, Target target) {
  const OptimizerSettings& s = job.optimizer;
  const Lines lines = s.formula == Formula::torch   ? torch_lines(s, target)
                      : s.formula == Formula::keras ? keras_lines(s, target)
                                                    : onnx_lines(s, target);
  std::string slots, results = "x";
  for (const std::string& slot : job.slot_names()) {
    slots += slot + ", ";
    results += ", " + slot;
  }
  std::string text = fmt::format(
      "def update(x, g, {}lr, t):\n"
      "    \"\"\"One step for a parameter x with the gradient g, at step {}: its new "
      "value{}.\"\"\"\n",
      slots, job.counts_this_step ? "t, counted from 1" : "t, counted from 0",
      job.slot_names().empty() ? "" : " and slots");
  for (const std::string& line : lines) text += "    " + line + "\n";
  // A single value is a tuple too, so that all optimizers are used alike.
  return text + "    return " + results + (job.slot_names().empty() ? ",\n" : "\n");
}

}  // namespace onward::emit
