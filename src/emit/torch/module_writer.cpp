#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "emit/helpers.h"
#include "emit/job.h"
#include "emit/loss.h"
#include "emit/optimizer.h"
#include "emit/source.h"
#include "recipe/optimizer_def.h"

namespace onward::emit {
namespace {

/// Layers by their paths: a tree whose inner nodes are ModuleDicts.
struct Tree {
  std::string name;
  std::string constructor;  // of a layer; empty for a container
  std::vector<Tree> children;

  Tree& child(const std::string& part) {
    for (Tree& tree : children) {
      if (tree.name == part) return tree;
    }
    return children.emplace_back(Tree{.name = part, .constructor = {}, .children = {}});
  }
};

void add(Tree& root, const std::string& path, const std::string& constructor) {
  Tree* at = &root;
  for (const std::string& part : path_parts(path)) at = &at->child(part);
  at->constructor = constructor;
}

void write_dict(const Tree& tree, int depth, std::vector<std::string>& lines) {
  const std::string space(static_cast<size_t>(4 * depth), ' ');
  for (const Tree& child : tree.children) {
    const std::string& name = child.name;
    if (!child.constructor.empty()) {
      lines.push_back(fmt::format("{}\"{}\": {},", space, name, child.constructor));
    } else {
      lines.push_back(fmt::format("{}\"{}\": nn.ModuleDict({{", space, name));
      write_dict(child, depth + 1, lines);
      lines.push_back(fmt::format("{}}}),", space));
    }
  }
}

std::string tensor_text(const HeldTensor& held, DType dtype) {
  return fmt::format("torch.empty({}, dtype=torch.{})", python_tuple(held.dims),
                     python_dtype(dtype));
}

class TorchClass {
 public:
  TorchClass(const SourceParts& parts, std::string name)
      : graph_(*parts.graph), module_(*parts.module), job_(parts.job), name_(std::move(name)) {}

  /// The class, once its forward function is written, which is where tensors are met.
  std::string text() {
    const std::string forward = forward_text();
    std::string text = fmt::format("class {}(nn.Module):\n", name_);
    if (const auto lines = init_lines(); !lines.empty()) {
      text += "    def __init__(self):\n        super().__init__()\n" + indented(lines, 2) + "\n";
    }
    return text + forward + train_text();
  }

 private:
  std::string forward_text() {
    Body body(module_.context());
    std::vector<std::string> arguments = {"self"};
    for (const Value* input : real_inputs(graph_)) arguments.push_back(body.add_argument(input));
    const std::vector<const Value*> results(graph_.outputs().begin(), graph_.outputs().end());
    if (job_ && job_->predictions != results) {
      module_.write(body, job_->predictions);
      const std::string read = names_of(body, job_->predictions);
      body.add_line("if self.training:");
      body.add_line(fmt::format("    return {}  # what the loss reads", read));
    }
    module_.write(body, results);
    const std::string given = names_of(body, results);
    return fmt::format("    def forward({}):\n{}        return {}\n", fmt::join(arguments, ", "),
                       indented(body.lines(), 2), given);
  }

