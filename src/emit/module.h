#pragma once

// The model as a module: which layers it has, which tensors it holds, and the lines of its forward
// function. What is the same for all frameworks; torch/ and keras/ put it into a class.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emit/body.h"
#include "emit/paths.h"
#include "emit/patterns.h"
#include "ir/model.h"
#include "recipe/recipe.h"

namespace onward::emit {

/// What a training job makes of the model's layers; all empty for a model without one.
struct TrainingFacts {
  bool is_job = false;
  std::unordered_set<const Value*> state;    // what training changes
  std::unordered_set<const Value*> trained;  // what the optimizer changes
  std::vector<const Value*> loss_reads;      // of the model
  /// Nodes of the inference graph that behave differently in training, with their counterparts.
  std::unordered_map<const Node*, const Node*> paired;
  BatchVariance batch_variance = BatchVariance::biased;
  std::optional<double> batch_momentum;

  /// How much of the running statistics a BatchNormalization keeps: as its author wrote it, 0.9
  /// for the float32 0.89999998.
  double kept_statistics(const Node& batch_norm) const;
};

/// A tensor that a layer holds, by the layer's own name for it.
struct LayerTensor {
  const Value* value;
  std::string attribute;             // "weight", "kernel"
  std::vector<int64_t> permutation;  // as in HeldTensor
  std::vector<int64_t> dims;
  std::optional<Arrangement> arrangement = {};  // where it holds a part of the value, or cuts it up
};

/// A tensor that a framework's layer has and the model has not, which keeps its value.
struct OwnTensor {
  std::string attribute;
  Tensor value;
};

/// One layer, as a framework says it.
struct Layer {
  std::string path;
  std::string constructor;  // "nn.Conv2d(1, 16, 3)"
  std::vector<LayerTensor> tensors = {};
  std::string padding = {};          // the constructor of a layer that pads first
  std::string padding_path = {};     // "conv1_padding", beside "conv1"
  bool pads_itself = false;          // also where pads are only known at run time
  bool pads_in_call = false;         // what it reads is padded by a function
  std::string build_shape = {};      // Keras: what to build it for
  bool is_built_by_call = true;      // what it reads is known well enough for that
  std::string options = {};          // of the call: ", training=False"
  std::string picked = {};           // of its result: "[:, ::2, ::2]"
  Form form = Form::plain;           // of what it reads and gives
  bool follows = false;              // it works in either form
  bool gives_several = false;        // a recurrent layer, which also gives its last states
  bool stays_in_eval = false;        // a normalization that training does not touch
  bool changes_in_training = false;  // its call must know whether it is in training
  std::vector<OwnTensor> own = {};
  /// Counts batches.
  std::string counter = {};
};

class Module {
 public:
  /// `graph` is lifted and its types are inferred; it outlives the module.
  Module(const Graph& graph, const Dialect& dialect, TrainingFacts training);

  /// Writes all nodes that `results` need to the body; what can't be said is gathered in
  /// `refusals`.
  void write(Body& body, std::span<const Value* const> results);

  /// The nodes that values need, in order: of those that a layer stands for, the last one. What is
  /// known, or the body has already, needs none.
  std::vector<const Node*> needed(std::span<const Value* const> results, const Body* body) const;
  /// What must be computed before a node, or before the layer that ends with it.
  std::vector<const Value*> reads(const Node& node) const;
  /// The layer that ends with a node, or null.
  const Layer* layer_of(const Node& node) const;
  void write_node(const Node& node, Body& body);
  /// What was refused since layers were found, which is to be written again.
  void forget_refusals() { refusals_.resize(refused_layers_); }
  /// Says which paths are containers, where frameworks have dicts for those: what is no list, and
  /// no module of its own.
  void find_dicts(const std::set<std::string>& scopes);

  SourceContext& context() { return context_; }
  const Graph& graph() const { return graph_; }
  /// Where a path of the file lies in the module.
  std::string placed(std::string_view path) const;
  const std::vector<Layer>& layers() const { return layers_; }
  /// Tensors outside of layers, in the order in which they were met.
  const std::vector<const Value*>& plain_tensors() const { return plain_tensors_; }
  const std::string& path_of(const Value* value) const { return paths_of_tensors_.at(value); }
  const TrainingFacts& training() const { return training_; }
  const std::vector<std::string>& refusals() const { return refusals_; }

  /// Throws one Error that names everything that can't be said.
  void throw_if_refused() const;

 private:
  void find_layers();
  void add_layer(const Pattern& pattern);
  Pattern with_activation(Pattern pattern) const;
  void find_plain_layers();
  void find_layers_between();
  void add_plain_layer(const Node& node, std::string path, Layer layer);
  void find_lists();
  void hold(const Value* value);
  void write_layer(const Pattern& pattern, const Layer& layer, Body& body);

  const Graph& graph_;
  TrainingFacts training_;
  Known known_;
  Sizes sizes_;
  SourceContext context_;
  std::string root_;  // what holds numbered modules of the model, or nothing
  AttributePaths paths_;
  std::vector<Pattern> patterns_;
  std::vector<Layer> layers_;
  std::unordered_map<const Node*, std::pair<size_t, size_t>> layer_ends_;  // pattern and layer
  std::unordered_set<const Node*> absorbed_;   // said by the layer that ends later
  std::unordered_set<const Node*> followers_;  // said by the layer that ended before
  std::vector<const Value*> plain_tensors_;
  std::unordered_map<const Value*, std::string> paths_of_tensors_;
  std::vector<std::string> refusals_;
  size_t refused_layers_ = 0;
};

/// Says one node as a call, and gives its results their names.
void write_call(const Node& node, Body& body);

/// Writes the nodes of a graph inside of a node, whose inputs the body has already; gives results.
std::vector<std::string> write_graph(const Graph& graph, std::span<const Value* const> results,
                                     Body& body);

/// The nodes of a graph that values need, in order; what is known, or the body has already, needs
/// none.
std::vector<const Node*> needed_nodes(const Graph& graph, std::span<const Value* const> results,
                                      const Known& known, const Body& body);

}  // namespace onward::emit
