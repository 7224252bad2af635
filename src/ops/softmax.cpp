#include "ops/families.h"

namespace onward {
namespace {

// y = exp(x - max x) / sum exp(x - max x) along an axis; dx = y * (dy - sum(y * dy)).
Grads softmax_vjp(const VjpContext& c) {
  const Expr y = c.output(0), dy = c.grad(0);
  const Expr axis = c.builder().integers({c.attribute("axis", -1)});
  return {y * (dy - sum(y * dy, axis, KeepDims::yes))};
}

// y = log softmax(x); dx = dy - exp(y) * sum(dy).
Grads log_softmax_vjp(const VjpContext& c) {
  const Expr y = c.output(0), dy = c.grad(0);
  const Expr axis = c.builder().integers({c.attribute("axis", -1)});
  return {dy - exp(y) * sum(dy, axis, KeepDims::yes)};
}

const OpDef kSoftmaxOps[] = {
    {.name = "Hardmax", .no_gradient = "its result is constant but for steps"},
    {.name = "LogSoftmax", .vjp = log_softmax_vjp},
    {.name = "Softmax", .vjp = softmax_vjp},
};

}  // namespace

OpFamily softmax_ops() { return {kSoftmaxOps, kAnyLayout}; }

}  // namespace onward
