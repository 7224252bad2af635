#include "lower/plain_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/clone.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/builder.h"

namespace onward {
namespace {

constexpr int64_t kFirstIrWithFreeInitializers = 4;

std::set<std::string> state_names(const Model& model) {
  std::set<std::string> names;
  for (const TrainingInfo& info : model.training) {
    for (const Binding& binding : info.initialization_bindings) {
      names.insert(binding.target->name());
    }
    for (const Binding& binding : info.update_bindings) names.insert(binding.target->name());
  }
  return names;
}

void copy_header(const Model& from, Model& to) {
  to.ir_version = std::max(from.ir_version, kFirstIrWithFreeInitializers);
  to.opsets = from.opsets;
  to.producer_name = from.producer_name;
  to.producer_version = from.producer_version;
  to.doc = from.doc;
  to.graph->name = from.graph->name;
  to.graph->doc = from.graph->doc;
}

/// Copies values with what the file says of them.
class Copy {
 public:
  explicit Copy(Graph& to) : to_(to) {}

  void input(const Value& value) {
    Value* copy = to_.add_input(value.name(), value.type);
    if (value.initializer()) to_.set_initializer(copy, *value.initializer());
    note(value, copy);
  }
  void initializer(const Value& value) {
    note(value, to_.add_initializer(value.name(), *value.initializer()));
  }
  void nodes(const Graph& from) {
    for (const auto& node : from.nodes()) clone_node(*node, to_, map_);
  }
  Value* of(Value* value) const { return mapped(map_, value); }

 private:
  void note(const Value& value, Value* copy) {
    copy->type = value.type;
    copy->doc = value.doc;
    copy->metadata = value.metadata;
    map_[&value] = copy;
  }

  Graph& to_;
  ValueMap map_;
};

/// Names that are to be given to certain values, in a graph that may use them for others.
class OutputNames {
 public:
  explicit OutputNames(Model& model) : graph_(*model.graph), names_(model) {
    for (Value* input : graph_.inputs()) by_name_.emplace(input->name(), input);
    for (Value* value : graph_.initializers()) by_name_.emplace(value->name(), value);
    for (const auto& node : graph_.nodes()) {
      for (const auto& output : node->outputs()) {
        if (output) by_name_.emplace(output->name(), output.get());
      }
    }
  }

  void give(size_t index, const std::string& wanted) {
    Value* value = graph_.outputs()[index];
    if (!value->producer() || !named_.insert(value).second) value = identity_of(value, index);
    named_.insert(value);
    if (value->name() == wanted) return;
    if (const auto other = by_name_.find(wanted); other != by_name_.end()) {
      make_way(*other->second, wanted);
    }
    by_name_.erase(value->name());
    graph_.rename(value, wanted);
    by_name_.emplace(wanted, value);
  }

 private:
  Value* identity_of(Value* value, size_t index) {
    Node* node = graph_.add_node("Identity", {value});
    node->opset = inner_opset();
    Value* output = node->add_output(names_.fresh(value->name() + "_out"), value->type);
    by_name_.emplace(output->name(), output);
    graph_.set_output(index, output);
    return output;
  }

  void make_way(Value& other, const std::string& name) {
    if (other.is_input() || named_.contains(&other)) {
      throw Error(fmt::format("two values would be called '{}': rename one in the model", name));
    }
    by_name_.erase(name);
    graph_.rename(&other, names_.fresh(name + "_inside"));
    by_name_.emplace(other.name(), &other);
  }

  Graph& graph_;
  Names names_;
  std::unordered_map<std::string, Value*> by_name_;
  std::unordered_set<const Value*> named_;
};

}  // namespace

PlainStep state_as_inputs(const Model& step, const Model& model) {
  const std::set<std::string> state = state_names(model);
  const auto& bindings = step.training.at(0).update_bindings;
  const auto is_updated = [&](const Value& value) {
    return std::ranges::any_of(bindings, [&](const Binding& b) { return b.target == &value; });
  };
  // IR 3 and older list every initializer as an input, which says nothing.
  const bool defaults_are_constants = step.ir_version < kFirstIrWithFreeInitializers;

  PlainStep plain;
  copy_header(step, plain.model);
  Graph& graph = *plain.model.graph;
  Copy copy(graph);
  for (const Value* input : step.graph->inputs()) {
    const bool constant = input->initializer() && defaults_are_constants;
    if (!state.contains(input->name()) && !constant) copy.input(*input);
  }
  for (const Value* value : step.graph->initializers()) {
    if (state.contains(value->name())) {
      if (is_needed(*value) || is_updated(*value)) copy.input(*value);
    } else if (!value->is_input() || defaults_are_constants) {
      copy.initializer(*value);
    }
  }
  copy.nodes(*step.graph);

  const auto is_bound = [&](const Value* value) {
    return std::ranges::any_of(bindings, [&](const Binding& b) { return b.source == value; });
  };
  for (Value* output : step.graph->outputs()) {
    if (is_bound(output)) continue;
    graph.add_output(copy.of(output));
    plain.output_names.push_back(output->name());
  }
  for (const Binding& binding : bindings) {
    graph.add_output(copy.of(binding.source));
    plain.output_names.push_back(binding.target->name() + ".next");
  }
  return plain;
}

Model finished(const PlainStep& step) {
  Model model = copy_of(step.model);
  OutputNames names(model);
  for (size_t i = 0; i < step.output_names.size(); ++i) names.give(i, step.output_names[i]);
  return model;
}

Model copy_of(const Model& model) {
  Model copied;
  copy_header(model, copied);
  Copy copy(*copied.graph);
  for (const Value* input : model.graph->inputs()) copy.input(*input);
  for (const Value* value : model.graph->initializers()) {
    if (!value->is_input() && is_needed(*value)) copy.initializer(*value);
  }
  copy.nodes(*model.graph);
  for (Value* output : model.graph->outputs()) copied.graph->add_output(copy.of(output));
  return copied;
}

}  // namespace onward
