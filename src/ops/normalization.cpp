#include <algorithm>

#include "ops/families.h"

namespace onward {
namespace {

double epsilon(const Node& node) { return static_cast<double>(node.float_or("epsilon", 1e-5F)); }

double epsilon(const VjpContext& c) { return epsilon(c.node()); }

/// A value for each channel (dimension 1 of x), in a shape that broadcasts against x; and the way
/// back.
class Channels {
 public:
  Channels(Expr x, Expr per_channel)
      : vector_(shape_of(per_channel)),
        spread_(concat({vector_, expand(x.builder().integers({1}), rank_of(x) - 2)}, 0)) {}

  Expr spread(Expr per_channel) const { return reshape(per_channel, spread_); }
  /// The sum over all but the channels, in the spread shape.
  Expr sum_spread(Expr x) const { return sum_to(x, spread_); }
  Expr sum(Expr x) const { return vector(sum_spread(x)); }
  Expr vector(Expr spread) const { return reshape(spread, vector_); }

 private:
  Expr vector_, spread_;
};

/// Averages over all but the channels, and what follows from them.
struct BatchStatistics {
  Expr n;         // elements a channel
  Expr mean;      // in the spread shape
  Expr centered;  // x - mean
  Expr variance;  // a vector
  Expr inverse;   // 1 / sqrt(variance + epsilon)

  BatchStatistics(Expr x, Expr scale, const Channels& channels, double epsilon)
      : n(size(x) / size(scale)),
        mean(channels.sum_spread(x) / n),
        centered(x - mean),
        variance(channels.sum(centered * centered) / n),
        inverse(1 / sqrt(variance + epsilon)) {}

