#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "emit/classes.h"
#include "emit/keras/dialect.h"
#include "emit/keras/window.h"
#include "emit/module.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

using Kind = Pattern::Kind;

/// The arguments of a constructor that are not the defaults: "64, 3, padding=\"same\"".
class Arguments {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  void add_unless(std::string_view preset, std::string_view name, const std::string& value) {
    if (value != preset) add(fmt::format("{}={}", name, value));
  }
  std::string call(std::string_view function) const {
    return fmt::format("{}({})", function, fmt::join(texts_, ", "));
  }

 private:
  std::vector<std::string> texts_;
};

/// The type where it is not that of the whole model, and what else every layer with weights has.
void add_options(Arguments& arguments, const Pattern& p, const TrainingFacts& training,
                 const SourceContext& context) {
  if (!p.activation.empty()) arguments.add(fmt::format("activation=\"{}\"", p.activation));
  const DType dtype = p.weight->tensor()->dtype();
  if (dtype != context.main_float) {
    arguments.add(fmt::format("dtype=\"{}\"", python_dtype(dtype)));
  }
  const auto is_trained = [&](const Value* value) { return training.trained.contains(value); };
  const bool in_training = training.paired.contains(p.node);
  if (training.is_job && !in_training && !is_trained(p.weight) && !(p.bias && is_trained(p.bias))) {
    arguments.add("trainable=False");
  }
}

LayerTensor tensor(const Value* value, std::string attribute,
                   std::vector<int64_t> permutation = {}) {
  const auto& here = value->tensor()->dims();
  std::vector<int64_t> dims = here;
  for (size_t i = 0; i < permutation.size(); ++i) {
    dims[i] = here[static_cast<size_t>(permutation[i])];
  }
  return {value, std::move(attribute), std::move(permutation), std::move(dims)};
}

void add_bias(Layer& layer, Arguments& arguments, const Value* bias) {
  if (bias) {
    layer.tensors.push_back(tensor(bias, "bias"));
  } else {
    arguments.add("use_bias=False");
  }
}

/// Whether the size that a layer's weights must fit is declared.
bool is_declared(const Value* input, Form form) {
  const auto& shape = input->type.shape;
  if (!shape || shape->empty()) return false;
  const bool is_image = form == Form::channels_last && shape->size() > 1;
  return (is_image ? (*shape)[1] : shape->back()).value.has_value();
}

/// "(None, None, None, 3)": sizes that do not matter, and the last one.
std::string build_shape(size_t rank, int64_t last) {
  std::string text = "(";
  for (size_t i = 1; i < rank; ++i) text += "None, ";
  return text + fmt::format("{})", last);
}

/// "layers.ZeroPadding2D(1)", of which pads are the same on all sides, or pairs.
std::string zero_padding(const WindowFacts& w) {
  const auto& pads = *w.pads;
  std::string text = std::to_string(pads[0]);
  if (std::ranges::count(pads, pads[0]) != std::ssize(pads)) {
    // ZeroPadding1D takes a single pair.
    text = w.rank() == 1 ? fmt::format("({}, {})", w.before(0), w.after(0)) : pairs_of_pads(w);
  }
  return fmt::format("layers.ZeroPadding{}D({})", w.rank(), text);
}

