#include <fmt/format.h>

#include "emit/module.h"
#include "emit/torch/dialect.h"
#include "emit/torch/window.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

using Kind = Pattern::Kind;

/// ", dtype=torch.float64", where it is not the default.
std::string dtype_option(const Value* weight) {
  const DType dtype = weight->tensor()->dtype();
  return dtype == DType::f32 ? "" : fmt::format(", dtype=torch.{}", python_dtype(dtype));
}

LayerTensor tensor(const Value* value, std::string attribute, bool transposed = false) {
  std::vector<int64_t> dims = value->tensor()->dims();
  if (!transposed) return {value, std::move(attribute), {}, std::move(dims)};
  std::swap(dims[0], dims[1]);
  return {value, std::move(attribute), {1, 0}, std::move(dims)};
}

void add_bias(Layer& layer, const Value* bias) {
  if (bias) {
    layer.tensors.push_back(tensor(bias, "bias"));
  } else {
    layer.constructor += ", bias=False";
  }
}

Layer conv(const Pattern& p) {
  const auto& dims = p.weight->tensor()->dims();
  const WindowFacts w = window_facts(*p.node, {dims.begin() + 2, dims.end()});
  refuse_many_dimensions(w);
  const int64_t group = p.node->int_or("group", 1);
  Layer layer;
  const bool by_padding = w.pads_are_symmetric();
  layer.constructor = fmt::format(
      "nn.Conv{}d({}, {}, {}{}", w.rank(), dims[1] * group, dims[0], python_square(w.kernel),
      window_options(w, {"stride", by_padding ? "padding" : "", "dilation"}));
  if (group != 1) layer.constructor += fmt::format(", groups={}", group);
  layer.tensors.push_back(tensor(p.weight, "weight"));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight) + ")";
  if (!by_padding && w.pads && w.has_pads()) {
    layer.padding = fmt::format("nn.ZeroPad{}d({})", w.rank(), python_tuple(torch_pads(w)));
  }
  return layer;
}

Layer linear(const Pattern& p) {
  const auto& dims = p.weight->tensor()->dims();
  const bool transposed = p.node->int_or("transB", 0) == 0;  // here (in, out), there (out, in)
  Layer layer;
  layer.constructor =
      fmt::format("nn.Linear({}, {}", dims[transposed ? 0 : 1], dims[transposed ? 1 : 0]);
  layer.tensors.push_back(tensor(p.weight, "weight", transposed));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight) + ")";
  return layer;
}

Layer batch_norm(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  const DType dtype = p.weight->tensor()->dtype();
  const auto dimensions = *rank(p.input);
  const bool in_training = training.paired.contains(p.node);
  std::string module = fmt::format("nn.BatchNorm{}d", dimensions <= 3 ? 1 : dimensions - 2);
  if (in_training && training.batch_variance == BatchVariance::biased) {
    context.helpers.emplace("BiasedBatchNorm");
    module = "BiasedBatchNorm";
  }
  // Torch's momentum is the part of the new statistics, the standard's that of the old ones; 15
  // digits make 0.1 of 1 - 0.9.
  const std::string momentum = fmt::format("{:.15g}", 1 - training.kept_statistics(*p.node));
  Layer layer;
  layer.constructor = fmt::format(
      "{}({}, eps={}, momentum={}{})", module, p.weight->tensor()->dims()[0],
      python_float(p.node->float_or("epsilon", 1e-5F), dtype), momentum, dtype_option(p.weight));
  layer.tensors = {tensor(p.weight, "weight"), tensor(p.bias, "bias"),
                   tensor(p.mean, "running_mean"), tensor(p.variance, "running_var")};
  layer.stays_in_eval = training.is_job && !in_training;
  layer.counter = "num_batches_tracked";
  return layer;
}

Layer layer_norm(const Pattern& p) {
  Layer layer;
  const DType dtype = p.weight->tensor()->dtype();
  layer.constructor =
      fmt::format("nn.LayerNorm({}, eps={}", python_tuple(p.weight->tensor()->dims()),
                  python_float(p.node->float_or("epsilon", 1e-5F), dtype));
  layer.tensors.push_back(tensor(p.weight, "weight"));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight) + ")";
  return layer;
}

Layer embedding(const Pattern& p) {
  const auto& dims = p.weight->tensor()->dims();
  Layer layer;
  layer.constructor =
      fmt::format("nn.Embedding({}, {}{})", dims[0], dims[1], dtype_option(p.weight));
  layer.tensors.push_back(tensor(p.weight, "weight"));
  return layer;
}

}  // namespace

Layer torch_layer(const Pattern& p, const TrainingFacts& training, SourceContext& context) {
  switch (p.kind) {
    case Kind::conv:
      return conv(p);
    case Kind::linear:
      return linear(p);
    case Kind::batch_norm:
      return batch_norm(p, training, context);
    case Kind::layer_norm:
      return layer_norm(p);
    case Kind::embedding:
      return embedding(p);
    case Kind::dropout:
      return {.path = {},
              .constructor = fmt::format("nn.Dropout({})", python_float(p.ratio)),
              .follows = true};
  }
  throw Bug("a kind of layer has no words");
}

}  // namespace onward::emit
