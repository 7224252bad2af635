#include <fmt/format.h>

#include "emit/call.h"
#include "emit/classes.h"
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

/// ", eps=0.001", where it is not the default of torch's normalizations.
std::string epsilon_option(const Node& node, DType dtype) {
  const std::string epsilon = python_float(node.float_or("epsilon", 1e-5F), dtype);
  return epsilon == "1e-05" ? "" : ", eps=" + epsilon;
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
      "nn.Conv{}d({}, {}, {}{}", w.rank(), size_argument("in_channels", dims[1] * group),
      size_argument("out_channels", dims[0]), python_square(w.kernel),
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
  const bool transposed = !p.is_transposed;  // here (in, out), there (out, in)
  Layer layer;
  layer.constructor =
      fmt::format("nn.Linear({}, {}", size_argument("in_features", dims[transposed ? 0 : 1]),
                  size_argument("out_features", dims[transposed ? 1 : 0]));
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
  layer.constructor =
      fmt::format("{}({}{}{}{})", module, size_argument("channels", p.weight->tensor()->dims()[0]),
                  epsilon_option(*p.node, dtype), momentum == "0.1" ? "" : ", momentum=" + momentum,
                  dtype_option(p.weight));
  layer.tensors = {tensor(p.weight, "weight"), tensor(p.bias, "bias"),
                   tensor(p.mean, "running_mean"), tensor(p.variance, "running_var")};
  layer.stays_in_eval = training.is_job && !in_training;
  layer.counter = "num_batches_tracked";
  return layer;
}

Layer layer_norm(const Pattern& p) {
  Layer layer;
  const auto& dims = p.weight->tensor()->dims();
  layer.constructor =
      fmt::format("nn.LayerNorm({}{}",
                  dims.size() == 1 ? size_argument("features", dims[0]) : python_tuple(dims),
                  epsilon_option(*p.node, p.weight->tensor()->dtype()));
  layer.tensors.push_back(tensor(p.weight, "weight"));
  add_bias(layer, p.bias);
  layer.constructor += dtype_option(p.weight) + ")";
  return layer;
}

Layer embedding(const Pattern& p) {
  const auto& dims = p.weight->tensor()->dims();
  Layer layer;
  layer.constructor = fmt::format("nn.Embedding({}, {}{})", size_argument("rows", dims[0]),
                                  size_argument("features", dims[1]), dtype_option(p.weight));
  layer.tensors.push_back(tensor(p.weight, "weight"));
  return layer;
}

/// Modules that do what a function does, by the function's name; their arguments are the same.
struct FunctionModule {
  std::string_view function;
  std::string_view module;
};
constexpr FunctionModule kModules[] = {
    {"F.avg_pool1d", "AvgPool1d"},
    {"F.avg_pool2d", "AvgPool2d"},
    {"F.avg_pool3d", "AvgPool3d"},
    {"F.elu", "ELU"},
    {"F.gelu", "GELU"},
    {"F.hardsigmoid", "Hardsigmoid"},
    {"F.hardswish", "Hardswish"},
    {"F.leaky_relu", "LeakyReLU"},
    {"F.log_softmax", "LogSoftmax"},
    {"F.max_pool1d", "MaxPool1d"},
    {"F.max_pool2d", "MaxPool2d"},
    {"F.max_pool3d", "MaxPool3d"},
    {"F.mish", "Mish"},
    {"F.relu", "ReLU"},
    {"F.selu", "SELU"},
    {"F.silu", "SiLU"},
    {"F.softmax", "Softmax"},
    {"F.softplus", "Softplus"},
    {"F.softsign", "Softsign"},
    {"torch.sigmoid", "Sigmoid"},
    {"torch.tanh", "Tanh"},
};

}  // namespace

std::optional<Layer> torch_plain_layer(const Node& node, std::string_view kind,
                                       SourceContext& context) {
  const CallRow* row = find_call(*context.dialect, node);
  if (!row || !row->cell.gap.empty()) return std::nullopt;
  // What the call would be, with its first input as a mark.
  Body body(context, "");
  const std::string x = body.add_argument(node.input(0));
  std::string text;
  const auto helpers = context.helpers, modules = context.modules;
  try {
    text = emit_call(*row, Call(node, body, Form::plain));
  } catch (const Error&) {
  }
  context.helpers = helpers;
  context.modules = modules;
  // torch computes an adaptive mean of one place as just that.
  if (kind == "AdaptiveAvgPool2d" &&
      (text == fmt::format("torch.mean({}, dim=(-1, -2), keepdim=True)", x) ||
       text == fmt::format("torch.mean({}, dim=(2, 3), keepdim=True)", x))) {
    return Layer{.path = {}, .constructor = "nn.AdaptiveAvgPool2d(1)"};
  }
  for (const auto& [function, module] : kModules) {
    const std::string begin = fmt::format("{}({}", function, x);
    if ((!kind.empty() && module != kind) || !text.starts_with(begin) ||
        text.find(x, begin.size()) != text.npos) {
      continue;
    }
    std::string arguments = text.substr(begin.size());
    if (arguments.starts_with(", ")) arguments.erase(0, 2);
    return Layer{.path = {}, .constructor = fmt::format("nn.{}({}", module, arguments)};
  }
  return std::nullopt;
}

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
    case Kind::recurrent:
      return torch_recurrent_layer(p);
    case Kind::global_pool:
    case Kind::plain:
      break;
  }
  throw Bug("a kind of layer has no words");
}

}  // namespace onward::emit
