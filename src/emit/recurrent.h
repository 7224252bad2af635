#pragma once

// RNN, GRU and LSTM as the layers that frameworks have: which nodes are such a layer, and where its
// weights lie in the model's.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/arrangement.h"
#include "emit/patterns.h"

namespace onward::emit {

/// A node with the usual activations, no clip, peepholes or lengths, whose weights are its own.
struct Recurrent {
  int64_t directions = 1, inputs = 0, hidden = 0;
  bool is_reverse = false;
  bool batch_first = false;   // of what it reads and gives, with the transposes around the node
  bool has_layout = false;    // the node's own states have the batch first
  bool resets_after = false;  // a GRU that applies the reset gate to a product with its bias
  bool is_relu = false;       // an RNN's activation
  // For each direction, gates in the standard's order: [gates * hidden, inputs], [.., hidden],
  // [gates * hidden]; the biases are empty where it has none.
  std::vector<Origins> weights, recurrent_weights, biases, recurrent_biases;
  OriginFinder finder;

  const Value *initial_h = nullptr, *initial_c = nullptr;
  /// All states of the sequence, as frameworks give them: with the directions side by side in the
  /// last dimension. Null where a node gives them apart, or nothing needs them.
  const Value* sequences = nullptr;
  /// The last states of one direction without the dimension for it, where that is all that is read.
  const Value *last_h = nullptr, *last_c = nullptr;

  size_t gates() const { return static_cast<size_t>(weights[0].dims[0] / hidden); }
  bool has_bias() const { return !biases.empty(); }
};

/// Nothing where a node is no such layer.
std::shared_ptr<const Recurrent> recurrent_layer(const Node& node);
std::optional<Pattern> recurrent(const Node& node, const Known& known);

}  // namespace onward::emit
