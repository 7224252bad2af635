// Operators that take and put elements and slices by tuples of indices, and reductions on the way.

#include "ops/families.h"

namespace onward {
namespace {

/// The node's operator with other operands, and the one that takes from where it puts.
class Places {
 public:
  explicit Places(const VjpContext& c) : c_(c), is_nd_(c.node().op == "ScatterND") {}

  Expr taken(Expr from) const {
    const std::vector<Value*> inputs = values({from, c_.input(1)});
    if (is_nd_) return c_.builder().add("GatherND", inputs, from.dtype());
    return c_.builder().add("GatherElements", inputs, from.dtype(), {axis()});
  }

  Expr put(Expr into, Expr updates, const char* reduction) const {
    std::vector<NamedAttribute> attributes = {{"reduction", std::string(reduction)}};
    if (!is_nd_) attributes.push_back(axis());
    return c_.builder().add(c_.node().op, values({into, c_.input(1), updates}), into.dtype(),
                            attributes);
  }

 private:
  NamedAttribute axis() const { return {"axis", c_.attribute("axis", 0)}; }

  const VjpContext& c_;
  bool is_nd_;
};

// y = x prod(u), over the updates of each place. The derivative by one of them is the product of
// all others: where none is zero that is y / u, else it is what one zero leaves.
Grads scatter_mul_vjp(const VjpContext& c, const Places& places) {
  const Expr x = c.input(0), u = c.input(2), dy = c.grad(0);
  const Expr zero = c.builder().scalar(0, u.dtype()), one = c.builder().scalar(1, u.dtype());
  const Expr is_zero = equal(u, zero);
  const Expr others = where(is_zero, one, u);
  const Expr zeros = places.taken(places.put(zeros_like(x), cast(is_zero, u.dtype()), "add"));
  const Expr product = places.taken(dy * places.put(x, others, "mul"));
  const Expr has_none = where(equal(zeros, zero), product / others, zero);
  const Expr has_one = where(equal(zeros, one), product, zero);
  return {dy * places.put(ones_like(x), u, "mul"), std::nullopt, where(is_zero, has_one, has_none)};
}

// Those that tie share the gradient, as in PyTorch.
Grads scatter_extremum_vjp(const VjpContext& c, const Places& places) {
  const Expr x = c.input(0), u = c.input(2), y = c.output(0), dy = c.grad(0);
  const Expr is_x = cast(equal(x, y), dy.dtype());
  const Expr is_u = cast(equal(u, places.taken(y)), dy.dtype());
  const Expr count = places.put(is_x, is_u, "add");
  const Expr zero = c.builder().scalar(0, dy.dtype()), one = c.builder().scalar(1, dy.dtype());
  const Expr share = dy / where(equal(count, zero), one, count);  // none equals NaN
  return {is_x * share, std::nullopt, is_u * places.taken(share)};
}

Grads scatter_vjp(const VjpContext& c) {
  const Places places(c);
  const Expr dy = c.grad(0);
  const std::string reduction = c.node().string_or("reduction", "none");
  if (reduction == "mul") return scatter_mul_vjp(c, places);
  if (reduction == "max" || reduction == "min") return scatter_extremum_vjp(c, places);
  const Expr du = places.taken(dy);
  if (reduction == "add") return {dy, std::nullopt, du};
  return {places.put(dy, zeros_like(du), "none"), std::nullopt, du};
}

/// Run on the numbers 0, 1, 2 ... it says where each result came from.
Grads gather_nd_vjp(const VjpContext& c) {
  const Expr x = c.input(0);
  const Expr origin = c.builder().add("GatherND", values({flat_indices(x), c.input(1)}), DType::i64,
                                      {{"batch_dims", c.attribute("batch_dims", 0)}});
  return {scatter_add(c.grad(0), origin, shape_of(x))};
}

const OpDef kScatterOps[] = {
    {.name = "GatherND",
     .vjp = gather_nd_vjp,
     .traits = kMovesData,
     .inputs = {In::data, In::index}},
    {.name = "ScatterElements", .vjp = scatter_vjp, .inputs = {In::data, In::index, In::data}},
    {.name = "ScatterND", .vjp = scatter_vjp, .inputs = {In::data, In::index, In::data}},
};

}  // namespace

std::span<const OpDef> scatter_ops() { return kScatterOps; }

}  // namespace onward
