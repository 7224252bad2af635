#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/tensor.h"
#include "ir/type.h"

namespace onward {

/// The domain of the standard's training operators.
inline constexpr const char* kTrainingDomain = "ai.onnx.preview.training";

/// A file with more would be an attack on the stack.
inline constexpr int kDeepestSubgraph = 64;

class Graph;
class Node;
class Value;

/// The standard's metadata_props, in file order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// One place where a node reads a value: input `input`, or, where that is -1, a reference in an
/// attribute (Gradient's xs, zs and y).
struct Use {
  Node* node;
  int input;
};

/// The data of an initializer.
struct Initializer {
  std::variant<Tensor, SparseTensor> data;
  std::string doc;
  Metadata metadata;

  const Tensor* dense() const { return std::get_if<Tensor>(&data); }
  const SparseTensor* sparse() const { return std::get_if<SparseTensor>(&data); }
  Type type() const;
};

/// Something a graph computes with: an input, an initializer (possibly both: an input with a
/// default), or an output of a node. Values have stable addresses; their graph or node owns them.
class Value {
 public:
  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }
  Node* producer() const { return producer_; }  // null for inputs and initializers
  int output_index() const { return output_index_; }
  bool is_input() const { return is_input_; }
  const Initializer* initializer() const { return initializer_ ? &*initializer_ : nullptr; }
  /// The dense data of an initializer, or null.
  const Tensor* tensor() const { return initializer_ ? initializer_->dense() : nullptr; }
  /// Stands for a name that a damaged file uses without defining it.
  bool is_missing() const { return is_missing_; }
  std::span<const Use> uses() const { return uses_; }

  Type type;              // declared by the file, completed by inference
  bool declared = false;  // the file states the type: as input, output or value_info
  std::string doc;
  Metadata metadata;

 private:
  friend class Graph;
  friend class Node;

  std::string name_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int output_index_ = -1;
  bool is_input_ = false;
  bool is_missing_ = false;
  std::optional<Initializer> initializer_;
  std::vector<Use> uses_;
};

/// Values named by an attribute. In a file they are strings; here renaming can't make them stale.
struct References {
  std::vector<Value*> values;
  bool single = false;  // one string (y) rather than a list of strings (xs, zs)
};

struct Attribute {
  using Graphs = std::vector<std::unique_ptr<Graph>>;
  using Payload = std::variant<std::monostate,  // no value: a damaged file
                               float, int64_t, std::string, Tensor, SparseTensor, Type,
                               std::unique_ptr<Graph>, std::vector<float>, std::vector<int64_t>,
                               std::vector<std::string>, std::vector<Tensor>,
                               std::vector<SparseTensor>, std::vector<Type>, Graphs, References>;

  std::string name;
  Payload value;
  std::string doc;
};

/// One application of an operator.
class Node {
 public:
  std::string op;      // operator type, in the standard's spelling
  std::string domain;  // "" for ai.onnx
  std::string overload;
  int64_t opset = 0;  // the version of its domain that the node is written for
  std::string name;
  std::string doc;
  Metadata metadata;
  std::vector<std::string> device_configurations;  // serialized, carried along
  std::string function;  // the model-local functions it was inlined from, "F" or "F > G"

  Graph& graph() const { return *graph_; }

  /// Turns it into another operator, which counts as a change of the graph.
  void set_op(std::string_view new_op);

  /// Null stands for an optional input that is left out.
  std::span<Value* const> inputs() const { return inputs_; }
  Value* input(size_t index) const { return index < inputs_.size() ? inputs_[index] : nullptr; }
  void set_input(size_t index, Value* value);
  void add_input(Value* value);
  /// Replaces all inputs; left-out ones at the end are dropped.
  void set_inputs(std::vector<Value*> values);

  /// Null stands for an optional output that is left out.
  std::span<const std::unique_ptr<Value>> outputs() const { return outputs_; }
  Value* output(size_t index) const {
    return index < outputs_.size() ? outputs_[index].get() : nullptr;
  }
  /// Adds an output; an empty name leaves it out.
  Value* add_output(std::string_view name, Type type = {});
  /// Gives the node an output that it leaves out.
  Value* set_output(size_t index, std::string_view name, Type type);

