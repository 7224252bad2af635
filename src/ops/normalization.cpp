#include "ops/families.h"

namespace onward {
namespace {

double epsilon(const VjpContext& c) {
  return static_cast<double>(c.node().float_or("epsilon", 1e-5F));
}

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
  Expr sum(Expr x) const { return reshape(sum_spread(x), vector_); }

 private:
  Expr vector_, spread_;
};

// y = (x - mean) * scale / sqrt(var + epsilon) + bias, with the statistics given.
Grads frozen_batch_norm(const VjpContext& c) {
  const Expr x = c.input(0), scale = c.input(1), mean = c.input(3), var = c.input(4),
             dy = c.grad(0);
  const Channels channels(x, scale);
  const Expr inverse = 1 / sqrt(var + epsilon(c));
  const Expr centered = x - channels.spread(mean);
  const Expr sum_dy = channels.sum(dy), sum_dy_centered = channels.sum(dy * centered);
  return {dy * channels.spread(scale * inverse), sum_dy_centered * inverse, sum_dy,
          -(sum_dy * scale * inverse),
          -0.5 * (sum_dy_centered * scale * inverse * inverse * inverse)};
}

// The statistics are those of the batch, over n elements a channel, so that they move with x:
//   dx = scale / sqrt(var + epsilon) * (dy - sum(dy) / n - xhat * sum(dy * xhat) / n)
// Outputs 1 and 2 are running averages: running * momentum + batch * (1 - momentum).
Grads batch_norm_in_training(const VjpContext& c) {
  const Expr x = c.input(0), scale = c.input(1);
  const Channels channels(x, scale);
  const auto size = [&](Expr value) {
    return cast(c.builder().add("Size", {value.value()}, DType::i64), x.dtype());
  };
  const Expr n = size(x) / size(scale);
  const Expr centered = x - channels.sum_spread(x) / n;
  const Expr var = channels.sum(centered * centered) / n;
  const Expr inverse = 1 / sqrt(var + epsilon(c));
  const double momentum = static_cast<double>(c.node().float_or("momentum", 0.9F));

  Grads grads(5);
  const auto add_to_dx = [&](Expr more) { grads[0] = grads[0] ? *grads[0] + more : more; };
  if (c.has_grad(0)) {
    const Expr dy = c.grad(0), xhat = centered * channels.spread(inverse);
    const Expr sum_dy = channels.sum_spread(dy), sum_dy_xhat = channels.sum_spread(dy * xhat);
    add_to_dx(channels.spread(scale * inverse) * (dy - sum_dy / n - xhat * (sum_dy_xhat / n)));
    grads[1] = channels.sum(dy * xhat);
    grads[2] = channels.sum(dy);
  }
  if (c.has_grad(1)) {
    const Expr g = c.grad(1);
    add_to_dx(expand(channels.spread((1 - momentum) * g) / n, shape_of(x)));
    grads[3] = momentum * g;
  }
  if (c.has_grad(2)) {
    const Expr g = c.grad(2);
    add_to_dx(channels.spread((1 - momentum) * g) * (2 * centered / n));
    grads[4] = momentum * g;
  }
  return grads;
}

Grads batch_norm_vjp(const VjpContext& c) {
  return c.attribute("training_mode", 0) != 0 ? batch_norm_in_training(c) : frozen_batch_norm(c);
}

/// The axes from `axis` to the last; the rank may be known only when the graph runs.
Expr axes_from(Expr x, int64_t axis) {
  Builder& b = x.builder();
  const Expr one = b.scalar(1, DType::i64);
  if (axis < 0) {
    return b.add(
        "Range",
        values({b.scalar(static_cast<double>(axis), DType::i64), b.scalar(0, DType::i64), one}),
        DType::i64);
  }
  const Expr rank = squeeze(rank_of(x), b.integers({0}));
  return b.add("Range", values({b.scalar(static_cast<double>(axis), DType::i64), rank, one}),
               DType::i64);
}

// y = xhat * scale + bias with xhat = (x - mean) / sqrt(var + epsilon) over the axes from `axis`
// on. With g = dy * scale: dx = (g - mean(g) - xhat * mean(g * xhat)) / sqrt(var + epsilon). The
// mean and the inverse deviation, outputs 1 and 2, pass gradients too.
Grads layer_norm_vjp(const VjpContext& c) {
  const Expr x = c.input(0), scale = c.input(1);
  const Expr axes = axes_from(x, c.attribute("axis", -1));
  const auto average = [&](Expr value) { return mean(value, axes, KeepDims::yes); };
  const Expr centered = x - average(x);
  const Expr inverse = 1 / sqrt(average(centered * centered) + epsilon(c));
  const Expr xhat = centered * inverse;

  Grads grads(3);
  const auto add_to_dx = [&](Expr more) { grads[0] = grads[0] ? *grads[0] + more : more; };
  if (c.has_grad(0)) {
    const Expr dy = c.grad(0), g = dy * scale;
    add_to_dx(inverse * (g - average(g) - xhat * average(g * xhat)));
    grads[1] = sum_to(dy * xhat, shape_of(scale));
    if (c.has_input(2)) grads[2] = sum_to(dy, shape_of(c.input(2)));
  }
  const Expr count = cast(c.builder().add("Size", {x.value()}, DType::i64), x.dtype()) /
                     cast(c.builder().add("Size", {inverse.value()}, DType::i64), x.dtype());
  if (c.has_grad(1)) add_to_dx(expand(cast(c.grad(1), x.dtype()) / count, shape_of(x)));
  if (c.has_grad(2)) {
    add_to_dx(-(cast(c.grad(2), x.dtype()) * inverse * inverse * xhat / count));
  }
  return grads;
}

const OpDef kOps[] = {
    {.name = "BatchNormalization", .vjp = batch_norm_vjp},
    {.name = "LayerNormalization", .vjp = layer_norm_vjp},
};

}  // namespace

std::span<const OpDef> normalization_ops() { return kOps; }

}  // namespace onward