Layer conv(const Pattern& p, const TrainingFacts& training, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  const WindowFacts w = window_facts(*p.node, {dims.begin() + 2, dims.end()});
  refuse_many_dimensions(w);
  const int64_t group = p.node->int_or("group", 1);
  const bool same = keras_says_same(w, p.input);
  // One filter for each channel has a layer of its own, which is much faster; TensorFlow's takes
  // the same stride in all directions.
  const bool depthwise = group > 1 && dims[1] == 1 && dims[0] == group && w.rank() <= 2 &&
                         w.strides.front() == w.strides.back();
  Layer layer;
  layer.form = Form::channels_last;
  layer.picked = keras_picked_places(w);
  layer.pads_itself = same;
  Arguments arguments;
  if (!depthwise) arguments.add(size_argument("filters", dims[0]));
  arguments.add(python_square(w.kernel));
  if (layer.picked.empty()) arguments.add_unless("1", "strides", python_square(w.strides));
  arguments.add_unless("1", "dilation_rate", python_square(w.dilations));
  if (same) arguments.add("padding=\"same\"");
  if (group != 1 && !depthwise) arguments.add(fmt::format("groups={}", group));
  std::vector<int64_t> order(w.rank());
  std::iota(order.begin(), order.end(), 2);
  order.push_back(depthwise ? 0 : 1);
  order.push_back(depthwise ? 1 : 0);
  layer.tensors.push_back(tensor(p.weight, "kernel", order));
  add_bias(layer, arguments, p.bias);
  add_options(arguments, p, training, context);
  layer.constructor =
      arguments.call(fmt::format("layers.{}Conv{}D", depthwise ? "Depthwise" : "", w.rank()));
  if (!same && w.pads && w.has_pads()) layer.padding = zero_padding(w);
  layer.build_shape = build_shape(w.rank() + 2, dims[1] * group);
  layer.is_built_by_call = is_declared(p.input, layer.form);
  return layer;
}

Layer linear(const Pattern& p, const TrainingFacts& training, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  const bool transposed = p.is_transposed;  // here (out, in), there (in, out)
  Layer layer;
  Arguments arguments;
  arguments.add(size_argument("units", dims[transposed ? 0 : 1]));
  layer.tensors.push_back(
      tensor(p.weight, "kernel", transposed ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{}));
  add_bias(layer, arguments, p.bias);
  add_options(arguments, p, training, context);
  layer.constructor = arguments.call("layers.Dense");
  layer.build_shape = build_shape(2, dims[transposed ? 1 : 0]);
  layer.is_built_by_call = is_declared(p.input, layer.form);
  return layer;
}

Layer batch_norm(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  const bool in_training = training.paired.contains(p.node);
  std::string name = "layers.BatchNormalization";
  if (in_training && training.batch_variance == BatchVariance::unbiased) {
    context.helpers.emplace("UnbiasedBatchNormalization");
    name = "UnbiasedBatchNormalization";
  }
  Layer layer;
  Arguments arguments;
  layer.form = Form::channels_last;
  arguments.add_unless("0.99", "momentum", python_float(training.kept_statistics(*p.node)));
  arguments.add_unless(
      "0.001", "epsilon",
      python_float(p.node->float_or("epsilon", 1e-5F), p.weight->tensor()->dtype()));
  add_options(arguments, p, training, context);
  layer.constructor = arguments.call(name);
  layer.tensors = {tensor(p.weight, "gamma"), tensor(p.bias, "beta"), tensor(p.mean, "moving_mean"),
                   tensor(p.variance, "moving_variance")};
  layer.build_shape =
      build_shape(static_cast<size_t>(*rank(p.input)), p.weight->tensor()->dims()[0]);
  layer.is_built_by_call = is_declared(p.input, layer.form);
  // What is not trainable at all stays as it is in training too.
  const bool is_frozen = training.is_job && !in_training;
  const bool has_trained = training.trained.contains(p.weight) || training.trained.contains(p.bias);
  if (is_frozen && has_trained) layer.options = ", training=False";
  layer.changes_in_training = !is_frozen;
  return layer;
}

