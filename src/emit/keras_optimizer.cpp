#include <fmt/format.h>

#include <algorithm>

#include "emit/optimizer.h"

namespace onward::emit {
namespace {

bool is_rounded(double number) { return static_cast<double>(static_cast<float>(number)) != number; }

/// Whether it shows that TensorFlow rounds the numbers that Keras converts.
bool rounding_shows(const Job& job) {
  const OptimizerSettings& s = job.optimizer;
  const bool has_doubles = std::ranges::any_of(job.trained, [](const TrainedParameter& each) {
    return each.parameter->type.dtype == DType::f64;
  });
  const bool is_adam = s.kind == OptimizerKind::adam || s.kind == OptimizerKind::adamw;
  const bool has_momentum = s.kind == OptimizerKind::momentum || s.kind == OptimizerKind::nesterov;
  return has_doubles && (is_rounded(s.weight_decay) || (has_momentum && is_rounded(s.momentum)) ||
                         (is_adam && (is_rounded(s.beta1) || is_rounded(s.beta2))));
}

/// Whether a parameter's gradient comes row by row, a row several times where it was read so. Added
/// to zeros it becomes a tensor.
bool reads_rows(const Job& job) {
  return std::ranges::any_of(job.trained, [](const TrainedParameter& each) {
    return std::ranges::any_of(each.parameter->uses(), [&](const Use& use) {
      return use.node && use.node->op == "Gather" && use.node->input(0) == each.parameter;
    });
  });
}

bool squares_gradients(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw ||
         kind == OptimizerKind::adagrad;
}

constexpr std::string_view kSummed = R"(

class Summed{0}(keras.optimizers.{0}):
    """Sums the gradients of a row that was read several times before it squares them."""

    def update_step(self, gradient, variable, learning_rate):
        gradient = ops.add(gradient, ops.zeros_like(variable))
        super().update_step(gradient, variable, learning_rate)
)";

/// Keras's own optimizers, for jobs in their formula.
OptimizerText built_in(const Job& job) {
  const OptimizerSettings& s = job.optimizer;
  std::string options, name;
  if (s.kind == OptimizerKind::adam || s.kind == OptimizerKind::adamw) {
    // AdamW would decay by a default of its own.
    name = s.kind == OptimizerKind::adamw && s.weight_decay != 0 ? "AdamW" : "Adam";
    options = fmt::format(", beta_1={}, beta_2={}, epsilon={}", python_float(s.beta1),
                          python_float(s.beta2), python_float(s.epsilon));
  } else if (s.kind == OptimizerKind::adagrad) {
    name = "Adagrad";
    options = fmt::format(", epsilon={}", python_float(s.epsilon));
  } else {
    name = "SGD";
    if (s.kind != OptimizerKind::sgd)
      options = fmt::format(", momentum={}", python_float(s.momentum));
    if (s.kind == OptimizerKind::nesterov) options += ", nesterov=True";
  }
  if (s.weight_decay != 0) {
    options += fmt::format(", weight_decay={}", python_float(s.weight_decay));
  }
  const bool summed = reads_rows(job) && squares_gradients(s.kind);
  return {.definition = summed ? fmt::format(kSummed, name) : "",
          .constructor =
              fmt::format("{}{}({{}}{})", summed ? "Summed" : "keras.optimizers.", name, options),
          .slots = job.slot_names(),
          .is_built_in = true,
          .only_on_tensorflow = rounding_shows(job)};
}

constexpr std::string_view kClass = R"(

class {0}(keras.optimizers.Optimizer):
    """{1} in the formula of {2}{4}."""

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.slots = [[self.add_variable_from_reference(variable, slot) for slot in SLOTS]
                      for variable in variables]

    def update_step(self, gradient, variable, learning_rate):
        slots = self.slots[self._get_variable_index(variable)]
        lr = ops.cast(learning_rate, variable.dtype)
        t = ops.cast(self.iterations{3}, variable.dtype)
        new = update(ops.convert_to_tensor(variable), {5},
                     *(ops.convert_to_tensor(slot) for slot in slots), lr, t)
        for target, value in zip((variable, *slots), new):
            self.assign(target, value)
)";

}  // namespace

OptimizerText keras_optimizer(const Job& job) {
  const bool is_own = job.optimizer.formula == Formula::keras;
  // Numbers that were not rounded are those of another backend, and a class of ours keeps them so.
  if (is_own && (job.optimizer.float32_numbers || !rounding_shows(job))) return built_in(job);
  const std::string name = optimizer_class_name(job.optimizer);
  OptimizerText text;
  text.definition =
      update_function(job, Target::keras) +
      fmt::format(kClass, name, to_string(job.optimizer.kind), to_string(job.optimizer.formula),
                  job.counts_this_step ? " + 1" : "",
                  is_own ? ", with numbers that no backend rounds" : ", which Keras does not have",
                  reads_rows(job) ? "ops.add(gradient, ops.zeros_like(variable))" : "gradient");
  text.constructor = name + "({})";
  text.slots = job.slot_names();
  return text;
}

}  // namespace onward::emit
