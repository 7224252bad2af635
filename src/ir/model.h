#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace onward {

struct OpsetImport {
  std::string domain;  // "" for ai.onnx
  int64_t version = 0;

  friend bool operator==(const OpsetImport&, const OpsetImport&) = default;
};

/// After a step (or an initialization) the initializer `target` takes the value of `source`.
struct Binding {
  Value* target;
  Value* source;
};

/// The standard's TrainingInfoProto: how state is first set, and what one step does to it. The
/// algorithm is `inside` the inference graph: it may read its values, not the reverse.
struct TrainingInfo {
  std::unique_ptr<Graph> initialization;  // null where the file has none
  std::unique_ptr<Graph> algorithm;       // null where the file has none
  std::vector<Binding> initialization_bindings;
  std::vector<Binding> update_bindings;
};

/// The file that a model came from, kept so that saving can patch it (source.h).
struct Source;

/// A model of the standard with its training part.
struct Model {
  int64_t ir_version = 0;
  std::vector<OpsetImport> opsets;
  std::string producer_name, producer_version, domain, doc;
  int64_t version = 0;
  Metadata metadata;
  std::vector<std::string> device_configurations;  // serialized, carried along
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<TrainingInfo> training;
  bool from_draft = false;  // read from the 2019 draft form, and standard from here on
  std::shared_ptr<const Source> source;

  /// The imported version of a domain, or nothing.
  std::optional<int64_t> opset(std::string_view domain) const;
};

/// What a top-level graph of a model is: the inference graph, or part of training info `info`.
struct GraphRole {
  enum Kind : uint8_t { inference, initialization, algorithm } kind = inference;
  size_t info = 0;
};

/// "" for the inference graph, else "training info 0, algorithm".
std::string to_string(GraphRole role);

/// Calls visit(graph, role) for the inference graph and each info's initialization and algorithm.
template <typename Visit>
void for_each_top_level_graph(const Model& model, Visit visit) {
  visit(*model.graph, GraphRole{});
  for (size_t i = 0; i < model.training.size(); ++i) {
    const TrainingInfo& info = model.training[i];
    if (info.initialization) visit(*info.initialization, GraphRole{GraphRole::initialization, i});
    if (info.algorithm) visit(*info.algorithm, GraphRole{GraphRole::algorithm, i});
  }
}

/// Calls visit(node) for every node of a graph and of the subgraphs below it, in order.
template <typename Visit>
void for_each_node(const Graph& graph, Visit visit) {
  for (const auto& node : graph.nodes()) {
    visit(*node);
    for (const Graph* subgraph : node->subgraphs()) for_each_node(*subgraph, visit);
  }
}

}  // namespace onward