  std::span<const Attribute> attributes() const { return attributes_; }
  const Attribute* attribute(std::string_view name) const;
  void set_attribute(Attribute attribute);  // replaces one of the same name
  void remove_attribute(std::string_view name);
  /// Removes a subgraph and hands it out, for a node of `inside`: what it reads stays read.
  std::unique_ptr<Graph> take_subgraph(std::string_view name, Graph& inside);

  /// The attribute's value where it is present and of that type, else null.
  template <typename T>
  const T* get(std::string_view name) const {
    const Attribute* found = attribute(name);
    return found ? std::get_if<T>(&found->value) : nullptr;
  }
  int64_t int_or(std::string_view name, int64_t fallback) const;
  float float_or(std::string_view name, float fallback) const;
  std::string string_or(std::string_view name, const std::string& fallback) const;

  /// The subgraphs in its attributes, in order.
  std::vector<Graph*> subgraphs() const;

  /// How messages call it: its name, or the name of its first output.
  std::string label() const;

 private:
  friend class Graph;

  void unuse(Value* value, int input);
  void use_references(const Attribute& attribute);
  void unuse_references(const Attribute& attribute);
  void unuse_subgraphs(const Attribute& attribute);
  void unuse_all();

  Graph* graph_ = nullptr;
  std::list<std::unique_ptr<Node>>::iterator self_;
  std::vector<Value*> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;
  std::vector<Attribute> attributes_;
};

/// The standard's quantization annotation of one tensor.
struct TensorAnnotation {
  std::string tensor;
  Metadata parameters;
};

/// Nodes in an order in which each comes after those it needs, with inputs, initializers, outputs.
/// A subgraph, or a training info's algorithm, also reads the values of the graph it is `inside`.
class Graph {
 public:
  explicit Graph(Graph* inside = nullptr) : inside_(inside) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::string doc;
  Metadata metadata;
  std::vector<TensorAnnotation> annotations;

  Graph* inside() const { return inside_; }

  using Nodes = std::list<std::unique_ptr<Node>>;
  const Nodes& nodes() const { return nodes_; }
  std::span<Value* const> inputs() const { return inputs_; }
  /// Dense and sparse, in file order.
  std::span<Value* const> initializers() const { return initializers_; }
  std::span<Value* const> outputs() const { return outputs_; }

  Value* add_input(std::string_view name, Type type);
  /// Removes an input that nobody uses and that has no default.
  void remove_input(Value* value);
  /// Lets an input with a default be that default, and no input any more.
  void fix_default(Value* value);
  Value* add_initializer(std::string_view name, Initializer data);
  Value* add_initializer(std::string_view name, Tensor data);
  /// Removes an initializer that nobody uses and that is no input.
  void remove_initializer(Value* value);
  void add_output(Value* value);
  void set_output(size_t index, Value* value);

  /// Gives an input a default, or an initializer new data (which is no change of the structure).
  void set_initializer(Value* value, Initializer data);
  void set_initializer(Value* value, Tensor data);

  /// Adds a node at the end, or before `before`. Outputs are added with Node::add_output.
  Node* add_node(std::string_view op, std::vector<Value*> inputs, Node* before = nullptr);
  /// Removes a node whose outputs nobody uses.
  void remove_node(Node* node);

  /// Makes a stand-in for a name that a damaged file does not define.
  Value* add_missing(std::string_view name);

  void rename(Value* value, std::string_view name);
  /// Lets all nodes (in this graph and below) and this graph's outputs read `by` instead of
  /// `value`.
  void replace_uses(Value* value, Value* by);

  /// Counts changes of the structure, in this graph and its subgraphs: a graph that was only given
  /// other data can be saved by patching the file that it came from.
  int64_t edits() const { return edits_; }

 private:
  friend class Node;

  Value* adopt(std::unique_ptr<Value> value, std::string_view name);
  void edited();

  Graph* inside_;
  Nodes nodes_;
  std::vector<std::unique_ptr<Value>> owned_values_;  // inputs, initializers, stand-ins
  std::vector<Value*> inputs_, initializers_, outputs_;
  int64_t edits_ = 0;
};

}  // namespace onward
