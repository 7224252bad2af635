#include <fmt/format.h>

#include <algorithm>

#include "emit/job.h"
#include "emit/keras/dialect.h"
#include "emit/source.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Whether a float of another type than the model's own is computed with anywhere: then Keras must
/// not convert arguments.
bool has_other_floats(const Graph& graph, DType main_float) {
  const auto other = [&](const Value* value) {
    return value && is_float(value->type.dtype) && value->type.dtype != main_float;
  };
  if (std::ranges::any_of(graph.inputs(), other)) return true;
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    return std::ranges::any_of(node->outputs(),
                               [&](const auto& output) { return other(output.get()); });
  });
}

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

class KerasClass {
 public:
  KerasClass(const SourceParts& parts, std::string name)
      : graph_(*parts.graph), module_(*parts.module), job_(parts.job), name_(std::move(name)) {}

  /// The class, once its call function is written, which is where tensors are met.
  std::string text() {
    const std::string call = call_text();
    std::string text = fmt::format("class {}(keras.Model):\n", name_);
    text += "    def __init__(self):\n        super().__init__(" + init_options() + ")\n";
    if (call.find("self.in_step") != std::string::npos) text += "        self.in_step = False\n";
    text += indented(layer_lines(), 2);
    text += "\n    def build(self, input_shape=None):\n" + indented(build_lines(), 2);
    text += "\n" + call;
    text +=
        "\n    def tensors(self):\n"
        "        \"\"\"Variables by their names in weights.safetensors.\"\"\"\n"
        "        return {\n" +
        indented(tensor_lines(), 3) + "        }\n";
    return text;
  }

 private:
  std::string init_options() const {
    std::string options = fmt::format("name={}", python_string(identifier(graph_.name)));
    if (has_other_floats(graph_, module_.context().main_float)) options += ", autocast=False";
    return options;
  }

  /// The functions that compute: where the loss reads no result of the model, results are computed
  /// from what it reads by a function of their own, which metrics need too.
  std::string call_text() {
    const std::vector<const Value*> results(graph_.outputs().begin(), graph_.outputs().end());
    if (!job_ || job_->predictions == results) {
      Body body(module_.context());
      const std::string arguments = call_arguments(body);
      return function_text("call", arguments, body, results);
    }
    if (job_->predictions.size() != 1) {
      throw Error("a loss of Keras reads one prediction; torch takes more");
    }
    const Value* read = job_->predictions[0];
    Body body(module_.context());
    const std::string arguments = call_arguments(body);
    module_.write(body, job_->predictions);
    const std::string variable = body.tensor(read);
    body.add_line("if training or self.in_step:");
    body.add_line(fmt::format("    return {}  # what the loss reads", variable));
    const bool follow = follow_from(read, results);
    std::string text;
    if (follow) {
      body.add_line(fmt::format("return self.results({})", variable));
      text = fmt::format("    def call({}):\n{}", arguments, indented(body.lines(), 2));
      Body rest(module_.context());
      const std::string argument = rest.add_argument(read);
      text += "\n" + function_text("results", "self, " + argument, rest, results);
    } else {
      text = function_text("call", arguments, body, results);
    }
    text += kSteps;
    const std::string all = follow ? "self.results(y_pred)" : "self(x)";
    return text + fmt::format(kMetrics, results.size() == 1 ? all : all + "[0]",
                              follow ? "" : ", as it does by itself");
  }

  /// Whether results can be computed from one value, without the model's inputs.
  bool follow_from(const Value* read, const std::vector<const Value*>& results) const {
    std::vector<const Value*> open = results;
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      if (!value || value == read || module_.context().known->find(value)) continue;
      if (!value->producer() && !value->initializer()) return false;
      if (!value->producer()) continue;
      for (const Value* input : value->producer()->inputs()) open.push_back(input);
    }
    return true;
  }

  std::string call_arguments(Body& body) const {
    std::vector<std::string> names;
    for (const Value* input : real_inputs(graph_)) names.push_back(body.add_argument(input));
    std::string arguments = "self";
    if (names.size() == 1) {
      arguments += ", " + names[0];
    } else if (!names.empty()) {
      // Keras hands several inputs over as one list.
      arguments += ", inputs";
      body.add_line(fmt::format("{} = inputs", fmt::join(names, ", ")));
    }
    return arguments + (asks_for_training() ? ", training=False" : "");
  }

  /// A function that gives `results`, of which the body may have some already.
  std::string function_text(std::string_view function, const std::string& arguments, Body& body,
                            const std::vector<const Value*>& results) {
    module_.write(body, results);
    std::vector<std::string> given;
    for (const Value* result : results) given.push_back(body.tensor(result));
    return fmt::format("    def {}({}):\n{}        return {}\n", function, arguments,
                       indented(body.lines(), 2), fmt::join(given, ", "));
  }

  bool asks_for_training() const {
    return job_ || std::ranges::any_of(module_.layers(), [](const Layer& layer) {
             return layer.options.find("=training") != std::string::npos;
           });
  }

  std::vector<std::string> layer_lines() const {
    std::vector<std::string> lines;
    for (const Layer& layer : module_.layers()) {
      if (!layer.padding.empty()) {
        lines.push_back(fmt::format("self.{}_padding = {}", layer.path, layer.padding));
      }
      std::string constructor = layer.constructor;
      constructor.pop_back();
      lines.push_back(fmt::format("self.{} = {}{}name=\"{}\")", layer.path, constructor,
                                  constructor.ends_with("(") ? "" : ", ", layer.path));
    }
    return lines;
  }

  std::vector<std::string> build_lines() const {
    std::vector<std::string> lines;
    for (const Layer& layer : module_.layers()) {
      if (!layer.build_shape.empty()) {
        lines.push_back(fmt::format("self.{}.build({})", layer.path, layer.build_shape));
      }
    }
    for (const Value* value : module_.plain_tensors()) {
      const HeldTensor& held = module_.context().held.at(value);
      lines.push_back(fmt::format(
          "{} = self.add_weight(shape={}, dtype=\"{}\", initializer=\"zeros\", trainable={}, "
          "name=\"{}\")",
          held.expression, python_tuple(held.dims), python_dtype(value->type.dtype),
          python_bool(held.trained), module_.path_of(value)));
    }
    add_freezing(lines);
    if (lines.empty()) lines.emplace_back("pass");
    return lines;
  }

  /// What the job does not train keeps its values.
  void add_freezing(std::vector<std::string>& lines) const {
    if (!module_.training().is_job) return;
    for (const Layer& layer : module_.layers()) {
      for (const LayerTensor& tensor : layer.tensors) {
        const HeldTensor& held = module_.context().held.at(tensor.value);
        const bool is_statistic = tensor.attribute.starts_with("moving_");
        if (!held.trained && !is_statistic) {
          lines.push_back(fmt::format("{}.trainable = False", held.expression));
        }
      }
    }
  }

  std::vector<std::string> tensor_lines() const {
    std::vector<std::string> lines;
    const auto add = [&](const Value* value) {
      const HeldTensor& held = module_.context().held.at(value);
      lines.push_back(fmt::format("{}: {},", python_string(held.key), held.expression));
    };
    for (const Layer& layer : module_.layers()) {
      for (const LayerTensor& tensor : layer.tensors) add(tensor.value);
    }
    for (const Value* value : module_.plain_tensors()) add(value);
    return lines;
  }

  const Graph& graph_;
  Module& module_;
  const Job* job_;
  std::string name_;
};

}  // namespace

std::string keras_class(const SourceParts& parts, const std::string& name) {
  return KerasClass(parts, name).text();
}

}  // namespace onward::emit
