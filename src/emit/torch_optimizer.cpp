#include <fmt/format.h>

#include "emit/optimizer.h"

namespace onward::emit {
namespace {

/// torch.optim's own optimizers, for jobs in their formula.
OptimizerText built_in(const Job& job) {
  const OptimizerSettings& s = job.optimizer;
  std::string options, name;
  const auto add = [&](std::string_view option, double value, double usual) {
    if (value != usual) options += fmt::format(", {}={}", option, python_float(value));
  };
  if (s.kind == OptimizerKind::adam || s.kind == OptimizerKind::adamw) {
    name = s.kind == OptimizerKind::adam ? "Adam" : "AdamW";
    options = fmt::format(", betas=({}, {})", python_float(s.beta1), python_float(s.beta2));
    options += fmt::format(", eps={}", python_float(s.epsilon));
    add("weight_decay", s.weight_decay, s.kind == OptimizerKind::adam ? 0 : 1e-2);
  } else if (s.kind == OptimizerKind::adagrad) {
    name = "Adagrad";
    add("lr_decay", s.rate_decay, 0);
    add("weight_decay", s.weight_decay, 0);
    options += fmt::format(", eps={}", python_float(s.epsilon));
  } else {
    name = "SGD";
    if (s.kind != OptimizerKind::sgd) add("momentum", s.momentum, 0);
    add("dampening", s.dampening, 0);
    add("weight_decay", s.weight_decay, 0);
    if (s.kind == OptimizerKind::nesterov) options += ", nesterov=True";
  }
  return {.definition = {},
          .constructor = fmt::format("torch.optim.{}({{}}, lr={{}}{})", name, options),
          .slots = job.slot_names(),
          .is_built_in = true};
}

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
                new = update(parameter, parameter.grad, *slots, group["lr"], state["step"]{3})
                for tensor, value in zip((parameter, *slots), new):
                    tensor.copy_(value)
                state["step"] += 1
        return loss
)";

}  // namespace

OptimizerText torch_optimizer(const Job& job) {
  if (job.optimizer.formula == Formula::torch) return built_in(job);
  const std::string name = optimizer_class_name(job.optimizer);
  OptimizerText text;
  text.definition =
      update_function(job, Target::torch) + fmt::format(kClass, name, to_string(job.optimizer.kind),
                                                        to_string(job.optimizer.formula),
                                                        job.counts_this_step ? " + 1" : "");
  text.constructor = name + "({}, lr={})";
  text.slots = job.slot_names();
  return text;
}

}  // namespace onward::emit
