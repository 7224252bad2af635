#include "emit/optimizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/keras/dialect.h"
#include "recipe/optimizer_def.h"

namespace onward::emit::keras {
namespace {

bool is_rounded(double number) { return static_cast<double>(static_cast<float>(number)) != number; }

/// Whether it shows that TensorFlow rounds the numbers that Keras converts. What slots start with
/// does not: they have begun.
bool rounding_shows(const Job& job) {
  const bool has_doubles = std::ranges::any_of(job.trained, [](const TrainedParameter& each) {
    return each.parameter->type.dtype == DType::f64;
  });
  const OptimizerDef& def = job.optimizer.def();
  return has_doubles && std::ranges::any_of(def.settings, [&](const SettingDef& each) {
           const bool starts_slots =
               std::ranges::find(def.slots, each.name, &SlotDef::starts_with) != def.slots.end();
           return each.is_cast && !starts_slots && is_rounded(job.optimizer[each.name]);
         });
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

constexpr std::string_view kSummed = R"(

@keras.saving.register_keras_serializable()
class Summed{0}(keras.optimizers.{0}):
    """Sums the gradients of a row that was read several times before it squares them."""

    def update_step(self, gradient, variable, learning_rate):
        gradient = ops.add(gradient, ops.zeros_like(variable))
        super().update_step(gradient, variable, learning_rate)
)";

/// "zip(optimizer._momentums, optimizer._velocities)"
std::string slot_variables(const Job& job) {
  std::vector<std::string> lists;
  for (const std::string& slot : job.slot_names()) {
    const auto row = std::ranges::find(job.optimizer.def().slots, slot, &SlotDef::name);
    lists.push_back(fmt::format("optimizer.{}", row->attribute));
  }
  return fmt::format("zip({})", fmt::join(lists, ", "));
}

/// Keras's own optimizers, for jobs in their formula.
OptimizerText built_in(const Job& job) {
  const OptimizerDef& def = job.optimizer.def();
  const std::string_view name = def.classes.front().name;
  const bool summed = reads_rows(job) && def.squares_gradients;
  return {.definition = summed ? fmt::format(kSummed, name) : "",
          .constructor = fmt::format("{}{}({{}}{})", summed ? "Summed" : "keras.optimizers.", name,
                                     class_arguments(job.optimizer)),
          .slots = job.slot_names(),
          .slot_variables = slot_variables(job),
          .class_name = summed ? fmt::format("Summed{}", name) : "",
          .is_built_in = true,
          .only_on_tensorflow = rounding_shows(job)};
}

constexpr std::string_view kClass = R"(

@keras.saving.register_keras_serializable()
class {0}(keras.optimizers.Optimizer):
    """{1} in the formula of {2}{3}."""

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.slots = [[self.add_variable_from_reference(variable, slot) for slot in SLOTS]
                      for variable in variables]

    def update_step(self, gradient, variable, learning_rate):
        slots = self.slots[self._get_variable_index(variable)]
        lr = ops.cast(learning_rate, variable.dtype)
        t = ops.cast(self.iterations, variable.dtype)
        new = update(ops.convert_to_tensor(variable), {4},
                     *(ops.convert_to_tensor(slot) for slot in slots), lr, t)
        for target, value in zip((variable, *slots), new, strict=True):
            self.assign(target, value)
)";

}  // namespace

OptimizerText optimizer(const Job& job) {
  const OptimizerSettings& settings = job.optimizer;
  const bool is_own = settings.formula() == Formula::keras;
  // Numbers that were not rounded are those of another backend, and a class of ours keeps them so.
  if (is_own && (settings.float32_numbers || !rounding_shows(job))) return built_in(job);
  const std::string name = optimizer_class_name(settings);
  OptimizerText text;
  text.definition =
      update_function(job, dialect()) +
      fmt::format(kClass, name, settings.name(), to_string(settings.formula()),
                  is_own ? ", with numbers that no backend rounds" : ", which Keras does not have",
                  reads_rows(job) ? "ops.add(gradient, ops.zeros_like(variable))" : "gradient");
  text.constructor = name + "({})";
  text.class_name = name;
  text.slots = job.slot_names();
  text.slot_variables = "optimizer.slots";
  return text;
}

}  // namespace onward::emit::keras
