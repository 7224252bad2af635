#include <fmt/format.h>

#include <numeric>

#include "emit/keras/dialect.h"
#include "emit/keras/window.h"
#include "emit/module.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

using Kind = Pattern::Kind;

/// ", dtype=\"float64\"", where it is not that of the whole model.
std::string dtype_option(const Value* weight, const SourceContext& context) {
  const DType dtype = weight->tensor()->dtype();
  return dtype == context.main_float ? "" : fmt::format(", dtype=\"{}\"", python_dtype(dtype));
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

void add_bias(Layer& layer, const Value* bias) {
  if (bias) {
    layer.tensors.push_back(tensor(bias, "bias"));
  } else {
    layer.constructor += ", use_bias=False";
  }
}

/// "(None, None, None, 3)": sizes that do not matter, and the last one.
std::string build_shape(size_t rank, int64_t last) {
  std::string text = "(";
  for (size_t i = 1; i < rank; ++i) text += "None, ";
  return text + fmt::format("{})", last);
}

Layer conv(const Pattern& p, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  const WindowFacts w = window_facts(*p.node, {dims.begin() + 2, dims.end()});
  refuse_many_dimensions(w);
  const int64_t group = p.node->int_or("group", 1);
  const bool same = keras_says_same(w);
  // One filter for each channel has a layer of its own, which is much faster; TensorFlow's takes
  // the same stride in all directions.
  const bool depthwise = group > 1 && dims[1] == 1 && dims[0] == group && w.rank() <= 2 &&
                         w.strides.front() == w.strides.back();
  Layer layer;
  layer.form = Form::channels_last;
  layer.constructor =
      depthwise ? fmt::format("layers.DepthwiseConv{}D({}", w.rank(), python_square(w.kernel))
                : fmt::format("layers.Conv{}D({}, {}", w.rank(), dims[0], python_square(w.kernel));
  layer.picked = keras_picked_places(w);
  layer.constructor +=
      window_options(w, {layer.picked.empty() ? "strides" : "", "", "dilation_rate"});
  if (same) layer.constructor += ", padding=\"same\"";
  layer.pads_itself = same;
  if (group != 1 && !depthwise) layer.constructor += fmt::format(", groups={}", group);
  std::vector<int64_t> order(w.rank());
  std::iota(order.begin(), order.end(), 2);
  order.push_back(depthwise ? 0 : 1);
  order.push_back(depthwise ? 1 : 0);
  layer.tensors.push_back(tensor(p.weight, "kernel", order));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight, context) + ")";
  if (!same && w.pads && w.has_pads()) {
    // ZeroPadding1D takes a single pair.
    const std::string pads =
        w.rank() == 1 ? fmt::format("({}, {})", w.before(0), w.after(0)) : pairs_of_pads(w);
    layer.padding = fmt::format("layers.ZeroPadding{}D({})", w.rank(), pads);
  }
  layer.build_shape = build_shape(w.rank() + 2, dims[1] * group);
  return layer;
}

Layer linear(const Pattern& p, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  const bool transposed = p.is_transposed;  // here (out, in), there (in, out)
  Layer layer;
  layer.constructor = fmt::format("layers.Dense({}", dims[transposed ? 0 : 1]);
  layer.tensors.push_back(
      tensor(p.weight, "kernel", transposed ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{}));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight, context) + ")";
  layer.build_shape = build_shape(2, dims[transposed ? 1 : 0]);
  return layer;
}

Layer batch_norm(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  const DType dtype = p.weight->tensor()->dtype();
  const bool in_training = training.paired.contains(p.node);
  std::string name = "layers.BatchNormalization";
  if (in_training && training.batch_variance == BatchVariance::unbiased) {
    context.helpers.emplace("UnbiasedBatchNormalization");
    name = "UnbiasedBatchNormalization";
  }
  const std::string momentum = python_float(training.kept_statistics(*p.node));
  Layer layer;
  layer.form = Form::channels_last;
  layer.constructor = fmt::format("{}(momentum={}, epsilon={}{})", name, momentum,
                                  python_float(p.node->float_or("epsilon", 1e-5F), dtype),
                                  dtype_option(p.weight, context));
  layer.tensors = {tensor(p.weight, "gamma"), tensor(p.bias, "beta"), tensor(p.mean, "moving_mean"),
                   tensor(p.variance, "moving_variance")};
  layer.build_shape =
      build_shape(static_cast<size_t>(*rank(p.input)), p.weight->tensor()->dims()[0]);
  const bool frozen = training.is_job && !in_training;
  layer.options = frozen ? ", training=False" : ", training=training";
  return layer;
}

Layer layer_norm(const Pattern& p, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  const DType dtype = p.weight->tensor()->dtype();
  std::vector<int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), -static_cast<int64_t>(dims.size()));
  Layer layer;
  layer.constructor = fmt::format("layers.LayerNormalization(axis={}, epsilon={}{}{})",
                                  python_square(axes).find('(') == 0 ? python_tuple(axes) : "-1",
                                  python_float(p.node->float_or("epsilon", 1e-5F), dtype),
                                  p.bias ? "" : ", center=False", dtype_option(p.weight, context));
  layer.tensors.push_back(tensor(p.weight, "gamma"));
  if (p.bias) layer.tensors.push_back(tensor(p.bias, "beta"));
  layer.build_shape = "(";
  for (size_t i = dims.size(); i < static_cast<size_t>(*rank(p.input)); ++i) {
    layer.build_shape += "None, ";
  }
  layer.build_shape += fmt::format("{}{})", fmt::join(dims, ", "), *rank(p.input) == 1 ? "," : "");
  return layer;
}

Layer embedding(const Pattern& p, const SourceContext& context) {
  const auto& dims = p.weight->tensor()->dims();
  Layer layer;
  layer.constructor =
      fmt::format("layers.Embedding({}, {}{})", dims[0], dims[1], dtype_option(p.weight, context));
  layer.tensors.push_back(tensor(p.weight, "embeddings"));
  layer.build_shape = "(None,)";
  return layer;
}

}  // namespace

Layer keras_layer(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  context.modules.emplace("layers");
  switch (p.kind) {
    case Kind::conv:
      return conv(p, context);
    case Kind::linear:
      return linear(p, context);
    case Kind::batch_norm:
      return batch_norm(p, training, context);
    case Kind::layer_norm:
      return layer_norm(p, context);
    case Kind::embedding:
      return embedding(p, context);
    case Kind::dropout:
      return {.path = {},
              .constructor = fmt::format("layers.Dropout({})", python_float(p.ratio)),
              .options = ", training=training",
              .follows = true};
    case Kind::plain:
      break;
  }
  throw Bug("a kind of layer has no words");
}

}  // namespace onward::emit
