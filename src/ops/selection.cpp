// Operators that select elements by what they hold, or by lengths.

#include "ops/families.h"

namespace onward {
namespace {

/// Each of the chosen goes back to where it was; of those that tie the chosen alone.
Grads top_k_vjp(const VjpContext& c) {
  if (!c.has_grad(0)) return {};
  const Expr x = c.input(0), dy = c.grad(0);
  const Expr indices = c.demanded_output(1, DType::i64);
  return {c.builder().add("ScatterElements", values({zeros_like(x), indices, dy}), dy.dtype(),
                          {{"axis", c.attribute("axis", -1)}, {"reduction", std::string("add")}})};
}

/// Of elements or slices that are equal the first one has the gradient.
Grads unique_vjp(const VjpContext& c) {
  if (!c.has_grad(0)) return {};
  Builder& b = c.builder();
  const Expr x = c.input(0), dy = c.grad(0), first = c.demanded_output(1, DType::i64);
  const auto spread = [&](Expr shape, int64_t axis) {
    return b.add_internal("GatherGrad", values({dy, first, shape}), dy.dtype(), {{"axis", axis}});
  };
  if (const auto* axis = c.node().get<int64_t>("axis")) return {spread(shape_of(x), *axis)};
  const Expr count = reshape(b.add("Size", {x.value()}, DType::i64), b.integers({1}));
  return {reshape(spread(count, 0), shape_of(x))};
}

std::vector<Expr> compress_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr flat = b.integers({-1});
  const Expr kept = reshape(b.add("NonZero", {c.input(1).value()}, DType::i64), flat);
  const auto* axis = c.node().get<int64_t>("axis");
  return {axis ? gather(c.input(0), kept, *axis) : gather(reshape(c.input(0), flat), kept, 0)};
}

/// Reversed twice, all is where it was.
Grads reverse_sequence_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0);
  return {c.builder().add(
      "ReverseSequence", values({dy, c.input(1)}), dy.dtype(),
      {{"batch_axis", c.attribute("batch_axis", 1)}, {"time_axis", c.attribute("time_axis", 0)}})};
}

/// Element t of a sequence of n comes from n - 1 - t, and from t behind its end.
std::vector<Expr> reverse_sequence_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), one = b.scalar(1, DType::i64);
  const int64_t time = c.node().int_or("time_axis", 0);
  const Expr steps = dim_of(x, time), lengths = checked_up_to(c.input(1), steps);
  const Expr along_time = unsqueeze(numbers_below(steps), b.integers({1 - time}));
  const Expr along_batch = unsqueeze(lengths, b.integers({time}));
  const Expr origin =
      where(less(along_time, along_batch), along_batch - one - along_time, along_time);
  // Each time of each sequence is a row.
  const Expr batch = unsqueeze(numbers_below(dim_of(x, 1 - time)), b.integers({time}));
  const Expr row = time == 0 ? origin * dim_of(x, 1) + batch : batch * dim_of(x, 1) + origin;
  const Expr rows = b.add("Flatten", {x.value()}, x.dtype(), {{"axis", int64_t{2}}});
  return {reshape(gather(rows, reshape(row, b.integers({-1})), 0), shape_of(x))};
}

const OpDef kSelectionOps[] = {
    {.name = "Compress",
     .expansion = compress_expansion,
     .traits = kMovesData,
     .inputs = {In::data, In::setting}},
    {.name = "NonMaxSuppression",
     .inputs = {In::data, In::data, In::setting},
     .no_gradient = "its result is indices"},
    {.name = "ReverseSequence",
     .vjp = reverse_sequence_vjp,
     .expansion = reverse_sequence_expansion,
     .traits = kMovesData,
     .inputs = {In::data, In::setting}},
    {.name = "TopK", .vjp = top_k_vjp, .inputs = {In::data, In::shape}},
    {.name = "Unique", .vjp = unique_vjp},
};

}  // namespace

std::span<const OpDef> selection_ops() { return kSelectionOps; }

}  // namespace onward
