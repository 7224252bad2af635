#include "emit/optimizer.h"

#include <fmt/format.h>

#include "emit/torch/dialect.h"
#include "recipe/optimizer_def.h"

namespace onward::emit::torch {
namespace {

constexpr std::string_view kClass = R"(

class {0}(torch.optim.Optimizer):
    """{1} in the formula of {2}, which torch.optim does not have."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {{"lr": lr}})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                slots = [state[name] for name in SLOTS]
                new = update(parameter, parameter.grad, *slots, group["lr"], state["step"])
                for tensor, value in zip((parameter, *slots), new):
                    tensor.copy_(value)
                state["step"] += 1
        return loss
)";

}  // namespace

OptimizerText optimizer(const Job& job) {
  const OptimizerSettings& settings = job.optimizer;
  OptimizerText text;
  text.slots = job.slot_names();
  if (settings.formula() == Formula::torch) {
    text.constructor = fmt::format("torch.optim.{}({{}}, lr={{}}{})",
                                   settings.def().classes.front().name, class_arguments(settings));
    text.is_built_in = true;
    text.lists_slots = !text.slots.empty();
    return text;
  }
  const std::string name = optimizer_class_name(settings);
  text.definition = update_function(job, dialect()) +
                    fmt::format(kClass, name, settings.name(), to_string(settings.formula()));
  text.constructor = name + "({}, lr={})";
  text.class_name = name;
  return text;
}

}  // namespace onward::emit::torch
