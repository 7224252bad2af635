#include <fmt/format.h>

#include "emit/job.h"
#include "emit/loss.h"
#include "emit/optimizer.h"
#include "emit/source.h"
#include "emit/torch/dialect.h"
#include "recipe/optimizer_def.h"

namespace onward::emit::torch {
namespace {

constexpr std::string_view kLoadAndSave = R"(
def load(folder=HERE):
    """The model with its weights, ready for inference."""
    model = {0}()
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    return model.eval()


def save(model, folder=HERE):
    """Writes the weights, for `load` and for `onward import-weights`."""
    write(model.state_dict(), folder / "weights.safetensors")

)";

constexpr std::string_view kLoadAndSaveJob = R"(
def load(folder=HERE):
    """Model, loss function and optimizer, ready to go on where the training stands."""
    model = {0}()
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    saved = load_file(folder / "optimizer.safetensors")
    parameters = {{name: p for name, p in model.named_parameters() if p.requires_grad}}
    optimizer = {1}
{2}    return model, {3}, optimizer


def save(model, optimizer, folder=HERE):
    """Writes weights and optimizer state, for `load` and for `onward import-weights`."""
    saved = {{"learning_rate": torch.tensor(optimizer.param_groups[0]["lr"], dtype=torch.float64)}}
    parameters = {{name: p for name, p in model.named_parameters() if p.requires_grad}}
{4}    mark = {{"save": uuid.uuid4().hex}}  # the two files belong together
    write(model.state_dict(), folder / "weights.safetensors", mark)
    write(saved, folder / "optimizer.safetensors", mark)

)";

constexpr std::string_view kWrite = R"(
def write(tensors, file{0}):
    """The file appears whole or not at all."""
    unfinished = file.with_suffix(".unfinished")
    tensors = {{name: tensor.contiguous() for name, tensor in tensors.items()}}
    save_file(tensors, unfinished{1})
    os.replace(unfinished, file)
)";

/// How the optimizer's state is put in and taken out, line by line.
struct StateLines {
  std::vector<std::string> load, save;
  bool counts_by_hook = false;
};

StateLines state_lines(const Job& job, const OptimizerText& optimizer) {
  StateLines lines;
  const bool has_slots = !optimizer.slots.empty();
  const bool counts = job.step.has_value();
  // SGD of torch.optim counts no steps itself.
  const bool counted_apart = counts && optimizer.is_built_in && !job.optimizer.def().counts_itself;
  const std::string slots = "{slot: saved[f\"{name}.{slot}\"] for slot in SLOTS}";
  if (counted_apart) {
    lines.counts_by_hook = true;
    lines.load = {"optimizer.steps = int(saved[\"step\"])",
                  "optimizer.register_step_post_hook(count_step)",
                  "if optimizer.steps > 0:  # the first step begins without a buffer",
                  "    for name, parameter in parameters.items():",
                  "        optimizer.state[parameter] = " + slots};
    lines.save = {
        "saved[\"step\"] = torch.tensor(optimizer.steps)",
        "for name, parameter in parameters.items():", "    state = optimizer.state[parameter]",
        "    saved |= {f\"{name}.{slot}\": state.get(slot, torch.zeros_like(parameter))",
        "              for slot in SLOTS}"};
    return lines;
  }
  const std::string step = optimizer.is_built_in ? "torch.tensor(float(saved[\"step\"]))"
                           : counts              ? "int(saved[\"step\"])"
                                                 : "0";
  const bool holds_step = counts || !optimizer.is_built_in;
  if (has_slots || holds_step) {
    std::string state = has_slots ? slots : "{}";
    if (holds_step) {
      state = fmt::format("{{\"step\": {}{}}}", step, has_slots ? ", **" + slots : "");
    }
    lines.load = {"for name, parameter in parameters.items():",
                  "    optimizer.state[parameter] = " + state};
  }
  if (has_slots || counts) {
    lines.save = {"for name, parameter in parameters.items():",
                  "    state = optimizer.state[parameter]"};
    if (counts) lines.save.emplace_back("    saved[\"step\"] = torch.tensor(int(state[\"step\"]))");
    if (has_slots) {
      lines.save.emplace_back("    saved |= {f\"{name}.{slot}\": state[slot] for slot in SLOTS}");
    }
  }
  return lines;
}

}  // namespace

std::string load_and_save(const SourceParts&, const std::string& name) {
  return fmt::format(kLoadAndSave, name) + fmt::format(kWrite, "", "");
}

std::string load_and_save_job(const SourceParts& parts, const std::string& name,
                              const LossText& loss, const OptimizerText& optimizer) {
  parts.module->context().modules.emplace("uuid");
  const StateLines lines = state_lines(*parts.job, optimizer);
  std::string text;
  if (lines.counts_by_hook) {
    text += "\ndef count_step(optimizer, *_):\n    optimizer.steps += 1\n\n";
  }
  const std::string constructor =
      fmt::format(fmt::runtime(optimizer.constructor), "parameters.values()",
                  "saved[\"learning_rate\"].item()");
  text += fmt::format(kLoadAndSaveJob, name, constructor, indented(lines.load, 1), loss.expression,
                      indented(lines.save, 1));
  return text + fmt::format(kWrite, ", mark", ", metadata=mark");
}

}  // namespace onward::emit::torch
