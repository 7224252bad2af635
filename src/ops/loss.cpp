// Losses over classes. scores and log-probabilities have the classes in dimension 1; labels have
// the same shape without it.

#include "ops/families.h"

namespace onward {
namespace {

/// What each label counts: its class's weight, or one; nothing where it is to be ignored.
struct Labels {
  Expr safe;    // with a valid class in place of an ignored one
  Expr weight;  // of each label, in the scores' type
};

Labels read_labels(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr labels = c.input(1);
  const DType dtype = c.input(0).dtype();
  const auto* ignored_class = c.node().get<int64_t>("ignore_index");
  const Expr one = b.scalar(1, dtype), zero = b.scalar(0, dtype);
  if (!ignored_class) {
    return {labels, c.has_input(2) ? gather(c.input(2), labels, 0) : expand(one, shape_of(labels))};
  }
  const Expr ignored = equal(labels, b.scalar(static_cast<double>(*ignored_class), labels.dtype()));
  const Expr safe = where(ignored, zeros_like(labels), labels);
  const Expr weight = c.has_input(2) ? gather(c.input(2), safe, 0) : expand(one, shape_of(labels));
  return {safe, where(ignored, zero, weight)};
}

/// The gradient with respect to what each label added to the loss, by the kind of reduction.
Expr per_label(const VjpContext& c, Expr dloss, const Labels& labels) {
  const std::string reduction = c.node().string_or("reduction", "mean");
  const Expr weighted = dloss * labels.weight;
  if (reduction != "mean") return weighted;
  const Expr total = c.builder().add("ReduceSum", {labels.weight.value()}, weighted.dtype(),
                                     {{"keepdims", int64_t{0}}});
  return weighted / total;
}

/// One at the label's class, zero at all others, in the shape of the scores.
Expr one_hot(const VjpContext& c, const Labels& labels) {
  Builder& b = c.builder();
  const DType dtype = c.input(0).dtype();
  const Expr off_on = concat({unsqueeze(b.scalar(0, dtype), b.integers({0})),
                              unsqueeze(b.scalar(1, dtype), b.integers({0}))},
                             0);
  const Expr classes = gather(shape_of(c.input(0)), b.scalar(1, DType::i64), 0);
  return b.add("OneHot", values({cast(labels.safe, DType::i64), classes, off_on}), dtype,
               {{"axis", int64_t{1}}});
}

Grads nll_vjp(const VjpContext& c) {
  const Labels labels = read_labels(c);
  const Expr each = unsqueeze(per_label(c, c.grad(0), labels), c.builder().integers({1}));
  return {-(each * one_hot(c, labels))};
}

// With p = softmax(scores): d loss / d scores = (p - onehot) for each label; log_prob, the second
// output, adds g - p sum(g).
Grads softmax_cross_entropy_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr classes = b.integers({1});
  const Expr p = exp(c.demanded_output(1, c.input(0).dtype()));
  std::optional<Expr> dscores;
  if (c.has_grad(0)) {
    const Labels labels = read_labels(c);
    const Expr each = unsqueeze(per_label(c, c.grad(0), labels), classes);
    dscores = each * (p - one_hot(c, labels));
  }
  if (c.has_grad(1)) {
    const Expr through = c.grad(1) - p * sum(c.grad(1), classes, KeepDims::yes);
    dscores = dscores ? *dscores + through : through;
  }
  return {dscores};
}

const OpDef kOps[] = {
    {.name = "NegativeLogLikelihoodLoss", .vjp = nll_vjp},
    {.name = "SoftmaxCrossEntropyLoss", .vjp = softmax_cross_entropy_vjp},
};

}  // namespace

std::span<const OpDef> loss_ops() { return kOps; }

}  // namespace onward
