#include "format/draft/info.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <unordered_map>

#include "ir/utf8.h"
#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using NameSet = std::unordered_set<std::string>;

constexpr std::string_view kTrainingOperators[] = {"Gradient", "Adagrad", "Adam", "Momentum"};

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

/// Makes one training info. The algorithm's names live beside those of the inference graph now:
/// what it computes again under a name of the graph is either the graph's value or gets a new name.
class InfoConverter {
 public:
  InfoConverter(const DraftInfo& draft, const onnx::GraphProto& graph, const NameSet& functions);

  onnx::TrainingInfoProto convert();

 private:
  void add_node(onnx::NodeProto node);
  void add_mean_squared_error(const onnx::NodeProto& node);
  void order_gradient_inputs(onnx::NodeProto& node) const;
  const onnx::NodeProto* same_call(const onnx::NodeProto& node) const;
  void add_outputs();
  void add_binding(const onnx::StringStringEntryProto& binding);
  std::string fresh(const std::string& base);
  std::string renamed(const std::string& name) const;
  void define(std::string& name);
  const onnx::TensorProto* find_state(const std::string& name) const;

  const DraftInfo& draft_;
  const onnx::GraphProto& inference_;
  const NameSet& functions_;
  NameSet graph_names_;

  onnx::TrainingInfoProto info_;
  onnx::GraphProto& algorithm_;
  NameSet initializers_, computed_, outputs_;
  std::unordered_map<std::string, const onnx::TensorProto*> state_;
  std::unordered_map<std::string, std::string> renames_;
};

InfoConverter::InfoConverter(const DraftInfo& draft, const onnx::GraphProto& graph,
                             const NameSet& functions)
    : draft_(draft),
      inference_(graph),
      functions_(functions),
      algorithm_(*info_.mutable_algorithm()) {
  for (const auto& input : graph.input()) graph_names_.insert(input.name());
  for (const auto& initializer : graph.initializer()) {
    graph_names_.insert(initializer.name());
    state_[initializer.name()] = &initializer;
  }
  for (const auto& node : graph.node()) {
    graph_names_.insert(node.output().begin(), node.output().end());
  }
}

onnx::TrainingInfoProto InfoConverter::convert() {
  algorithm_.set_name(draft_.algorithm.name());
  for (const auto& initializer : draft_.initializers) {
    if (graph_names_.contains(initializer.name())) {
      throw Error(fmt::format("'{}' is defined by the graph, and by the draft's training_info too",
                              printable(initializer.name())));
    }
    initializers_.insert(initializer.name());
    state_[initializer.name()] = &initializer;
    *algorithm_.add_initializer() = initializer;
  }
  for (const auto& input : draft_.inputs) {
    const std::string& name = input.name();
    if (!graph_names_.contains(name) && !initializers_.contains(name)) {
      *algorithm_.add_input() = input;
    }
  }
  for (const auto& node : draft_.algorithm.node()) add_node(node);
  add_outputs();
  for (const auto& binding : draft_.bindings) add_binding(binding);
  return std::move(info_);
}

std::string InfoConverter::renamed(const std::string& name) const {
  const auto found = renames_.find(name);
  return found == renames_.end() ? name : found->second;
}

std::string InfoConverter::fresh(const std::string& base) {
  std::string name = base;
  while (graph_names_.contains(name) || initializers_.contains(name) || computed_.contains(name)) {
    name += "_";
  }
  return name;
}

/// Gives an output of the algorithm a name that the inference graph does not have.
void InfoConverter::define(std::string& name) {
  if (name.empty()) return;
  if (graph_names_.contains(name)) {
    const std::string other = fresh(name + "_in_training");
    renames_[name] = other;
    name = other;
  } else {
    renames_.erase(name);
  }
  computed_.insert(name);
}

void InfoConverter::add_node(onnx::NodeProto node) {
  if (std::ranges::any_of(node.attribute(), [](const auto& a) { return a.has_g(); })) {
    throw Error(fmt::format("a node with a subgraph ({}) in the draft's algorithm is not supported",
                            printable(node.op_type())));
  }
  for (std::string& input : *node.mutable_input()) input = renamed(input);
  if (is_standard_domain(node.domain()) && functions_.contains(node.op_type())) {
    node.set_domain(kDraftFunctionDomain);
    if (const onnx::NodeProto* same = same_call(node)) {
      for (int i = 0; i < node.output_size(); ++i) renames_[node.output(i)] = same->output(i);
      return;
    }
  } else if (is_standard_domain(node.domain())) {
    if (node.op_type() == "MSE") return add_mean_squared_error(node);
    if (node.op_type() == "Gradient") order_gradient_inputs(node);
    const auto& operators = kTrainingOperators;
    if (std::ranges::find(operators, node.op_type()) != std::end(operators)) {
      node.set_domain(kTrainingDomain);
    }
  }
  for (std::string& output : *node.mutable_output()) define(output);
  *algorithm_.add_node() = std::move(node);
}

/// The inference graph's call of the same function with the same arguments, whose results the
/// algorithm then shares: nothing runs twice, and both are trained by the same update.
const onnx::NodeProto* InfoConverter::same_call(const onnx::NodeProto& node) const {
  for (const auto& other : inference_.node()) {
    const bool same =
        other.domain() == node.domain() && other.op_type() == node.op_type() &&
        std::ranges::equal(other.input(), node.input()) &&
        std::ranges::equal(other.attribute(), node.attribute(), [](const auto& a, const auto& b) {
          return a.SerializeAsString() == b.SerializeAsString();
        });
    if (same && node.output_size() <= other.output_size()) return &other;
  }
  return nullptr;
}