 private:
  static Expr size(Expr value) {
    return cast(value.builder().add("Size", {value.value()}, DType::i64), value.dtype());
  }
};

// BatchNormGrad(dy, x, scale, mean, var) gives dx, dscale and dbias of y = xhat * scale + bias.
// With the statistics given: xhat = (x - mean) / sqrt(var + epsilon). Without, they are those of
// the batch, over n elements a channel, and move with x:
//   dx = scale / sqrt(var + epsilon) * (dy - sum(dy) / n - xhat * sum(dy * xhat) / n)
std::vector<Expr> batch_norm_grad(const VjpContext& c, bool frozen) {
  const Expr x = c.input(0), scale = c.input(1);
  std::vector<Value*> inputs = values({c.grad(0), x, scale});
  if (frozen) {
    inputs.push_back(c.input(3).value());
    inputs.push_back(c.input(4).value());
  }
  return c.builder().add_many("BatchNormGrad", kInternalDomain, std::move(inputs),
                              {x.dtype(), scale.dtype(), c.input(2).dtype()},
                              {{"epsilon", c.node().float_or("epsilon", 1e-5F)}});
}

/// The gradient with respect to y. Passes of the runtime may let a Relu that follows go with the
/// normalization, whose bias is input 7 then: dy is that of the Relu's result.
Expr before_relu(const ExpandContext& c, Expr xhat, const Channels& channels) {
  const Expr dy = c.input(0);
  if (c.node().int_or("relu", 0) == 0) return dy;
  const Expr y = xhat * channels.spread(c.input(2)) + channels.spread(c.input(7));
  return where(greater(y, zeros_like(y)), dy, zeros_like(dy));
}

std::vector<Expr> batch_norm_grad_expansion(const ExpandContext& c) {
  const Expr x = c.input(1), scale = c.input(2);
  const Channels channels(x, scale);
  if (c.has_input(3)) {
    const Expr inverse = 1 / sqrt(c.input(4) + epsilon(c.node()));
    const Expr centered = x - channels.spread(c.input(3));
    const Expr dy = before_relu(c, centered * channels.spread(inverse), channels);
    return {dy * channels.spread(scale * inverse), channels.sum(dy * centered) * inverse,
            channels.sum(dy)};
  }
  const BatchStatistics batch(x, scale, channels, epsilon(c.node()));
  const Expr xhat = batch.centered * channels.spread(batch.inverse);
  const Expr dy = before_relu(c, xhat, channels);
  const Expr sum_dy = channels.sum_spread(dy), sum_dy_xhat = channels.sum_spread(dy * xhat);
  return {channels.spread(scale * batch.inverse) *
              (dy - sum_dy / batch.n - xhat * (sum_dy_xhat / batch.n)),
          channels.sum(dy * xhat), channels.sum(dy)};
}

// BatchNormalization(x, scale, bias, mean, var) in plain operators; those of small types are
// computed in float32. Passes of the runtime may add a Relu, and the batch's mean and inverse
// deviation as outputs 3 and 4.
std::vector<Expr> batch_norm_expansion(const ExpandContext& c) {
  const DType dtype = c.input(0).dtype();
  const auto wide = [&](size_t input) {
    return cast(c.input(input), bits(dtype) < 32 ? DType::f32 : dtype);
  };
  const Expr x = wide(0), scale = wide(1), bias = wide(2);
  const Channels channels(x, scale);
  const auto result = [&](Expr centered, Expr inverse) {
    const Expr y = centered * channels.spread(scale * inverse) + channels.spread(bias);
    const bool relu = c.node().int_or("relu", 0) != 0;
    return cast(relu ? c.builder().add("Relu", {y.value()}, y.dtype()) : y, dtype);
  };
  if (c.node().int_or("training_mode", 0) == 0) {
    return {result(x - channels.spread(wide(3)), 1 / sqrt(wide(4) + epsilon(c.node())))};
  }
  const BatchStatistics batch(x, scale, channels, epsilon(c.node()));
  const auto momentum = static_cast<double>(c.node().float_or("momentum", 0.9F));
  const auto running = [&](size_t input, Expr of_batch) {
    return cast(wide(input) * momentum + of_batch * (1 - momentum), c.input(input).dtype());
  };
  std::vector<Expr> results = {result(batch.centered, batch.inverse),
                               running(3, channels.vector(batch.mean)), running(4, batch.variance)};
  if (c.node().outputs().size() > 3) {
    results.push_back(channels.vector(batch.mean));
    results.push_back(batch.inverse);
  }
  return results;
}

/// Of the form that passes of the runtime write.
std::vector<InferredOutput> batch_norm_types(const Node& node, const KnownData&) {
  const Type& scale = node.input(1)->type;
  return {{.type = node.input(0)->type},
          {.type = node.input(3)->type},
          {.type = node.input(4)->type},
          {.type = scale},
          {.type = scale}};
}

/// dx, dscale and dbias; biases have the shape of scales.
std::vector<InferredOutput> batch_norm_grad_types(const Node& node, const KnownData&) {
  const Type& scale = node.input(2)->type;
  return {{.type = node.input(1)->type}, {.type = scale}, {.type = scale}};
}

// y = (x - mean) * scale / sqrt(var + epsilon) + bias, with the statistics given, which have
// gradients too.
Grads frozen_batch_norm(const VjpContext& c) {
  const Expr scale = c.input(1), inverse = 1 / sqrt(c.input(4) + epsilon(c));
  const std::vector<Expr> grads = batch_norm_grad(c, true);
  const Expr factor = scale * inverse;
  return {grads[0], grads[1], grads[2], -(grads[2] * factor), -0.5 * (grads[1] * factor * inverse)};
}

// Outputs 1 and 2 are running averages: running * momentum + batch * (1 - momentum).
Grads batch_norm_in_training(const VjpContext& c) {
  Grads grads(5);
  if (c.has_grad(0)) {
    const std::vector<Expr> of_y = batch_norm_grad(c, false);
    std::copy(of_y.begin(), of_y.end(), grads.begin());
  }
  if (!c.has_grad(1) && !c.has_grad(2)) return grads;
  const Expr x = c.input(0);
  const Channels channels(x, c.input(1));
  const BatchStatistics batch(x, c.input(1), channels, epsilon(c));
  const double momentum = static_cast<double>(c.node().float_or("momentum", 0.9F));
  const auto add_to_dx = [&](Expr more) { grads[0] = grads[0] ? *grads[0] + more : more; };
  if (c.has_grad(1)) {
    const Expr g = c.grad(1);
    add_to_dx(expand(channels.spread((1 - momentum) * g) / batch.n, shape_of(x)));
    grads[3] = momentum * g;
  }
  if (c.has_grad(2)) {
    const Expr g = c.grad(2);
    add_to_dx(channels.spread((1 - momentum) * g) * (2 * batch.centered / batch.n));
    grads[4] = momentum * g;
  }
  return grads;
}

Grads batch_norm_vjp(const VjpContext& c) {
  return c.attribute("training_mode", 0) != 0 ? batch_norm_in_training(c) : frozen_batch_norm(c);
}

/// Averages over the axes from `axis` on, and what follows from them.
struct RowStatistics {
  Expr axes;
  Expr mean;
  Expr inverse;  // 1 / sqrt(var + epsilon)
  Expr xhat;     // (x - mean) * inverse

  RowStatistics(Expr x, const Node& node)
      : RowStatistics(x, axes_from(x, node.int_or("axis", -1)),
                      static_cast<double>(node.float_or("epsilon", 1e-5F))) {}

  Expr average(Expr value) const { return onward::mean(value, axes, KeepDims::yes); }