Layer layer_norm(const Pattern& p, const TrainingFacts& training, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  std::vector<int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), -static_cast<int64_t>(dims.size()));
  Layer layer;
  Arguments arguments;
  if (axes.size() > 1) arguments.add("axis=" + python_tuple(axes));
  arguments.add_unless(
      "0.001", "epsilon",
      python_float(p.node->float_or("epsilon", 1e-5F), p.weight->tensor()->dtype()));
  if (!p.bias) arguments.add("center=False");
  add_options(arguments, p, training, context);
  layer.constructor = arguments.call("layers.LayerNormalization");
  layer.tensors.push_back(tensor(p.weight, "gamma"));
  if (p.bias) layer.tensors.push_back(tensor(p.bias, "beta"));
  layer.build_shape = "(";
  for (size_t i = dims.size(); i < static_cast<size_t>(*rank(p.input)); ++i) {
    layer.build_shape += "None, ";
  }
  layer.build_shape += fmt::format("{}{})", fmt::join(dims, ", "), *rank(p.input) == 1 ? "," : "");
  return layer;
}

Layer embedding(const Pattern& p, const TrainingFacts& training, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  Layer layer;
  Arguments arguments;
  arguments.add(size_argument("rows", dims[0]));
  arguments.add(size_argument("features", dims[1]));
  add_options(arguments, p, training, context);
  layer.constructor = arguments.call("layers.Embedding");
  layer.tensors.push_back(tensor(p.weight, "embeddings"));
  layer.build_shape = "(None,)";
  return layer;
}

Layer dropout(const Pattern& p) {
  return {.path = {},
          .constructor = fmt::format("layers.Dropout({})", python_float(p.ratio)),
          .follows = true,
          .changes_in_training = true};
}

Layer global_pool(const Pattern& p) {
  return {.path = {},
          .constructor = fmt::format("layers.GlobalAveragePooling{}D()", *rank(p.input) - 2),
          .form = Form::channels_last};
}

/// Whether it is the mean over all places of an image, each channel by itself.
bool is_mean_of_places(const Node& node, const Known& known) {
  const auto dimensions = rank(node.input(0));
  if (!node.domain.empty() || !dimensions || *dimensions < 4 || *dimensions > 5) return false;
  if (node.op == "GlobalAveragePool") return true;
  const auto axes =
      node.op == "ReduceMean" && node.input(1) ? known.integers(node.input(1)) : std::nullopt;
  if (!axes || !is_float(node.input(0)->type.dtype)) return false;
  std::set<int64_t> places;
  for (const int64_t axis : *axes) places.insert(axis < 0 ? axis + *dimensions : axis);
  return std::ssize(places) == *dimensions - 2 && *places.begin() == 2 &&
         *places.rbegin() == *dimensions - 1;
}

/// Whether it makes (N, C) of (N, C, 1, 1).
bool drops_places(const Node& node) {
  if (node.op != "Flatten" && node.op != "Reshape" && node.op != "Squeeze") return false;
  const auto &from = node.input(0)->type.shape, &to = node.output(0)->type.shape;
  const auto same = [&](size_t i) {
    return (*from)[i] == (*to)[i] && ((*from)[i].value || !(*from)[i].symbol.empty());
  };
  return node.domain.empty() && from && to && to->size() == 2 && same(0) && same(1);
}

/// Layers that do what a single node does, by the modules that torch has for it; Keras's own are
/// called ReLU too, or Activation.
struct PlainLayer {
  std::string_view op, module, layer;
};
constexpr PlainLayer kPlainLayers[] = {
    {"Gelu", "GELU", "layers.Activation(\"gelu\")"},
    {"Relu", "ReLU", "layers.ReLU()"},
    {"Sigmoid", "Sigmoid", "layers.Activation(\"sigmoid\")"},
    {"Softplus", "Softplus", "layers.Activation(\"softplus\")"},
    {"Tanh", "Tanh", "layers.Activation(\"tanh\")"},
};

/// "layers.MaxPooling2D(2)", where Keras's pads are none, or those of padding="same".
std::optional<std::string> pooling(const Node& node) {
  const WindowFacts w = window_facts(node, {});
  const bool is_max = node.op == "MaxPool", same = keras_says_same(w, node.input(0));
  if (w.has_dilations() || w.ceil || w.rank() > 2 || (!same && w.has_pads()) ||
      node.outputs().size() > 1 || (same && node.int_or("count_include_pad", 0) != 0)) {
    return std::nullopt;
  }
  Arguments arguments;
  arguments.add(python_square(w.kernel));
  arguments.add_unless(python_square(w.kernel), "strides", python_square(w.strides));
  if (same) arguments.add("padding=\"same\"");
  return arguments.call(fmt::format("layers.{}Pooling{}D", is_max ? "Max" : "Average", w.rank()));
}

}  // namespace

