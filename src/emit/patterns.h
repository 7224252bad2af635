#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "emit/known.h"
#include "ir/graph.h"

namespace onward::emit {

struct Recurrent;

/// Nodes that frameworks say as one layer, which holds its weights.
struct Pattern {
  enum class Kind : uint8_t {
    conv,
    linear,
    batch_norm,
    layer_norm,
    embedding,
    dropout,
    global_pool,
    recurrent,
    plain
  };

  Kind kind;
  const Node* node;  // the operator with the weight
  const Node* end;   // the node whose result is the layer's: an Add after a MatMul, or node
  const Value* input;
  const Value* weight = nullptr;
  const Value* bias = nullptr;
  const Value* mean = nullptr;
  const Value* variance = nullptr;
  double ratio = 0;                     // of a Dropout
  bool is_transposed = false;           // the weight of a linear layer is (outputs, inputs)
  std::vector<const Node*> inner = {};  // nodes of the layer before its last one
  std::string_view activation = {};     // what the last one is, where the layer applies it

  // Of a recurrent layer, which gives several results.
  std::shared_ptr<const Recurrent> recurrent = {};
  std::vector<const Value*> more_inputs = {};  // the first states
  /// Nodes that bring a result into the form that the layer gives it in: nothing is left to do.
  std::vector<const Node*> followers = {};
  /// The same, where a framework's last states have no dimension for directions.
  std::vector<const Node*> state_followers = {};

  const Value* output() const { return end->output(0); }
};

/// All layers of a graph, in the order of their nodes. Weights are initializers; what only looks
/// like a layer (weights that are computed, attributes that no layer has) is left to calls.
std::vector<Pattern> find_patterns(const Graph& graph, const Known& known);

/// Whether two patterns are the same layer, used twice.
bool same_layer(const Pattern& a, const Pattern& b);

}  // namespace onward::emit
