#pragma once

// How a kernel runs the graphs inside of its node.

#include <cstdint>
#include <functional>
#include <vector>

#include "eval/runtime_value.h"
#include "ir/graph.h"

namespace onward::eval {

/// Where random numbers come from: the same key gives the same numbers, on every machine and in
/// whatever order nodes run. The node's own part of the key is the name of its first output.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint64_t micro_batch = 0;
  /// The iterations of the loops around, outermost first, mixed into one number; 0 outside of any.
  uint64_t iterations = 0;

  /// The key of the nodes in the body of a loop.
  RandomKey in_iteration(uint64_t index) const;
};

/// What a value of a graph around is; null where that is not known.
using Lookup = std::function<const RuntimeValue*(const Value&)>;

/// Runs graphs inside of nodes. The interpreter's own goes node by node; another may have plans.
class SubgraphRunner {
 public:
  struct Call {
    const Graph& graph;
    std::vector<RuntimeValue> arguments;  // for the graph's inputs, in order
    const Lookup& captured;               // what the graph reads of those around it
    const RandomKey& random;
  };

  /// The graph's outputs, in order.
  virtual std::vector<RuntimeValue> run(const Call& call) const = 0;

 protected:
  ~SubgraphRunner() = default;
};

/// What a node or graph runs in.
struct Surroundings {
  RandomKey random = {};
  Lookup captured = {};                       // nothing for a graph that is inside of none
  const SubgraphRunner* subgraphs = nullptr;  // the interpreter's own where it is null
};

}  // namespace onward::eval
