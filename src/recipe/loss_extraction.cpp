#include "recipe/loss_extraction.h"

#include <algorithm>

#include "ir/dependence.h"
#include "onward/error.h"

namespace onward {

LossExtraction::LossExtraction(const Model& model, const Graph& algorithm,
                               std::unordered_map<const Value*, std::string> twins)
    : model_(model), algorithm_(algorithm), twins_(std::move(twins)) {
  extracted_.opsets = model.opsets;
  extracted_.ir_version = model.ir_version;
}

Model LossExtraction::take(Graph::Nodes::const_iterator begin, Graph::Nodes::const_iterator end,
                           const Value* loss) {
  Graph& graph = *extracted_.graph;
  for (Value* input : algorithm_.inputs()) {
    map_[input] = graph.add_input(input->name(), input->type);
  }
  for (auto node = begin; node != end; ++node) {
    for (Value* read : all_reads(**node)) add_read(read);
    clone_node(**node, graph, map_);
  }
  if (!map_.contains(loss)) throw Error("the loss is made elsewhere");
  graph.add_output(map_.at(loss));
  return std::move(extracted_);
}

void LossExtraction::add_read(Value* read) {
  if (map_.contains(read)) return;
  Graph& graph = *extracted_.graph;
  const auto twin = twins_.find(read);
  if (twin != twins_.end()) {
    map_[read] = graph.add_input(twin->second, read->type);
    return;
  }
  if (&read->graph() == &algorithm_) {
    if (!read->tensor()) throw Error("the loss reads the forward pass within");
    map_[read] = graph.add_initializer(read->name(), *read->tensor());
    return;
  }
  const auto outputs = model_.graph->outputs();
  if (!read->is_input() && std::find(outputs.begin(), outputs.end(), read) == outputs.end()) {
    throw Error("the loss reads a value that is not an output");
  }
  map_[read] = graph.add_input(read->name(), read->type);
}

}  // namespace onward