  static std::string names_of(Body& body, const std::vector<const Value*>& values) {
    std::vector<std::string> names;
    for (const Value* value : values) names.push_back(body.tensor(value));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::vector<std::string> init_lines() const {
    Tree tree;
    for (const Layer& layer : module_.layers()) {
      if (!layer.padding.empty()) add(tree, layer.path + "_padding", layer.padding);
      add(tree, layer.path, layer.constructor);
    }
    for (const Value* value : module_.plain_tensors()) add_containers(tree, module_.path_of(value));
    std::vector<std::string> lines;
    for (const Tree& child : tree.children) {
      const std::string& name = child.name;
      if (!child.constructor.empty()) {
        lines.push_back(fmt::format("self.{} = {}", name, child.constructor));
      } else if (child.children.empty()) {
        lines.push_back(fmt::format("self.{} = nn.ModuleDict()", name));
      } else {
        lines.push_back(fmt::format("self.{} = nn.ModuleDict({{", name));
        write_dict(child, 1, lines);
        lines.push_back("})");
      }
    }
    for (const Value* value : module_.plain_tensors()) lines.push_back(tensor_line(value));
    add_freezing(lines);
    return lines;
  }

  /// A tensor outside of layers needs the containers on its path.
  static void add_containers(Tree& tree, const std::string& path) {
    Tree* at = &tree;
    const auto parts = path_parts(path);
    for (size_t i = 0; i + 1 < parts.size(); ++i) at = &at->child(parts[i]);
  }

  std::string tensor_line(const Value* value) const {
    const HeldTensor& held = module_.context().held.at(value);
    const std::string made = tensor_text(held, value->type.dtype);
    if (held.trained) return fmt::format("{} = nn.Parameter({})", held.expression, made);
    const std::string path = module_.path_of(value);
    const size_t dot = path.rfind('.');
    const std::string owner =
        dot == std::string::npos ? "self" : AttributePaths::expression(path.substr(0, dot));
    return fmt::format("{}.register_buffer(\"{}\", {})", owner,
                       dot == std::string::npos ? path : path.substr(dot + 1), made);
  }

  /// What the job does not train keeps its values.
  void add_freezing(std::vector<std::string>& lines) const {
    if (!module_.training().is_job) return;
    for (const Layer& layer : module_.layers()) {
      for (const LayerTensor& tensor : layer.tensors) {
        const HeldTensor& held = module_.context().held.at(tensor.value);
        const bool is_buffer = tensor.attribute.starts_with("running_");
        if (!held.trained && !is_buffer) {
          lines.push_back(fmt::format("{}.requires_grad_(False)", held.expression));
        }
      }
    }
  }

  std::string train_text() const {
    std::vector<std::string> frozen;
    for (const Layer& layer : module_.layers()) {
      if (layer.stays_in_eval) {
        frozen.push_back(fmt::format("{}.eval()", AttributePaths::expression(layer.path)));
      }
    }
    if (frozen.empty()) return "";
    return "\n    def train(self, mode=True):\n"
           "        \"\"\"The statistics of these normalizations stay as they are.\"\"\"\n"
           "        super().train(mode)\n" +
           indented(frozen, 2) + "        return self\n";
  }

  const Graph& graph_;
  Module& module_;
  const Job* job_;
  std::string name_;
};

constexpr std::string_view kLoadAndSave = R"(
def load(folder=HERE):
    """The model with its weights, ready for inference."""
    model = {0}()
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    return model.eval()


def save(model, folder=HERE):
    """Writes the weights, for `load` and for `onward take`."""
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
    """Writes weights and optimizer state, for `load` and for `onward take`."""
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
};

StateLines state_lines(const Job& job, const OptimizerText& optimizer) {
  StateLines lines;
  const bool has_slots = !optimizer.slots.empty();
  const bool counts = job.step.has_value();
  // SGD of torch.optim counts no steps itself.
  const bool counted_apart = counts && optimizer.is_built_in && !job.optimizer.def().counts_itself;
  const std::string slots = "{slot: saved[f\"{name}.{slot}\"] for slot in SLOTS}";
  if (counted_apart) {
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

std::string job_text(const std::string& name, const Job& job, std::set<std::string>& helpers) {
  const OptimizerText optimizer = torch_optimizer(job);
  const LossText loss = torch_loss(job, helpers);
  const StateLines lines = state_lines(job, optimizer);
  std::string text;
  if (!optimizer.slots.empty() || !optimizer.is_built_in) {
    std::vector<std::string> slots;
    for (const std::string& slot : optimizer.slots) slots.push_back(python_string(slot));
    text += fmt::format("\nSLOTS = ({}{})  # what the optimizer keeps for each parameter\n\n",
                        fmt::join(slots, ", "), slots.size() == 1 ? "," : "");
  }
  if (!loss.definition.empty()) text += "\n" + loss.definition + "\n";
  if (!optimizer.definition.empty()) text += "\n" + optimizer.definition + "\n";
  if (!lines.load.empty() && lines.load[0].find("optimizer.steps") != std::string::npos) {
    text += "\ndef count_step(optimizer, *_):\n    optimizer.steps += 1\n\n";
  }
  const std::string constructor =
      fmt::format(fmt::runtime(optimizer.constructor), "parameters.values()",
                  "saved[\"learning_rate\"].item()");
  text += fmt::format(kLoadAndSaveJob, name, constructor, indented(lines.load, 1), loss.expression,
                      indented(lines.save, 1));
  return text + fmt::format(kWrite, ", mark", ", metadata=mark");
}

}  // namespace

std::string torch_source(const SourceParts& parts) {
  const std::string name(kClassName);
  std::string code = TorchClass(parts, name).text();
  parts.module->throw_if_refused();
  auto& helpers = parts.module->context().helpers;
  code += "\n";
  code += parts.job ? job_text(name, *parts.job, helpers)
                    : fmt::format(kLoadAndSave, name) + fmt::format(kWrite, "", "");
  code = helper_source(Target::torch, helpers) + "\n\n" + code;
  static constexpr std::string_view kModules[] = {"itertools", "math", "os"};
  const std::string imports = fmt::format(
      "{}import pathlib\n{}\nimport torch\n{}"
      "from safetensors.torch import load_file, save_file\nfrom torch import nn\n\n"
      "HERE = pathlib.Path(__file__).resolve().parent\n",
      imports_used(code, kModules), parts.job ? "import uuid\n" : "",
      code.find("F.") == std::string::npos ? "" : "import torch.nn.functional as F\n");
  const std::string first = first_lines(parts, "PyTorch", "Needs torch and safetensors.");
  return with_class_name(first + imports + code, class_name(parts.graph->name, "Model"));
}

}  // namespace onward::emit
