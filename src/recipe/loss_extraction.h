#pragma once

#include <unordered_map>

#include "ir/clone.h"

namespace onward {

/// Takes nodes out of an algorithm as a custom loss's graph, in the form that a recipe has it: what
/// they read of the model becomes inputs, by the names of the inference graph.
class LossExtraction {
 public:
  /// `twins` are values of the algorithm that stand for one of the inference graph, with its name.
  LossExtraction(const Model& model, const Graph& algorithm,
                 std::unordered_map<const Value*, std::string> twins);

  /// The nodes from `begin` to `end`, and the value that is the loss. Throws Error where they read
  /// what a loss can't.
  Model take(Graph::Nodes::const_iterator begin, Graph::Nodes::const_iterator end,
             const Value* loss);

 private:
  void add_read(Value* read);

  const Model& model_;
  const Graph& algorithm_;
  std::unordered_map<const Value*, std::string> twins_;
  Model extracted_;
  ValueMap map_;
};

}  // namespace onward