/// The draft's operator MSE(label, prediction): the mean over all elements of the squared
/// difference.
void InfoConverter::add_mean_squared_error(const onnx::NodeProto& node) {
  if (node.input_size() != 2 || node.output_size() != 1) {
    throw Error(fmt::format("MSE takes 2 inputs and gives 1 output, not {} and {}",
                            node.input_size(), node.output_size()));
  }
  const auto add = [&](const char* op, std::vector<std::string> inputs, std::string output) {
    onnx::NodeProto& added = *algorithm_.add_node();
    added.set_op_type(op);
    for (std::string& input : inputs) added.add_input(std::move(input));
    define(output);
    added.add_output(output);
    return output;
  };
  const std::string& loss = node.output(0);
  const auto difference = add("Sub", {node.input(0), node.input(1)}, fresh(loss + "_difference"));
  const auto squared = add("Mul", {difference, difference}, fresh(loss + "_squared"));
  add("ReduceMean", {squared}, loss);
  onnx::AttributeProto& keepdims =
      *algorithm_.mutable_node(algorithm_.node_size() - 1)->add_attribute();
  keepdims.set_name("keepdims");
  keepdims.set_type(onnx::AttributeProto::INT);
  keepdims.set_i(0);
}

/// The standard wants the values of xs, then those of zs; the draft lists its inputs in any order,
/// and has no zs.
void InfoConverter::order_gradient_inputs(onnx::NodeProto& node) const {
  const onnx::AttributeProto* given_xs = find_attribute(node, "xs");
  const onnx::AttributeProto* given_y = find_attribute(node, "y");
  if (!given_xs || given_xs->strings_size() == 0 || !given_y || given_y->s().empty()) {
    throw Error("a Gradient of the draft's algorithm lacks xs or y");
  }
  std::vector<std::string> xs, zs;
  for (const std::string& x : given_xs->strings()) xs.push_back(renamed(x));
  const std::string y = renamed(given_y->s());
  const NameSet inputs(node.input().begin(), node.input().end());
  for (const std::string& x : xs) {
    if (!inputs.contains(x)) {
      throw Error(fmt::format("'{}' of xs is not an input of the draft's Gradient", printable(x)));
    }
  }
  const NameSet differentiated(xs.begin(), xs.end());
  for (const std::string& input : node.input()) {
    if (!differentiated.contains(input)) zs.push_back(input);
  }
  node.clear_input();
  for (const auto& name : xs) node.add_input(name);
  for (const auto& name : zs) node.add_input(name);
  node.clear_attribute();
  *node.add_attribute() = strings_attribute("xs", xs);
  if (!zs.empty()) *node.add_attribute() = strings_attribute("zs", zs);
  *node.add_attribute() = string_attribute("y", y);
}

/// What the draft lists; values of the inference graph are no outputs of the algorithm.
void InfoConverter::add_outputs() {
  for (onnx::ValueInfoProto output : draft_.outputs) {
    output.set_name(renamed(output.name()));
    if (!graph_names_.contains(output.name()) && outputs_.insert(output.name()).second) {
      *algorithm_.add_output() = output;
    }
  }
}

const onnx::TensorProto* InfoConverter::find_state(const std::string& name) const {
  const auto found = state_.find(name);
  return found == state_.end() ? nullptr : found->second;
}

/// The draft's files and its slides disagree on which side is the key: the target is the
/// initializer.
void InfoConverter::add_binding(const onnx::StringStringEntryProto& binding) {
  const bool key_is_target = find_state(binding.key()) != nullptr;
  if (key_is_target == (find_state(binding.value()) != nullptr)) {
    throw Error(fmt::format("the draft's binding of '{}' and '{}' does not name one initializer",
                            printable(binding.key()), printable(binding.value())));
  }
  const std::string& target = key_is_target ? binding.key() : binding.value();
  const std::string source = renamed(key_is_target ? binding.value() : binding.key());
  if (computed_.contains(source) && outputs_.insert(source).second) {
    *algorithm_.add_output() = typed_as(*find_state(target), source);
  }
  onnx::StringStringEntryProto& added = *info_.add_update_binding();
  added.set_key(target);
  added.set_value(source);
}

}  // namespace

bool means_the_same(const std::string& op, int64_t from, int64_t to) {
  const auto* then = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(from));
  const auto* now = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(to));
  if (!then || !now) return !then && !now;
  return then->since_version() == now->since_version() ||
         std::ranges::any_of(same_forms(), [&](const SameForms& forms) {
           const auto holds = [&](const onnx::OpSchema* form) {
             return std::ranges::find(forms.versions, form->since_version()) !=
                    forms.versions.end();
           };
           return forms.op == op && forms.domain.empty() && holds(then) && holds(now);
         });
}

onnx::TrainingInfoProto info_from_draft(const DraftInfo& draft, const onnx::GraphProto& graph,
                                        const std::unordered_set<std::string>& functions) {
  return InfoConverter(draft, graph, functions).convert();
}

}  // namespace onward