 private:
  RowStatistics(Expr x, Expr over, double epsilon)
      : axes(over), mean(average(x)), inverse(x), xhat(x - mean) {
    inverse = 1 / sqrt(average(xhat * xhat) + epsilon);
    xhat = xhat * inverse;
  }
};

// y = xhat * scale + bias over the axes from `axis` on. Small types are computed with in float32;
// stash_type float32 would spoil doubles, whose statistics are rounded to it only when given out.
// The internal form, which a step's passes make, gives them in the precision of x.
std::vector<Expr> layer_norm_expansion(const ExpandContext& c) {
  const DType dtype = c.input(0).dtype();
  const DType wide = wide_type(dtype);
  const RowStatistics row(cast(c.input(0), wide), c.node());
  Expr y = row.xhat * cast(c.input(1), wide);
  if (c.has_input(2)) y = y + cast(c.input(2), wide);
  const auto stash =
      c.node().domain.empty() ? static_cast<DType>(c.node().int_or("stash_type", 1)) : dtype;
  return {cast(y, dtype), cast(row.mean, stash), cast(row.inverse, stash)};
}

std::vector<InferredOutput> layer_norm_types(const Node& node, const KnownData&) {
  const Type statistic = Type::tensor(node.input(0)->type.dtype);
  return {{.type = node.input(0)->type}, {.type = statistic}, {.type = statistic}};
}

// LayerNormGrad(dy, x, scale, bias) gives dx, dscale and dbias of y = xhat * scale + bias with
// xhat = (x - mean) / sqrt(var + epsilon) over the axes from `axis` on. With g = dy * scale:
//   dx = (g - mean(g) - xhat * mean(g * xhat)) / sqrt(var + epsilon)
std::vector<Expr> layer_norm_grad_expansion(const ExpandContext& c) {
  const Expr dy = c.input(0), x = c.input(1), scale = c.input(2);
  const RowStatistics row(x, c.node());
  const Expr g = dy * scale;
  std::vector<Expr> grads = {
      row.inverse * (g - row.average(g) - row.xhat * row.average(g * row.xhat)),
      sum_to(dy * row.xhat, shape_of(scale))};
  if (c.has_input(3)) grads.push_back(sum_to(dy, shape_of(c.input(3))));
  return grads;
}

std::vector<InferredOutput> layer_norm_grad_types(const Node& node, const KnownData&) {
  std::vector<InferredOutput> types;
  for (const size_t i : {1U, 2U, 3U}) {
    if (node.input(i)) types.push_back({.type = node.input(i)->type});
  }
  return types;
}

// The mean and the inverse deviation, outputs 1 and 2, pass gradients too.
Grads layer_norm_vjp(const VjpContext& c) {
  const Expr x = c.input(0), scale = c.input(1);
  Grads grads(3);
  if (c.has_grad(0)) {
    std::vector<Value*> inputs = values({c.grad(0), x, scale});
    std::vector<DType> dtypes = {x.dtype(), scale.dtype()};
    if (c.has_input(2)) {
      inputs.push_back(c.input(2).value());
      dtypes.push_back(c.input(2).dtype());
    }
    const auto of_y = c.builder().add_many(
        "LayerNormGrad", kInternalDomain, std::move(inputs), dtypes,
        {{"axis", c.attribute("axis", -1)}, {"epsilon", c.node().float_or("epsilon", 1e-5F)}});
    std::copy(of_y.begin(), of_y.end(), grads.begin());
  }
  if (!c.has_grad(1) && !c.has_grad(2)) return grads;
  const RowStatistics row(x, c.node());
  const auto add_to_dx = [&](Expr more) { grads[0] = grads[0] ? *grads[0] + more : more; };
  const auto size = [&](Expr value) {
    return cast(c.builder().add("Size", {value.value()}, DType::i64), x.dtype());
  };
  const Expr count = size(x) / size(row.inverse);
  if (c.has_grad(1)) add_to_dx(expand(cast(c.grad(1), x.dtype()) / count, shape_of(x)));
  if (c.has_grad(2)) {
    add_to_dx(-(cast(c.grad(2), x.dtype()) * row.inverse * row.inverse * row.xhat / count));
  }
  return grads;
}

const OpDef kNormalizationOps[] = {
    {.name = "BatchNormGrad",
     .domain = kInternalDomain,
     .expansion = batch_norm_grad_expansion,
     .types = batch_norm_grad_types},
    // In training y does not depend on the running statistics, nor these on scale and bias.
    {.name = "BatchNormalization",
     .vjp = batch_norm_vjp,
     .expansion = batch_norm_expansion,
     .traits = kImages,
     .inputs = {In::data, In::scale, In::bias, In::running_mean, In::running_variance},
     .trains = [](const Node& node) { return node.int_or("training_mode", 0) != 0; },
     .constant_in = inputs_at({1, 2, 3, 4})},
    {.name = "BatchNormalization",
     .domain = kInternalDomain,
     .expansion = batch_norm_expansion,
     .types = batch_norm_types},
    {.name = "LayerNormGrad",
     .domain = kInternalDomain,
     .expansion = layer_norm_grad_expansion,
     .types = layer_norm_grad_types},
    // The statistics do not depend on scale and bias.
    {.name = "LayerNormalization",
     .vjp = layer_norm_vjp,
     .expansion = layer_norm_expansion,
     .inputs = {In::data, In::scale, In::bias},
     .constant_in = inputs_at({1, 2})},
    {.name = "LayerNormalization",
     .domain = kInternalDomain,
     .expansion = layer_norm_expansion,
     .types = layer_norm_types},
};

}  // namespace

std::span<const OpDef> normalization_ops() { return kNormalizationOps; }

}  // namespace onward
