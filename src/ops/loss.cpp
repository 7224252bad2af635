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

/// Which labels are to be ignored; nothing where none are.
std::optional<Expr> ignored_labels(const Node& loss, Expr labels) {
  const auto* ignored = loss.get<int64_t>("ignore_index");
  if (!ignored) return std::nullopt;
  return equal(labels, labels.builder().scalar(static_cast<double>(*ignored), labels.dtype()));
}

Labels read_labels(const Node& loss, Expr labels, std::optional<Expr> weights, DType dtype) {
  Builder& b = labels.builder();
  const Expr one = b.scalar(1, dtype), zero = b.scalar(0, dtype);
  const auto weight_of = [&](Expr classes) {
    return weights ? gather(*weights, classes, 0) : expand(one, shape_of(labels));
  };
  const std::optional<Expr> ignored = ignored_labels(loss, labels);
  if (!ignored) return {labels, weight_of(labels)};
  const Expr safe = where(*ignored, zeros_like(labels), labels);
  return {safe, where(*ignored, zero, weight_of(safe))};
}

Labels read_labels(const ExpandContext& c) {
  return read_labels(c.node(), c.input(2),
                     c.has_input(3) ? std::optional(c.input(3)) : std::nullopt, c.input(1).dtype());
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

std::vector<NamedAttribute> loss_attributes(const Node& loss) {
  std::vector<NamedAttribute> attributes = {{"reduction", loss.string_or("reduction", "mean")}};
  if (const auto* ignored = loss.get<int64_t>("ignore_index")) {
    attributes.push_back({"ignore_index", *ignored});
  }
  return attributes;
}

std::vector<Expr> nll_grad_expansion(const ExpandContext& c) {
  const Labels labels = read_labels(c);
  const Expr each = unsqueeze(per_label(c, labels), c.builder().integers({1}));
  return {-(each * one_hot(c, labels))};
}

std::vector<Expr> softmax_cross_entropy_grad_expansion(const ExpandContext& c) {
  const Labels labels = read_labels(c);
  const Expr each = unsqueeze(per_label(c, labels), c.builder().integers({1}));
  // Passes of the runtime may give the probabilities themselves.
  const bool exponentials = c.node().int_or("probabilities", 0) != 0;
  const Expr p = exponentials ? c.input(1) : exp(c.input(1));
  return {each * (p - one_hot(c, labels))};
}

/// The form that passes of the runtime write: probabilities in the place of log_prob.
std::vector<Expr> softmax_cross_entropy_expansion(const ExpandContext& c) {
  std::vector<Value*> inputs = values({c.input(0), c.input(1)});
  if (c.has_input(2)) inputs.push_back(c.input(2).value());
  const DType dtype = c.input(0).dtype();
  const std::vector<Expr> results = c.builder().add_many(
      "SoftmaxCrossEntropyLoss", "", std::move(inputs), {dtype, dtype}, loss_attributes(c.node()));
  return {results[0], exp(results[1])};
}

std::vector<InferredOutput> softmax_cross_entropy_types(const Node& node, const KnownData&) {
  const Type &scores = node.input(0)->type, &labels = node.input(1)->type;
  const bool is_scalar = node.string_or("reduction", "mean") != "none";
  return {{.type = Type::tensor(scores.dtype, is_scalar ? Shape() : labels.shape)},
          {.type = scores}};
}

std::vector<InferredOutput> loss_grad_types(const Node& node, const KnownData&) {
  return of_same_shape(node, 1, 1);
}

/// The backward with respect to input 1 of `op`.
Expr way_back(const VjpContext& c, std::string_view op, Expr of) {
  std::vector<Value*> inputs = values({c.grad(0), of, c.input(1)});
  if (c.has_input(2)) inputs.push_back(c.input(2).value());
  return c.builder().add_internal(op, std::move(inputs), of.dtype(), loss_attributes(c.node()));
}

/// The gradient with respect to the classes' weights: with l the loss of each label by itself, each
/// adds dy * l to its class, or for the mean dy * (l - y) / (the sum of all labels' weights).
std::optional<Expr> class_weights_grad(const VjpContext& c, Expr log_prob) {
  if (!c.has_input(2) || !c.has_grad(0)) return std::nullopt;
  Builder& b = c.builder();
  const Expr labels = c.input(1), weights = c.input(2), dy = c.grad(0);
  std::vector<NamedAttribute> attributes = {{"reduction", std::string("none")}};
  Expr place = cast(labels, DType::i64);
  if (const std::optional<Expr> ignored = ignored_labels(c.node(), labels)) {
    attributes.push_back({"ignore_index", *c.node().get<int64_t>("ignore_index")});
    place = where(*ignored, b.scalar(-1, DType::i64), place);
  }
  Expr each =
      b.add("NegativeLogLikelihoodLoss", values({log_prob, labels}), dy.dtype(), attributes);
  if (c.node().string_or("reduction", "mean") == "mean") {
    const Labels read = read_labels(c.node(), labels, weights, dy.dtype());
    const Expr total =
        b.add("ReduceSum", {read.weight.value()}, dy.dtype(), {{"keepdims", int64_t{0}}});
    each = (each - c.output(0)) / total;
  }
  return scatter_add(dy * each, place, shape_of(weights));
}

Grads nll_vjp(const VjpContext& c) {
  return {way_back(c, "NegativeLogLikelihoodGrad", c.input(0)), std::nullopt,
          class_weights_grad(c, c.input(0))};
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
  return {dscores, std::nullopt, class_weights_grad(c, log_prob)};
}

constexpr InputRoles kClassLoss = {In::data, In::label, In::class_weight};

const OpDef kLossOps[] = {
    {.name = "NegativeLogLikelihoodGrad",
     .domain = kInternalDomain,
     .expansion = nll_grad_expansion,
     .types = loss_grad_types},
    {.name = "NegativeLogLikelihoodLoss", .vjp = nll_vjp, .inputs = kClassLoss},
    {.name = "SoftmaxCrossEntropyGrad",
     .domain = kInternalDomain,
     .expansion = softmax_cross_entropy_grad_expansion,
     .types = loss_grad_types},
    // log_prob, the second output, does not depend on the weights.
    {.name = "SoftmaxCrossEntropyLoss",
     .vjp = softmax_cross_entropy_vjp,
     .inputs = kClassLoss,
     .constant_in = inputs_at({2})},
    {.name = "SoftmaxCrossEntropyLoss",
     .domain = kInternalDomain,
     .expansion = softmax_cross_entropy_expansion,
     .types = softmax_cross_entropy_types},
};

}  // namespace

std::span<const OpDef> loss_ops() { return kLossOps; }

}  // namespace onward
