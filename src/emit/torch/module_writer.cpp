#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "emit/job.h"
#include "emit/source.h"
#include "emit/torch/dialect.h"

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

}  // namespace

std::string torch_class(const SourceParts& parts, const std::string& name) {
  return TorchClass(parts, name).text();
}

}  // namespace onward::emit
