#include "recipe/head_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "infer/infer.h"
#include "ir/clone.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/free_batch.h"

namespace onward {
namespace {

std::string described(const Value& value) {
  return fmt::format("'{}' {}", value.name(), to_string(value.type));
}

Value* only_input(const Graph& graph) {
  Value* found = nullptr;
  int count = 0;
  for (Value* input : graph.inputs()) {
    if (input->initializer()) continue;
    found = input;
    ++count;
  }
  if (count != 1) {
    throw Error(
        fmt::format("a head must have one input, what the classifier took, but has {}", count));
  }
  return found;
}

/// What the head fixes must be so in the model: only then it is computed as the head says.
void require_fit(const Value& features, const Value& input) {
  auto reason = conflict(features.type, input.type);
  const bool has_shapes = features.type.shape && input.type.shape;
  for (size_t i = 0; !reason && input.type.shape && i < input.type.shape->size(); ++i) {
    const auto wanted = (*input.type.shape)[i].value;
    if (wanted && (!has_shapes || !(*features.type.shape)[i].value)) {
      reason = fmt::format("dimension {} is open in the model, and {} in the head", i, *wanted);
    }
  }
  if (!reason) return;
  throw Error(fmt::format("the head takes {}, but the classifier that it replaces takes {}: {}",
                          described(input), described(features), *reason));
}

void import_domains(Model& model, const Model& head) {
  for (const OpsetImport& import : head.opsets) {
    const auto ours = model.opset(import.domain);
    if (!ours) {
      model.opsets.push_back(import);
    } else if (*ours != import.version) {
      throw Error(fmt::format("the head is written for version {} of domain '{}', the model for {}",
                              import.version, import.domain, *ours));
    }
  }
  model.ir_version = std::max(model.ir_version, head.ir_version);
}

/// Copies initializers and nodes, whose names give way to the model's.
std::vector<Value*> copy_in(Model& model, const Graph& head, ValueMap& map) {
  Graph& graph = *model.graph;
  Names names(model);
  std::vector<Value*> initializers;
  for (const Value* value : head.initializers()) {
    Value* copy = graph.add_initializer(names.fresh(value->name()), *value->initializer());
    copy->doc = value->doc;
    copy->metadata = value->metadata;
    map[value] = copy;
    initializers.push_back(copy);
  }
  for (const auto& node : head.nodes()) {
    const Node* copy = clone_node(*node, graph, map);
    for (const auto& output : copy->outputs()) {
      if (!output) continue;
      graph.rename(output.get(), names.fresh(output->name()));
      output->type = without_shapes(output->type);  // its symbols are not the model's
    }
  }
  return initializers;
}

}  // namespace

NewHead replace_head(Model& model, const Classifier& classifier, size_t output, Model head) {
  Graph& graph = *model.graph;
  Value* features = classifier.features;
  const bool is_open =
      rank(features) && *rank(features) > 0 && !features->type.shape->front().value;
  if (is_open) free_batch(head);
  const Value* input = only_input(*head.graph);
  require_fit(*features, *input);
  import_domains(model, head);
  const std::string replaced =
      fmt::format("{} '{}'", classifier.layer->op, classifier.layer->label());

  Value* old = graph.outputs()[output];
  graph.set_output(output, features);  // stays needed
  remove_unread(graph, old);
  ValueMap map = {{input, features}};
  NewHead result{.tensors = copy_in(model, *head.graph, map)};
  std::vector<std::string> outputs;
  for (size_t i = 0; i < head.graph->outputs().size(); ++i) {
    Value* made = mapped(map, head.graph->outputs()[i]);
    if (!made->producer() || made == features) {
      throw Error(fmt::format("no node of the head computes its output '{}'", made->name()));
    }
    if (i == 0) {
      graph.set_output(output, made);
    } else {
      graph.add_output(made);
    }
  }
  model.source.reset();
  Problems problems;
  infer_types(model, problems);
  problems.throw_if_errors();
  for (Value* made : head.graph->outputs()) outputs.push_back(described(*mapped(map, made)));
  result.notes.push_back(fmt::format("the head takes {} in place of {}, and makes {}",
                                     described(*features), replaced, fmt::join(outputs, ", ")));
  return result;
}

}  // namespace onward