std::string_view keras_activation(const Node& node) {
  if (!node.domain.empty()) return "";
  if (node.op == "Relu") return "relu";
  if (node.op == "Sigmoid") return "sigmoid";
  if (node.op == "Softplus") return "softplus";
  if (node.op == "Tanh") return "tanh";
  const DType dtype = node.input(0)->type.dtype;
  // TensorFlow's has constants of float32.
  const bool is_exact = node.string_or("approximate", "none") == "none" && dtype == DType::f32;
  if (node.op == "Gelu" && is_exact) return "gelu";
  const auto dimensions = rank(node.input(0));
  const int64_t axis = node.int_or("axis", -1);
  // Of images the last dimension is another one.
  if (node.op == "Softmax" && dimensions == 2 && (axis == -1 || axis == 1)) return "softmax";
  return "";
}

std::vector<Pattern> keras_patterns(const Graph& graph, const Known& known) {
  std::vector<Pattern> patterns;
  for (const auto& node : graph.nodes()) {
    const Value* output = node->output(0);
    if (!output || !node->input(0) || !is_mean_of_places(*node, known)) continue;
    Pattern found{
        .kind = Kind::global_pool, .node = node.get(), .end = node.get(), .input = node->input(0)};
    if (node->op == "GlobalAveragePool" || node->int_or("keepdims", 1) != 0) {
      const Node* next = output->uses().size() == 1 ? output->uses()[0].node : nullptr;
      const auto outputs = graph.outputs();
      if (!next || &next->graph() != &graph || next->input(0) != output || !drops_places(*next) ||
          std::ranges::find(outputs, output) != outputs.end()) {
        continue;
      }
      found.inner = {node.get()};
      found.end = next;
    }
    patterns.push_back(std::move(found));
  }
  return patterns;
}

std::optional<Layer> keras_plain_layer(const Node& node, std::string_view kind,
                                       SourceContext& context) {
  if (!node.domain.empty()) return std::nullopt;
  context.modules.emplace("layers");
  if (node.op == "MaxPool" || node.op == "AveragePool") {
    const bool is_it = kind.empty() || kind.starts_with(node.op == "MaxPool" ? "MaxPool" : "Av");
    const auto text = is_it && rank(node.input(0)) ? pooling(node) : std::nullopt;
    if (!text) return std::nullopt;
    return Layer{.path = {}, .constructor = *text, .form = Form::channels_last};
  }
  const auto* row = std::ranges::find(kPlainLayers, node.op, &PlainLayer::op);
  const bool is_it = row != std::end(kPlainLayers) &&
                     (kind.empty() || kind == row->module || kind == "Activation");
  if (!is_it || (node.op == "Gelu" && keras_activation(node).empty())) return std::nullopt;
  return Layer{.path = {}, .constructor = std::string(row->layer), .follows = true};
}

Layer keras_layer(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  context.modules.emplace("layers");
  switch (p.kind) {
    case Kind::conv:
      return conv(p, training, context);
    case Kind::linear:
      return linear(p, training, context);
    case Kind::batch_norm:
      return batch_norm(p, training, context);
    case Kind::layer_norm:
      return layer_norm(p, training, context);
    case Kind::embedding:
      return embedding(p, training, context);
    case Kind::dropout:
      return dropout(p);
    case Kind::global_pool:
      return global_pool(p);
    case Kind::recurrent:
      return keras_recurrent_layer(p, training, context);
    case Kind::plain:
      break;
  }
  throw Bug("a kind of layer has no words");
}

}  // namespace onward::emit
