#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/model.h"

namespace onward {

/// The names of all values of a model, so that new ones can be told from them.
class Names {
 public:
  explicit Names(const Model& model);

  /// `wanted`, or `wanted_2`, `wanted_3` ... where that is taken. The answer is taken from then on.
  std::string fresh(const std::string& wanted);

 private:
  void add(const Graph& graph);

  std::unordered_set<std::string> taken_;
};

/// Sets an attribute from its name and value alone.
void set_attribute(Node& node, std::string_view name, Attribute::Payload value);

/// Writes one node as several. New nodes go before it and are of the newest opset; the node itself
/// stays the one that makes the outputs, so that no value changes its name or address.
class Rewrite {
 public:
  Rewrite(Node& node, Names& names, int64_t newest_opset)
      : node_(node), names_(names), newest_opset_(newest_opset) {}

  Node& node() const { return node_; }
  int64_t newest_opset() const { return newest_opset_; }

  /// The same for another node, such as one of a graph inside of this node.
  Rewrite of(Node& other) const { return {other, names_, newest_opset_}; }
  /// The same node, with new ones at the end of its graph.
  Rewrite behind() const;

  /// Adds a node with one output named after the node's first one: "y_axes" for the role "axes".
  Value* add(std::string_view op, std::vector<Value*> inputs, std::string_view role) const;
  /// A name of that kind that nothing has yet.
  std::string fresh(std::string_view role) const;
  Value* constant(const Tensor& value, std::string_view role) const;
  Value* constant(const std::vector<int64_t>& values, std::string_view role) const;
  /// A scalar of the element type of `like`, which need not be known.
  Value* scalar_like(float value, Value* like, std::string_view role) const;

  /// Turns the node into another operator, in its newest form. Its name and notes go to the node
  /// that makes `heart`, the new one that now does what they speak of.
  void become(std::string_view op, std::vector<Value*> inputs, const Value* heart);

 private:
  Node& node_;
  Names& names_;
  int64_t newest_opset_;
  bool is_behind_ = false;
};

/// Lets the subgraphs of a graph compute all that they give, each value once, as runtimes want it:
/// an input, what lies around, and a repetition pass through an Identity of that opset.
void compute_outputs_inside(Graph& graph, Names& names, int64_t opset);

/// The number of dimensions, where it is known.
std::optional<int64_t> rank(const Value* value);

/// True where a node reads the value or its graph gives it out.
bool is_needed(const Value& value);

}  // namespace onward
