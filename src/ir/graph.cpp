#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {

Type Initializer::type() const {
  return std::visit([](const auto& tensor) { return tensor.type(); }, data);
}

void Node::unuse(Value* value, int input) {
  auto& uses = value->uses_;
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& use) {
    return use.node == this && use.input == input;
  });
  if (found == uses.end()) throw Bug(fmt::format("no use of '{}' to remove", value->name()));
  uses.erase(found);
}

void Node::add_input(Value* value) {
  inputs_.push_back(value);
  if (value) value->uses_.push_back({this, static_cast<int>(inputs_.size()) - 1});
  graph_->edited();
}

void Node::set_input(size_t index, Value* value) {
  if (index >= inputs_.size()) inputs_.resize(index + 1, nullptr);
  if (inputs_[index]) unuse(inputs_[index], static_cast<int>(index));
  inputs_[index] = value;
  if (value) value->uses_.push_back({this, static_cast<int>(index)});
  graph_->edited();
}

void Node::set_op(std::string_view new_op) {
  op = new_op;
  graph_->edited();
}

void Node::set_inputs(std::vector<Value*> values) {
  while (!values.empty() && !values.back()) values.pop_back();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i]) unuse(inputs_[i], static_cast<int>(i));
  }
  inputs_.clear();
  for (Value* value : values) add_input(value);
  graph_->edited();
}

Value* Node::add_output(std::string_view name, Type type) {
  graph_->edited();
  if (name.empty()) {
    outputs_.push_back(nullptr);
    return nullptr;
  }
  auto value = std::make_unique<Value>();
  value->name_ = name;
  value->graph_ = graph_;
  value->producer_ = this;
  value->output_index_ = static_cast<int>(outputs_.size());
  value->type = std::move(type);
  outputs_.push_back(std::move(value));
  return outputs_.back().get();
}

Value* Node::set_output(size_t index, std::string_view value_name, Type type) {
  if (output(index)) throw Bug(fmt::format("output {} of {} is there already", index, op));
  while (outputs_.size() < index) outputs_.push_back(nullptr);
  Value* added = add_output(value_name, std::move(type));
  if (outputs_.size() > index + 1) {
    outputs_[index] = std::move(outputs_.back());
    outputs_.pop_back();
    added->output_index_ = static_cast<int>(index);
  }
  return added;
}

const Attribute* Node::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

void Node::use_references(const Attribute& attribute) {
  if (const auto* references = std::get_if<References>(&attribute.value)) {
    for (Value* value : references->values) value->uses_.push_back({this, -1});
  }
}

void Node::unuse_references(const Attribute& attribute) {
  if (const auto* references = std::get_if<References>(&attribute.value)) {
    for (Value* value : references->values) unuse(value, -1);
  }
}

void Node::unuse_subgraphs(const Attribute& attribute) {
  const auto clear = [](const Graph& graph) {
    for (const auto& node : graph.nodes()) node->unuse_all();
  };
  if (const auto* graph = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) clear(**graph);
  if (const auto* graphs = std::get_if<Attribute::Graphs>(&attribute.value)) {
    for (const auto& graph : *graphs) clear(*graph);
  }
}

void Node::unuse_all() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i]) unuse(inputs_[i], static_cast<int>(i));
  }
  for (const Attribute& attribute : attributes_) {
    unuse_references(attribute);
    unuse_subgraphs(attribute);
  }
}

void Node::set_attribute(Attribute attribute) {
  use_references(attribute);
  graph_->edited();
  for (Attribute& existing : attributes_) {
    if (existing.name == attribute.name) {
      unuse_references(existing);
      unuse_subgraphs(existing);
      existing = std::move(attribute);
      return;
    }
  }
  attributes_.push_back(std::move(attribute));
}

void Node::remove_attribute(std::string_view name) {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const Attribute& a) { return a.name == name; });
  if (found == attributes_.end()) return;
  unuse_references(*found);
  unuse_subgraphs(*found);
  attributes_.erase(found);
  graph_->edited();
}

std::unique_ptr<Graph> Node::take_subgraph(std::string_view name, Graph& inside) {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const Attribute& a) { return a.name == name; });
  auto graph = std::move(std::get<std::unique_ptr<Graph>>(found->value));
  attributes_.erase(found);
  graph->inside_ = &inside;
  graph_->edited();
  return graph;
}

int64_t Node::int_or(std::string_view name, int64_t fallback) const {
  const auto* found = get<int64_t>(name);
  return found ? *found : fallback;
}

float Node::float_or(std::string_view name, float fallback) const {
  const auto* found = get<float>(name);
  return found ? *found : fallback;
}

std::string Node::string_or(std::string_view name, const std::string& fallback) const {
  const auto* found = get<std::string>(name);
  return found ? *found : fallback;
}

