#include <fmt/format.h>

#include <algorithm>

#include "emit/job.h"
#include "emit/model_classes.h"
#include "emit/torch/dialect.h"

namespace onward::emit {
namespace {

constexpr ContainerWords kWords = {
    .list_open = "nn.ModuleList([",
    .list_close = "])",
    .dict_open = "nn.ModuleDict({",
    .dict_close = "})",
    .no_list = "nn.ModuleList()",
    .no_dict = "nn.ModuleDict()",
    .identity = "nn.Identity()",
    .layers = "nn.",
    .chain_open = "nn.Sequential(",
    .chain_close = ")",
    .chain_all = "nn.Sequential(*[{}])",
    .numbered = "self.add_module(\"{}\", {}",
};

class TorchClasses : public ModelClasses {
 public:
  TorchClasses(const SourceParts& parts, std::string name)
      : ModelClasses(parts, std::move(name), predictions_of(parts), kWords) {}

 private:
  static std::vector<const Value*> predictions_of(const SourceParts& parts) {
    if (parts.job) return parts.job->predictions;
    return {parts.graph->outputs().begin(), parts.graph->outputs().end()};
  }

  static std::string text_of(const SharedClass& shared, std::string_view base) {
    std::string text = fmt::format("class {}(nn.{}):\n", shared.name, base);
    if (!shared.init_lines.empty()) {
      std::string parameters;
      for (const std::string& parameter : shared.parameters) parameters += ", " + parameter;
      text += fmt::format("    def __init__(self{}):\n{}{}", parameters,
                          indented(shared.init_lines, 2), shared.other_lines.empty() ? "" : "\n");
    }
    return text + indented(shared.other_lines, 1);
  }

  std::string class_text(const SharedClass& shared) const override {
    return text_of(shared, "Module");
  }

  /// Where all modules of the model are numbered, it is a Sequential itself.
  std::string model_class_text(const Scope& root, const ModuleText& model) override {
    std::vector<std::string> init;
    for (const std::string& line : model.init_lines) init.push_back(plain_sizes(line));
    const bool is_list = module().context().lists.contains("");
    const bool is_plain = is_list && predictions() == results() &&
                          chains().is_all(root, real_inputs(graph()), results());
    return text_of({name(), {}, init, is_plain ? std::vector<std::string>{} : model.other_lines},
                   is_list ? "Sequential" : "Module") +
           train_text();
  }

  std::vector<std::string> function_lines(const Scope& scope) override {
    Body body(module().context(), scope.path);
    const bool is_model = scope.path.empty();
    std::vector<std::string> arguments;
    for (const Value* input : is_model ? real_inputs(graph()) : scope.inputs) {
      arguments.push_back(body.add_argument(input));
    }
    std::vector<ScopeItem> items = scope.items;
    if (is_model && predictions() != results()) {
      const auto first = items_for(scope, predictions());
      write_items(scope, first, body);
      std::erase_if(items, [&](const ScopeItem& item) {
        return std::ranges::find(first, item) != first.end();
      });
      const std::string read = names_of(body, predictions());
      body.open_block("if self.training:");
      body.add_statement(fmt::format("return {}  # what the loss reads", read));
      body.close_block();
    }
    write_items(scope, items, body);
    body.add_line(fmt::format("return {}", names_of(body, is_model ? results() : scope.outputs)));
    std::vector<std::string> lines = body.written(arguments);
    for (std::string& line : lines) line = line.empty() ? line : "    " + line;
    arguments.insert(arguments.begin(), "self");
    lines.insert(lines.begin(), fmt::format("def forward({}):", fmt::join(arguments, ", ")));
    return lines;
  }

  std::vector<std::string> init_lines(const Scope& scope,
                                      const std::vector<std::string>& modules) override {
    std::vector<std::string> lines = {"super().__init__()"};
    if (scope.path.empty() && module().context().lists.contains("")) {
      lines = {"super().__init__("};
      for (const std::string& module : numbered_modules(scope)) {
        for (std::string& line : lines_of(module + ",")) lines.push_back("    " + std::move(line));
      }
      lines.emplace_back(")");
    } else {
      lines.insert(lines.end(), modules.begin(), modules.end());
    }
    const Body body(module().context(), scope.path);
    for (const Value* value : tensors_of(scope)) lines.push_back(tensor_line(value, body));
    if (scope.path.empty()) add_freezing(lines, body);
    if (lines.size() == 1) lines.clear();
    return lines;
  }

  std::string tensor_line(const Value* value, const Body& body) {
    const HeldTensor& held = module().context().held.at(value);
    const DType dtype = value->type.dtype;
    const std::string made = fmt::format(
        "torch.empty({}{})",
        held.dims.empty() ? "()" : fmt::format("{}", fmt::join(held.dims, ", ")),
        dtype == DType::f32 ? "" : fmt::format(", dtype=torch.{}", python_dtype(dtype)));
    if (held.trained) return fmt::format("{} = nn.Parameter({})", body.attribute(held.path), made);
    const std::string parent(parent_path(held.path));
    const std::string owner = owner_of(held.path) == parent ? "self" : body.attribute(parent);
    return fmt::format("{}.register_buffer(\"{}\", {})", owner,
                       held.path.substr(parent.empty() ? 0 : parent.size() + 1), made);
  }

  static std::string frozen(const Layer& layer, const std::string& attribute, const Body& body) {
    return fmt::format("{}.{}.requires_grad_(False)", body.attribute(layer.path), attribute);
  }

  /// What the job does not train keeps its values.
  void add_freezing(std::vector<std::string>& lines, const Body& body) {
    if (!module().training().is_job) return;
    for (const Layer& layer : module().layers()) {
      for (const LayerTensor& tensor : layer.tensors) {
        const HeldTensor& held = module().context().held.at(tensor.value);
        const bool is_buffer = tensor.attribute.starts_with("running_");
        if (!held.trained && !is_buffer) lines.push_back(frozen(layer, tensor.attribute, body));
      }
      for (const OwnTensor& own : layer.own) lines.push_back(frozen(layer, own.attribute, body));
    }
  }

  std::string train_text() {
    const Body body(module().context(), "");
    std::vector<std::string> frozen;
    for (const Layer& layer : module().layers()) {
      if (layer.stays_in_eval) {
        frozen.push_back(fmt::format("{}.eval()", body.attribute(layer.path)));
      }
    }
    if (frozen.empty()) return "";
    return "\n    def train(self, mode=True):\n"
           "        \"\"\"The statistics of these normalizations stay as they are.\"\"\"\n"
           "        super().train(mode)\n" +
           indented(frozen, 2) + "        return self\n";
  }
};

}  // namespace

std::string torch_classes(const SourceParts& parts, const std::string& name) {
  return TorchClasses(parts, name).text();
}

}  // namespace onward::emit
