#include "emit/loss.h"

#include <fmt/format.h>

#include "emit/source.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// More would be data, which has no place in a source.
constexpr int64_t kMaxWrittenOut = 64;

/// The label that nn.CrossEntropyLoss ignores unless it is told of another.
constexpr int64_t kTorchIgnores = -100;

std::string nested_list(const Tensor& tensor, size_t axis, int64_t& next) {
  if (axis == tensor.dims().size()) return python_element(tensor, next++);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < tensor.dims()[axis]; ++i) {
    parts.push_back(nested_list(tensor, axis + 1, next));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// A constant of the loss, which is no tensor of the model: written out.
std::string constant_text(Target target, const Tensor& tensor) {
  if (tensor.size() > kMaxWrittenOut) {
    throw Error(fmt::format("a constant of {} elements can't be written out", tensor.size()));
  }
  int64_t next = 0;
  const std::string list = nested_list(tensor, 0, next), dtype = python_dtype(tensor.dtype());
  return target == Target::torch
             ? fmt::format("torch.tensor({}, dtype=torch.{})", list, dtype)
             : fmt::format("ops.convert_to_tensor({}, dtype=\"{}\")", list, dtype);
}

// Keras gives a plain function labels and predictions that it has brought to the same rank; a Loss
// gets them as they are.
constexpr std::string_view kKerasLoss = R"(class Loss(keras.losses.Loss):
    def call(self, {}):
{}        return {}
)";

constexpr std::string_view kTorchLoss = R"(def loss_function({}):
{}    return {}
)";

/// The loss's nodes as a function of what it reads.
std::string function_text(Target target, const Job& job, std::set<std::string>& helpers) {
  const Graph& graph = *job.step_graph.graph;
  std::unordered_set<const Value*> state;
  for (const Binding& binding : job.step_graph.training[0].update_bindings) {
    state.insert(binding.target);
  }
  const Known known(graph, state);
  SourceContext context;
  context.target = target;
  context.known = &known;
  context.hold = [&](const Value* value) {
    const Tensor* tensor = known.find(value);
    if (!tensor) throw Error(fmt::format("the loss reads the state '{}'", value->name()));
    context.held[value] = {.value = value, .expression = constant_text(target, *tensor)};
  };
  Body body(context);
  std::vector<std::string> predictions, labels;
  for (size_t i = 0; i < job.predictions.size(); ++i) {
    predictions.push_back(body.add_argument(job.predictions_in_step[i]));
  }
  for (const Value* label : job.labels) {
    labels.push_back(body.add_argument(label));
    // Keras hands labels over as floats, whatever they were.
    if (target == Target::keras && !is_float(label->type.dtype)) {
      body.add_line(fmt::format("{0} = ops.cast({0}, \"{1}\")", labels.back(),
                                python_dtype(label->type.dtype)));
    }
  }
  // Torch's losses take the prediction first, Keras's the label.
  auto& first = target == Target::torch ? predictions : labels;
  const auto& second = target == Target::torch ? labels : predictions;
  first.insert(first.end(), second.begin(), second.end());

  std::vector<std::string> refusals;
  const Value* results[] = {job.loss_value};
  // Only the nodes between what is read and the loss.
  for (const Node* node : needed_nodes(graph, results, known, body)) {
    try {
      write_call(*node, body);
    } catch (const Error& error) {
      refusals.push_back(fmt::format("{} '{}': {}", node->op, node->label(), error.what()));
      for (const auto& output : node->outputs()) {
        if (output && !body.has(output.get())) body.declare(output.get(), Form::plain);
      }
    }
  }
  if (!refusals.empty()) {
    throw Error(fmt::format("{} can't say this loss exactly:\n  {}", name(target),
                            fmt::join(refusals, "\n  ")));
  }
  const std::string result = body.tensor(job.loss_value);
  helpers.merge(context.helpers);
  const bool is_torch = target == Target::torch;
  return fmt::format(fmt::runtime(is_torch ? kTorchLoss : kKerasLoss), fmt::join(first, ", "),
                     indented(body.lines(), is_torch ? 1 : 2), result);
}

/// Whether Keras would take what the value is computed from for logits: its losses look through a
/// Sigmoid or Softmax, even where they are told that they read logits.
bool keras_looks_through(const Value* value) {
  const Node* node = value->producer();
  while (node && (node->op == "Identity" || node->op == "Dropout")) {
    node = node->input(0)->producer();
  }
  return node && (node->op == "Sigmoid" || node->op == "Softmax");
}

/// Whether Keras's class reads the prediction as the loss does.
bool keras_reads(const LossDef& loss, const Value* prediction) {
  const auto dimensions = rank(prediction);
  // It has the classes in the last dimension.
  if (loss.label == Label::classes && dimensions != 2) return false;
  // It would bring labels to the rank of predictions, where that is not what they have.
  if (loss.label == Label::like_prediction && !dimensions) return false;
  return !loss.reads_logits() || !keras_looks_through(prediction);
}

LossText written(Target target, const Job& job, std::set<std::string>& helpers) {
  return {function_text(target, job, helpers),
          target == Target::torch ? "loss_function" : "Loss()"};
}

}  // namespace

LossText torch_loss(const Job& job, std::set<std::string>& helpers) {
  if (!job.loss) return written(Target::torch, job, helpers);
  std::vector<std::string> arguments;
  if (job.ignore_index.value_or(kTorchIgnores) != kTorchIgnores) {
    arguments.push_back(fmt::format("ignore_index={}", *job.ignore_index));
  }
  if (job.reduction == Reduction::sum) arguments.emplace_back("reduction=\"sum\"");
  return {{}, fmt::format("nn.{}({})", job.loss->torch.name, fmt::join(arguments, ", "))};
}

LossText keras_loss(const Job& job, std::set<std::string>& helpers) {
  if (job.predictions.size() != 1 || job.labels.size() != 1) {
    throw Error(fmt::format(
        "a loss of Keras reads one prediction and one label, this one {} and {}; torch takes it",
        job.predictions.size(), job.labels.size()));
  }
  // Keras's sum is that of means over the last dimension, and it counts other labels.
  const bool plain = job.loss && job.reduction == Reduction::mean && !job.ignore_index;
  if (!plain || !keras_reads(*job.loss, job.predictions[0])) {
    return written(Target::keras, job, helpers);
  }
  return {{}, fmt::format("keras.losses.{}({})", job.loss->keras.name, job.loss->keras.arguments)};
}

}  // namespace onward::emit
