#include "ops/families.h"

namespace onward {
namespace {

// y = x / (1 - ratio) where the mask keeps it. Outside of training the mask keeps all, and nothing
// is scaled. Which elements are kept depends on the ratio, so that there is no gradient by it.
Grads dropout_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr dy = c.grad(0);
  if (!c.has_input(2)) {  // not in training: whatever the ratio is
    if (!c.has_input(1)) return {dy};
    return {dy, zeros_like(c.input(1))};
  }
  const Expr mask = c.demanded_output(1, DType::boolean);
  const Expr one = b.scalar(1, dy.dtype());
  const Expr ratio = c.has_input(1) ? cast(c.input(1), dy.dtype()) : b.scalar(0.5, dy.dtype());
  const Expr scale = where(c.input(2), one / (one - ratio), one);
  return {where(mask, dy * scale, zeros_like(dy))};
}

/// 1 as often as x says, 0 otherwise: whether a number between 0 and 1 is below it.
std::vector<Expr> bernoulli_expansion(const ExpandContext& c) {
  const DType given = c.input(0).dtype();
  const Expr chance = cast(c.input(0), wide_type(given));
  std::vector<NamedAttribute> attributes;
  if (const auto* seed = c.node().get<float>("seed")) attributes.push_back({"seed", *seed});
  const Expr drawn =
      c.builder().add("RandomUniformLike", {chance.value()}, chance.dtype(), attributes);
  const int64_t wanted = c.node().int_or("dtype", static_cast<int64_t>(given));
  return {cast(less(drawn, chance), dtype_from_onnx(wanted).value_or(given))};
}

constexpr std::string_view kChosen = "its result is drawn";
constexpr std::string_view kDrawn = "its result depends on no input's elements";

const OpDef kRandomOps[] = {
    {.name = "Bernoulli", .expansion = bernoulli_expansion, .no_gradient = kChosen},
    {.name = "Dropout",
     .vjp = dropout_vjp,
     .traits = kAnyLayout,
     .inputs = {In::data, In::setting},
     .trains = [](const Node& node) { return node.input(2) != nullptr; }},
    {.name = "Multinomial", .no_gradient = kChosen},
    {.name = "RandomNormal", .no_gradient = kDrawn},
    {.name = "RandomNormalLike", .no_gradient = kDrawn},
    {.name = "RandomUniform", .no_gradient = kDrawn},
    {.name = "RandomUniformLike", .no_gradient = kDrawn},
};

}  // namespace

OpFamily random_ops() { return {kRandomOps, kRandom}; }

}  // namespace onward
