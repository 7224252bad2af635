#include <fmt/format.h>

#include "emit/optimizer.h"

namespace onward::emit {
namespace {

using Kind = OptimizerKind;

/// Keras's own optimizers, for jobs in their formula.
OptimizerText built_in(const Job& job) {
  const OptimizerSettings& s = job.optimizer;
  std::string options, name;
  if (s.kind == Kind::adam || s.kind == Kind::adamw) {
    name = s.kind == Kind::adam ? "Adam" : "AdamW";
    options = fmt::format(", beta_1={}, beta_2={}, epsilon={}", python_float(s.beta1),
                          python_float(s.beta2), python_float(s.epsilon));
  } else if (s.kind == Kind::adagrad) {
    name = "Adagrad";
    options = fmt::format(", epsilon={}", python_float(s.epsilon));
  } else {
    name = "SGD";
    if (s.kind != Kind::sgd) options = fmt::format(", momentum={}", python_float(s.momentum));
    if (s.kind == Kind::nesterov) options += ", nesterov=True";
  }
  if (s.weight_decay != 0) {
    options += fmt::format(", weight_decay={}", python_float(s.weight_decay));
  }
  return {.definition = {},
          .constructor = fmt::format("keras.optimizers.{}({{}}{})", name, options),
          .slots = job.slot_names(),
          .is_built_in = true};
}

constexpr std::string_view kClass = R"(

class {0}(keras.optimizers.Optimizer):
    """{1} in the formula of {2}, which Keras does not have."""

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
        new = update(ops.convert_to_tensor(variable), gradient,
                     *(ops.convert_to_tensor(slot) for slot in slots), lr, t)
        for target, value in zip((variable, *slots), new):
            self.assign(target, value)
)";

}  // namespace

OptimizerText keras_optimizer(const Job& job) {
  // AdamW without a decay is refused by Keras; it is Adam then.
  if (job.optimizer.formula == Formula::keras) return built_in(job);
  const std::string name = optimizer_class_name(job.optimizer);
  OptimizerText text;
  text.definition =
      update_function(job, Target::keras) + fmt::format(kClass, name, to_string(job.optimizer.kind),
                                                        to_string(job.optimizer.formula),
                                                        job.counts_this_step ? " + 1" : "");
  text.constructor = name + "({})";
  text.slots = job.slot_names();
  return text;
}

}  // namespace onward::emit
