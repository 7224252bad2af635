// Losses over classes. scores and log-probabilities have the classes in dimension 1; labels have
// the same shape without it.

#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

// The backward passes, both of (dloss, values, labels, weights) and with the attributes of the
// loss:
//   SoftmaxCrossEntropyGrad of log-probabilities = each * (exp(log_prob) - onehot)
//   NegativeLogLikelihoodGrad of any tensor of their shape = -(each * onehot)
// where `each` is the gradient with respect to what a label added to the loss.

/// What each label counts: its class's weight, or one; nothing where it is to be ignored.
struct Labels {
  Expr safe;    // with a valid class in place of an ignored one
  Expr weight;  // of each label, in the scores' type
};

Labels read_labels(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr labels = c.input(2);
  const DType dtype = c.input(1).dtype();
  const auto* ignored_class = c.node().get<int64_t>("ignore_index");
  const Expr one = b.scalar(1, dtype), zero = b.scalar(0, dtype);
  if (!ignored_class) {
    return {labels, c.has_input(3) ? gather(c.input(3), labels, 0) : expand(one, shape_of(labels))};
  }
  const Expr ignored = equal(labels, b.scalar(static_cast<double>(*ignored_class), labels.dtype()));
  const Expr safe = where(ignored, zeros_like(labels), labels);
  const Expr weight = c.has_input(3) ? gather(c.input(3), safe, 0) : expand(one, shape_of(labels));
  return {safe, where(ignored, zero, weight)};
}

/// The gradient with respect to what each label added to the loss, by the kind of reduction.
Expr per_label(const ExpandContext& c, const Labels& labels) {
  const std::string reduction = c.node().string_or("reduction", "mean");
  const Expr weighted = c.input(0) * labels.weight;
  if (reduction != "mean") return weighted;
  const Expr total = c.builder().add("ReduceSum", {labels.weight.value()}, weighted.dtype(),
                                     {{"keepdims", int64_t{0}}});
  return weighted / total;
}

/// One at the label's class, zero at all others, in the shape of the scores.
Expr one_hot(const ExpandContext& c, const Labels& labels) {
  Builder& b = c.builder();
  const DType dtype = c.input(1).dtype();
  const Expr off_on = concat({unsqueeze(b.scalar(0, dtype), b.integers({0})),
                              unsqueeze(b.scalar(1, dtype), b.integers({0}))},
                             0);
  const Expr classes = gather(shape_of(c.input(1)), b.scalar(1, DType::i64), 0);
  return b.add("OneHot", values({cast(labels.safe, DType::i64), classes, off_on}), dtype,
               {{"axis", int64_t{1}}});
}

std::vector<Expr> nll_grad_expansion(const ExpandContext& c) {
  const Labels labels = read_labels(c);
  const Expr each = unsqueeze(per_label(c, labels), c.builder().integers({1}));
  return {-(each * one_hot(c, labels))};
}

std::vector<Expr> softmax_cross_entropy_grad_expansion(const ExpandContext& c) {
  const Labels labels = read_labels(c);
  const Expr each = unsqueeze(per_label(c, labels), c.builder().integers({1}));
  return {each * (exp(c.input(1)) - one_hot(c, labels))};
}

std::vector<InferredOutput> loss_grad_types(const Node& node, const KnownData&) {
  return of_same_shape(node, 1, 1);
}

/// The backward with respect to input 1 of `op`.
Expr way_back(const VjpContext& c, std::string_view op, Expr of) {
  std::vector<Value*> inputs = values({c.grad(0), of, c.input(1)});
  if (c.has_input(2)) inputs.push_back(c.input(2).value());
  std::vector<NamedAttribute> attributes = {{"reduction", c.node().string_or("reduction", "mean")}};
  if (const auto* ignored = c.node().get<int64_t>("ignore_index")) {
    attributes.push_back({"ignore_index", *ignored});
  }
  return c.builder().add_internal(op, std::move(inputs), of.dtype(), attributes);
}

Grads nll_vjp(const VjpContext& c) {
  return {way_back(c, "NegativeLogLikelihoodGrad", c.input(0))};
}

// With p = softmax(scores): d loss / d scores = (p - onehot) for each label; log_prob, the second
// output, adds g - p sum(g).
Grads softmax_cross_entropy_vjp(const VjpContext& c) {
  const Expr log_prob = c.demanded_output(1, c.input(0).dtype());
  std::optional<Expr> dscores;
  if (c.has_grad(0)) dscores = way_back(c, "SoftmaxCrossEntropyGrad", log_prob);
  if (c.has_grad(1)) {
    const Expr classes = c.builder().integers({1});
    const Expr through = c.grad(1) - exp(log_prob) * sum(c.grad(1), classes, KeepDims::yes);
    dscores = dscores ? *dscores + through : through;
  }
  return {dscores};
}

const OpDef kLossOps[] = {
    {.name = "NegativeLogLikelihoodGrad",
     .domain = kInternalDomain,
     .expansion = nll_grad_expansion,
     .types = loss_grad_types},
    {.name = "NegativeLogLikelihoodLoss", .vjp = nll_vjp},
    {.name = "SoftmaxCrossEntropyGrad",
     .domain = kInternalDomain,
     .expansion = softmax_cross_entropy_grad_expansion,
     .types = loss_grad_types},
    {.name = "SoftmaxCrossEntropyLoss", .vjp = softmax_cross_entropy_vjp},
};

}  // namespace

std::span<const OpDef> loss_ops() { return kLossOps; }

}  // namespace onward
