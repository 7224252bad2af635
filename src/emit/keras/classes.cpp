#include <fmt/format.h>

#include <algorithm>

#include "emit/job.h"
#include "emit/keras/dialect.h"
#include "emit/model_classes.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

constexpr ContainerWords kContainers = {
    .list_open = "[",
    .list_close = "]",
    .dict_open = "{",
    .dict_close = "}",
    .no_list = "[]",
    .no_dict = "{}",
    .identity = "layers.Identity()",
    .layers = "layers.",
    .chain_open = "keras.Sequential([",
    .chain_close = "])",
    .chain_all = "keras.Sequential([{}])",
    .numbered = "",
};

constexpr std::string_view kSteps = R"(
    def train_step(self, *arguments):
        return self.step(super().train_step, arguments)

    def test_step(self, *arguments):
        return self.step(super().test_step, arguments)

    def step(self, step, arguments):
        """In a step of Keras, `call` gives what the loss reads, also where nothing is trained."""
        self.in_step = True
        try:
            return step(*arguments)
        finally:
            self.in_step = False
)";

constexpr std::string_view kMetrics = R"(
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Metrics read what the model gives{1}."""
        return super().compute_metrics(x, y, {0}, sample_weight)
)";

constexpr std::string_view kTrainable = R"(
    @property
    def trainable_weights(self):
        """All but what keeps its values."""
        kept = {{id(each) for each in ({},)}} if self.built else set()
        return [each for each in super().trainable_weights if id(each) not in kept]

    trainable_variables = trainable_weights
)";

/// Whether a float of another type than the model's own is computed with anywhere: then Keras must
/// not convert arguments.
bool has_other_floats(const Graph& graph, DType main_float) {
  const auto other = [&](const Value* value) {
    return value && is_float(value->type.dtype) && value->type.dtype != main_float;
  };
  if (std::ranges::any_of(graph.inputs(), other)) return true;
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    const auto graphs = node->subgraphs();
    return std::ranges::any_of(node->outputs(),
                               [&](const auto& output) { return other(output.get()); }) ||
           std::ranges::any_of(
               graphs, [&](const Graph* each) { return has_other_floats(*each, main_float); });
  });
}

class KerasClasses : public ModelClasses {
 public:
  KerasClasses(const SourceParts& parts, std::string name)
      : ModelClasses(parts, std::move(name), predictions_of(parts), kContainers),
        keeps_floats_(has_other_floats(*parts.graph, parts.module->context().main_float)) {
    if (predictions() != results() && predictions().size() != 1) {
      throw Error("a loss of Keras reads one prediction; torch takes more");
    }
  }

 private:
  static std::vector<const Value*> predictions_of(const SourceParts& parts) {
    if (parts.job && !keras::looks_through(*parts.job)) return parts.job->predictions;
    return {parts.graph->outputs().begin(), parts.graph->outputs().end()};
  }

  /// The loss reads something that the model does not give, so that `call` gives it in steps.
  bool gives_predictions() const { return predictions() != results(); }

  std::string text_of(const SharedClass& shared, std::string_view base) const {
    std::string parameters;
    for (const std::string& parameter : shared.parameters) parameters += ", " + parameter;
    std::string text = fmt::format("@keras.saving.register_keras_serializable()\nclass {}({}):\n",
                                   shared.name, base);
    if (!shared.init_lines.empty()) {
      text += fmt::format("    def __init__(self{}, **kwargs):\n{}\n", parameters,
                          indented(shared.init_lines, 2));
    }
    return text + indented(shared.other_lines, 1);
  }

  std::string class_text(const SharedClass& shared) const override {
    return text_of(shared, "layers.Layer");
  }

  std::string model_class_text(const Scope& root, const ModuleText& model) override {
    std::vector<std::string> init;
    for (const std::string& line : model.init_lines) init.push_back(plain_sizes(line));
    std::string text = text_of({name(), {}, init, model.other_lines}, "keras.Model");
    if (gives_predictions()) text += steps_text(root);
    return text + trainable_text();
  }

  // Functions.

  std::vector<std::string> function_lines(const Scope& scope) override {
    Body body(module().context(), scope.path);
    std::vector<std::string> arguments =
        scope.path.empty() ? model_arguments(body) : scope_arguments(scope, body);
    if (scope.path.empty()) {
      write_model(scope, body);
    } else {
      write_items(scope, scope.items, body);
      std::vector<std::string> names;
      for (const Value* output : scope.outputs) {
        names.push_back(body.tensor(output, forms().of(output)));
      }
      body.add_line(fmt::format("return {}", fmt::join(names, ", ")));
    }
    std::vector<std::string> lines = body.written(arguments);
    for (std::string& line : lines) line = line.empty() ? line : "    " + line;
    arguments.insert(arguments.begin(), "self");
    if (scope.path.empty()) {
      if (real_inputs(graph()).size() > 1) arguments.emplace_back("inputs");
      if (asks_for_training()) arguments.emplace_back("training=False");
    }
    lines.insert(lines.begin(), fmt::format("def call({}):", fmt::join(arguments, ", ")));
    return lines;
  }

  std::vector<std::string> scope_arguments(const Scope& scope, Body& body) const {
    std::vector<std::string> arguments;
    for (const Value* input : scope.inputs) {
      arguments.push_back(body.add_argument(input, forms().wanted(scope, input)));
    }
    return arguments;
  }

  /// Keras hands several inputs over as one list.
  std::vector<std::string> model_arguments(Body& body) const {
    const auto inputs = real_inputs(graph());
    if (inputs.size() > 1) body.reserve("inputs");
    std::vector<std::string> names;
    for (const Value* input : inputs) {
      names.push_back(inputs.size() == 1 ? body.add_argument(input)
                                         : body.declare(input, Form::plain, {input->name(), true}));
    }
    if (inputs.size() < 2) return names;
    body.add_line(fmt::format("{} = inputs", fmt::join(names, ", ")));
    return {};
  }

  void write_model(const Scope& root, Body& body) {
    if (!gives_predictions()) {
      write_items(root, root.items, body);
      body.add_line(fmt::format("return {}", names_of(body, results())));
      return;
    }
    const auto first = items_for(root, predictions());
    write_items(root, first, body);
    const std::string read = names_of(body, predictions());
    body.open_block("if training or self.in_step:");
    body.add_statement(fmt::format("return {}  # what the loss reads", read));
    body.close_block();
    if (results_follow()) {
      body.add_line(fmt::format("return self.results({})", read));
      return;
    }
    write_items(root, without(root.items, first), body);
    body.add_line(fmt::format("return {}", names_of(body, results())));
  }

  static std::vector<ScopeItem> without(std::vector<ScopeItem> items,
                                        const std::vector<ScopeItem>& others) {
    std::erase_if(items, [&](const ScopeItem& item) {
      return std::ranges::find(others, item) != others.end();
    });
    return items;
  }

  /// Whether results can be computed from what the loss reads, without the model's inputs.
  bool results_follow() const {
    std::vector<const Value*> open = results();
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      if (!value || value == predictions()[0] || value->initializer()) continue;
      if (!value->producer()) return false;
      for (const Value* input : value->producer()->inputs()) open.push_back(input);
    }
    return true;
  }

  /// What a step does where the loss does not read the model's result, which metrics need too.
  std::string steps_text(const Scope& root) {
    std::string text, all = "self(x)";
    const bool follow = results_follow();
    if (follow) {
      Body body(module().context(), "");
      std::vector<std::string> arguments = {body.add_argument(predictions()[0])};
      write_items(root, without(root.items, items_for(root, predictions())), body);
      body.add_line(fmt::format("return {}", names_of(body, results())));
      const auto lines = body.written(arguments);
      text = fmt::format("\n    def results(self, {}):\n{}", arguments[0], indented(lines, 2));
      all = "self.results(y_pred)";
    }
    if (results().size() > 1) all += "[0]";
    return text + std::string(kSteps) +
           fmt::format(kMetrics, all, follow ? "" : ", as it does by itself");
  }

  /// Layers inside of others learn from Keras whether they are in training, if the model does.
  bool asks_for_training() const {
    return gives_predictions() ||
           std::ranges::any_of(module().layers(), &Layer::changes_in_training);
  }

  // Constructors.

  std::vector<std::string> init_lines(const Scope& scope,
                                      const std::vector<std::string>& modules) override {
    const bool is_model = scope.path.empty();
    std::vector<std::string> lines = {
        fmt::format("super().__init__({}**kwargs)", keeps_floats_ ? "autocast=False, " : "")};
    lines.insert(lines.end(), modules.begin(), modules.end());
    const Body body(module().context(), scope.path);
    for (const Value* value : tensors_of(scope)) lines.push_back(tensor_line(value, body));
    if (is_model && gives_predictions()) lines.emplace_back("self.in_step = False");
    if (is_model && module().context().has_open_loops) {  // Keras compiles by XLA where it can
      lines.emplace_back(
          "self.supports_jit = False  # XLA has no gradient of loops that data ends");
    }
    if (lines.size() == 1 && !keeps_floats_) lines.clear();
    return lines;
  }

  std::string tensor_line(const Value* value, const Body& body) {
    SourceContext& context = module().context();
    const HeldTensor& held = context.held.at(value);
    const DType dtype = value->type.dtype;
    const bool is_main = dtype == context.main_float;
    return fmt::format("{} = self.add_weight(shape={}{}{}, name={})", body.attribute(held.path),
                       python_tuple(held.dims),
                       is_main ? "" : fmt::format(", dtype=\"{}\"", python_dtype(dtype)),
                       held.trained ? "" : ", trainable=False",
                       python_string(held.path.substr(held.path.rfind('.') + 1)));
  }

  /// Layers of which a part is trained can't be told so when they are made.
  std::string trainable_text() {
    if (!module().training().is_job) return "";
    const Body body(module().context(), "");
    std::vector<std::string> kept;
    for (const Layer& layer : module().layers()) {
      const auto is_trained = [&](const LayerTensor& tensor) {
        return module().context().held.at(tensor.value).trained;
      };
      const bool has_any = std::ranges::any_of(layer.tensors, is_trained);
      for (const LayerTensor& tensor : layer.tensors) {
        const bool is_statistic = tensor.attribute.starts_with("moving_");
        const bool may_change = has_any || layer.changes_in_training;
        if (is_trained(tensor) || is_statistic || !may_change) continue;
        kept.push_back(fmt::format("{}.{}", body.attribute(layer.path), tensor.attribute));
      }
    }
    return kept.empty() ? "" : fmt::format(kTrainable, fmt::join(kept, ", "));
  }

  bool keeps_floats_;
};

}  // namespace

std::string keras_classes(const SourceParts& parts, const std::string& name) {
  return KerasClasses(parts, name).text();
}

}  // namespace onward::emit