std::vector<Graph*> Node::subgraphs() const {
  std::vector<Graph*> graphs;
  for (const Attribute& attribute : attributes_) {
    if (const auto* graph = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) {
      graphs.push_back(graph->get());
    } else if (const auto* list = std::get_if<Attribute::Graphs>(&attribute.value)) {
      for (const auto& each : *list) graphs.push_back(each.get());
    }
  }
  return graphs;
}

std::string Node::label() const {
  if (!name.empty()) return name;
  for (const auto& output : outputs_) {
    if (output) return output->name();
  }
  return {};
}

void Graph::edited() {
  for (Graph* graph = this; graph; graph = graph->inside_) ++graph->edits_;
}

Value* Graph::adopt(std::unique_ptr<Value> value, std::string_view value_name) {
  value->name_ = value_name;
  value->graph_ = this;
  owned_values_.push_back(std::move(value));
  edited();
  return owned_values_.back().get();
}

Value* Graph::add_input(std::string_view value_name, Type type) {
  Value* value = adopt(std::make_unique<Value>(), value_name);
  value->is_input_ = true;
  value->declared = type.known();
  value->type = std::move(type);
  inputs_.push_back(value);
  return value;
}

void Graph::remove_input(Value* value) {
  if (!value->uses_.empty()) {
    throw Bug(fmt::format("removing the input '{}', which is in use", value->name()));
  }
  std::erase(inputs_, value);
  std::erase_if(owned_values_, [&](const auto& owned) { return owned.get() == value; });
  edited();
}

void Graph::fix_default(Value* value) {
  std::erase(inputs_, value);
  value->is_input_ = false;
  edited();
}

void Graph::remove_initializer(Value* value) {
  if (!value->uses_.empty() || value->is_input_) {
    throw Bug(fmt::format("removing the initializer '{}', which is in use", value->name()));
  }
  std::erase(initializers_, value);
  std::erase_if(owned_values_, [&](const auto& owned) { return owned.get() == value; });
  edited();
}

Value* Graph::add_initializer(std::string_view value_name, Initializer data) {
  Value* value = adopt(std::make_unique<Value>(), value_name);
  value->type = data.type();
  value->initializer_ = std::move(data);
  initializers_.push_back(value);
  return value;
}

Value* Graph::add_initializer(std::string_view value_name, Tensor data) {
  return add_initializer(value_name,
                         Initializer{.data = std::move(data), .doc = {}, .metadata = {}});
}

void Graph::set_initializer(Value* value, Initializer data) {
  if (!value->initializer_) {
    initializers_.push_back(value);
    edited();
  }
  value->initializer_ = std::move(data);
}

void Graph::set_initializer(Value* value, Tensor data) {
  Initializer initializer{.data = std::move(data), .doc = {}, .metadata = {}};
  if (value->initializer_) {
    initializer.doc = value->initializer_->doc;
    initializer.metadata = value->initializer_->metadata;
  }
  set_initializer(value, std::move(initializer));
}

void Graph::add_output(Value* value) {
  outputs_.push_back(value);
  edited();
}

void Graph::set_output(size_t index, Value* value) {
  outputs_.at(index) = value;
  edited();
}

Node* Graph::add_node(std::string_view op, std::vector<Value*> inputs, Node* before) {
  auto node = std::make_unique<Node>();
  node->graph_ = this;
  node->op = op;
  const auto position = before ? before->self_ : nodes_.end();
  const auto self = nodes_.insert(position, std::move(node));
  (*self)->self_ = self;
  (*self)->inputs_ = std::move(inputs);
  for (size_t i = 0; i < (*self)->inputs_.size(); ++i) {
    Value* input = (*self)->inputs_[i];
    if (input) input->uses_.push_back({self->get(), static_cast<int>(i)});
  }
  edited();
  return self->get();
}

void Graph::remove_node(Node* node) {
  for (const auto& output : node->outputs_) {
    if (output && !output->uses_.empty()) {
      throw Bug(fmt::format("removing the node that makes '{}', which is in use", output->name()));
    }
  }
  node->unuse_all();
  nodes_.erase(node->self_);
  edited();
}

Value* Graph::add_missing(std::string_view value_name) {
  Value* value = adopt(std::make_unique<Value>(), value_name);
  value->is_missing_ = true;
  return value;
}

void Graph::rename(Value* value, std::string_view value_name) {
  value->name_ = value_name;
  edited();
}

void Graph::replace_uses(Value* value, Value* by) {
  const std::vector<Use> uses(value->uses_.begin(), value->uses_.end());
  for (const Use& use : uses) {
    if (use.input >= 0) {
      use.node->set_input(static_cast<size_t>(use.input), by);
      continue;
    }
    for (Attribute& attribute : use.node->attributes_) {
      auto* references = std::get_if<References>(&attribute.value);
      if (!references) continue;
      for (Value*& reference : references->values) {
        if (reference != value) continue;
        use.node->unuse(value, -1);
        reference = by;
        by->uses_.push_back({use.node, -1});
      }
    }
  }
  std::replace(outputs_.begin(), outputs_.end(), value, by);
  edited();
}

}  // namespace onward
