// Operators that only the inside of Onward knows: what gradient rules need where ranks and shapes
// are known no sooner than when a graph runs. Once types are known each expands into standard
// operators.

#include <fmt/format.h>

#include <numeric>

#include "ir/dim_arithmetic.h"
#include "onward/error.h"
#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

int64_t known_rank(const ExpandContext& c, size_t input) {
  const auto found = rank(c.node().input(input));
  if (!found) {
    throw Error(fmt::format("the rank of '{}' must be known", c.node().input(input)->name()));
  }
  return *found;
}

std::vector<int64_t> swapped_axes(int64_t rank) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return permutation;
}

// SwapLastTwo(x): the transposes of a stack of matrices.
std::vector<Expr> swap_last_two_expansion(const ExpandContext& c) {
  return {transpose(c.input(0), swapped_axes(known_rank(c, 0)))};
}

std::vector<InferredOutput> swap_last_two_types(const Node& node, const KnownData&) {
  Type type = node.input(0)->type;
  if (type.shape) {
    const size_t rank = type.shape->size();
    if (rank < 2) throw Error(fmt::format("'{}' is no matrix", node.input(0)->name()));
    std::swap(type.shape->at(rank - 1), type.shape->at(rank - 2));
  }
  return {{.type = std::move(type)}};
}

Grads swap_last_two_vjp(const VjpContext& c) { return {swap_last_two(c.grad(0))}; }

// SumTo(x, shape): x summed over the dimensions in which it was broadcast from `shape`.
Grads sum_to_vjp(const VjpContext& c) { return {expand(c.grad(0), shape_of(c.input(0)))}; }

std::vector<InferredOutput> sum_to_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 1, known);
}

/// The axes of x to sum over and to keep with size one, and the number of those in front to sum
/// over and to drop; nothing where sizes that are not known decide.
struct SummedAxes {
  std::vector<int64_t> kept;
  int64_t dropped;
};

std::optional<SummedAxes> summed_axes(const Value& x, const Value& y) {
  const auto rank_x = rank(&x), rank_y = rank(&y);
  if (!rank_x || !rank_y || *rank_x < *rank_y) return std::nullopt;
  SummedAxes axes{{}, *rank_x - *rank_y};
  for (int64_t i = 0; i < *rank_y; ++i) {
    const Dim& from = (*x.type.shape)[static_cast<size_t>(axes.dropped + i)];
    const Dim& to = (*y.type.shape)[static_cast<size_t>(i)];
    if (from.value == 1 || (to.value && *to.value != 1) || same(from, to)) continue;
    if (!to.value) return std::nullopt;
    axes.kept.push_back(axes.dropped + i);
  }
  return axes;
}

Expr sum_known_axes(const ExpandContext& c, const SummedAxes& axes) {
  Builder& b = c.builder();
  Expr y = c.input(0);
  if (!axes.kept.empty()) y = sum(y, b.integers(axes.kept), KeepDims::yes);
  if (axes.dropped == 0) return y;
  std::vector<int64_t> front(static_cast<size_t>(axes.dropped));
  std::iota(front.begin(), front.end(), 0);
  return sum(y, b.integers(front), KeepDims::no);
}

std::vector<Expr> sum_to_expansion(const ExpandContext& c) {
  if (const auto axes = summed_axes(*c.node().input(0), *c.node().output(0))) {
    return {sum_known_axes(c, *axes)};
  }
  // With the shape padded by ones in front: the axes of size one are those to sum over (summing
  // over one that was not broadcast changes nothing), and a reshape takes the padding off.
  Builder& b = c.builder();
  const Expr x = c.input(0), shape = c.input(1);
  const Expr padding = expand(b.integers({1}), rank_of(x) - shape_of(shape));
  const Expr padded = concat({padding, shape}, 0);
  const Expr is_one = equal(padded, b.scalar(1, DType::i64));
  const Expr axes = reshape(b.add("NonZero", {is_one.value()}, DType::i64), b.integers({-1}));
  return {reshape(sum(x, axes, KeepDims::yes), shape)};
}

// ScatterAdd(x, indices, shape): the backward of every operator that picks elements by index. What
// has a negative index is dropped: it goes to, and comes from, an element more behind the others,
// since these may be none.
Expr with_place_for_dropped(Expr indices, Expr count) {
  return where(less(indices, indices.builder().scalar(0, DType::i64)), count, indices);
}

Grads scatter_add_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr g = c.grad(0), first = b.integers({0});
  const Expr flat =
      concat({reshape(g, b.integers({-1})), unsqueeze(b.scalar(0, g.dtype()), first)}, 0);
  const Expr count = b.add("Size", {g.value()}, DType::i64);
  return {gather(flat, with_place_for_dropped(c.input(1), count), 0)};
}

std::vector<InferredOutput> scatter_add_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 2, known);
}

std::vector<Expr> scatter_add_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), indices = c.input(1), shape = c.input(2);
  const Expr flat = b.integers({-1}), first = b.integers({0});
  const Expr count = b.add("ReduceProd", {shape.value()}, DType::i64, {{"keepdims", int64_t{1}}});
  const Expr places = with_place_for_dropped(indices, count);
  const Expr empty = expand(b.scalar(0, x.dtype()), count + b.scalar(1, DType::i64));
  const Expr added =
      b.add("ScatterElements", values({empty, reshape(places, flat), reshape(x, flat)}), x.dtype(),
            {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return {reshape(slice(added, first, count, first), shape)};
}

// AxesOrAll(axes, x): the axes, or all of x's where there are none.
std::vector<Expr> axes_or_all_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr axes = c.input(0);
  const Expr every = numbers_below(rank_of(c.input(1)));
  // Of "every" only as many as are missing: all where there are no axes, none where there are some.
  const Expr is_empty = cast(equal(shape_of(axes), b.integers({0})), DType::i64);
  return {concat(
      {axes, slice(every, b.integers({0}), is_empty * rank_of(c.input(1)), b.integers({0}))}, 0)};
}

std::vector<InferredOutput> axes_or_all_types(const Node& node, const KnownData& known) {
  const auto axes = known.find(*node.input(0));
  if (axes && !axes->elements.empty()) return {{.type = node.input(0)->type, .elements = axes}};
  const auto every = rank(node.input(1));
  if (!axes || !every) return {{.type = Type::tensor(DType::i64, Shape{Dim{}})}};
  return {{.type = Type::tensor(DType::i64, Shape{Dim::known(*every)}),
           .elements = generate(DType::i64, {*every},
                                [](std::span<const int64_t> at) { return Dim::known(at[0]); })}};
}

// MatMulGradA(a, b, dy) = dy b^T and MatMulGradB(a, b, dy) = a^T dy, in the shapes that MatMul's
// rules for vectors imply, before the sum over broadcast dimensions. Each is linear in the two that
// it multiplies, so that the gradients of the gradients are the same three products.
Grads matmul_grad_a_vjp(const VjpContext& c) {
  const Expr b = c.input(1), dy = c.input(2), g = c.grad(0);
  return {std::nullopt, c.builder().add_internal("MatMulGradB", values({g, b, dy}), g.dtype()),
          matmul(g, b)};
}

Grads matmul_grad_b_vjp(const VjpContext& c) {
  const Expr a = c.input(0), dy = c.input(2), g = c.grad(0);
  return {c.builder().add_internal("MatMulGradA", values({a, g, dy}), g.dtype()), std::nullopt,
          matmul(a, g)};
}

std::vector<InferredOutput> matmul_grad_a_types(const Node& node, const KnownData&) {
  return of_same_shape(node, 2, 0);
}

std::vector<InferredOutput> matmul_grad_b_types(const Node& node, const KnownData&) {
  return of_same_shape(node, 2, 1);
}

struct Matrices {
  Expr a, b, dy;
  bool a_vector, b_vector;
};

/// The operands with the dimension of one that stands for a vector's missing one.
Matrices as_matrices(const ExpandContext& c) {
  Builder& builder = c.builder();
  Matrices m{c.input(0), c.input(1), c.input(2), known_rank(c, 0) == 1, known_rank(c, 1) == 1};
  if (m.b_vector) {
    m.b = unsqueeze(m.b, builder.integers({1}));
    m.dy = unsqueeze(m.dy, builder.integers({-1}));
  }
  if (m.a_vector) {
    m.a = unsqueeze(m.a, builder.integers({0}));
    m.dy = unsqueeze(m.dy, builder.integers({-2}));
  }
  return m;
}

/// A matrix b takes all but the last dimension of a for rows, however many there are.
bool is_matrix_for_any_rank(const ExpandContext& c) {
  return !rank(c.node().input(0)) && rank(c.node().input(1)) == 2;
}

/// x as a matrix of its last dimension.
Expr rows_of(Expr x) {
  return x.builder().add("Flatten", {x.value()}, x.dtype(), {{"axis", int64_t{-1}}});
}

std::vector<Expr> matmul_grad_a_expansion(const ExpandContext& c) {
  if (is_matrix_for_any_rank(c)) {
    return {matmul(c.input(2), transpose(c.input(1), swapped_axes(2)))};
  }
  const Matrices m = as_matrices(c);
  const int64_t rank_b = std::max<int64_t>(known_rank(c, 1), 2);
  const Expr da = matmul(m.dy, transpose(m.b, swapped_axes(rank_b)));
  return {sum_to(m.a_vector ? squeeze(da, c.builder().integers({-2})) : da, shape_of(c.input(0)))};
}

std::vector<Expr> matmul_grad_b_expansion(const ExpandContext& c) {
  if (is_matrix_for_any_rank(c)) {
    return {matmul(transpose(rows_of(c.input(0)), swapped_axes(2)), rows_of(c.input(2)))};
  }
  const Matrices m = as_matrices(c);
  const int64_t rank_a = std::max<int64_t>(known_rank(c, 0), 2);
  const Expr db = matmul(transpose(m.a, swapped_axes(rank_a)), m.dy);
  return {sum_to(m.b_vector ? squeeze(db, c.builder().integers({-1})) : db, shape_of(c.input(1)))};
}

const OpDef kInternalOps[] = {
    {.name = "AxesOrAll",
     .domain = kInternalDomain,
     .expansion = axes_or_all_expansion,
     .types = axes_or_all_types,
     .inputs = {In::index, In::data},
     .no_gradient = "its result is a list of axes"},
    {.name = "MatMulGradA",
     .domain = kInternalDomain,
     .vjp = matmul_grad_a_vjp,
     .expansion = matmul_grad_a_expansion,
     .types = matmul_grad_a_types,
     .constant_in = inputs_at({0})},
    {.name = "MatMulGradB",
     .domain = kInternalDomain,
     .vjp = matmul_grad_b_vjp,
     .expansion = matmul_grad_b_expansion,
     .types = matmul_grad_b_types,
     .constant_in = inputs_at({1})},
    {.name = "ScatterAdd",
     .domain = kInternalDomain,
     .vjp = scatter_add_vjp,
     .expansion = scatter_add_expansion,
     .types = scatter_add_types,
     .inputs = {In::data, In::index, In::shape}},
    {.name = "SumTo",
     .domain = kInternalDomain,
     .vjp = sum_to_vjp,
     .expansion = sum_to_expansion,
     .types = sum_to_types,
     .traits = kKeepsSameType,
     .inputs = {In::data, In::shape}},
    {.name = "SwapLastTwo",
     .domain = kInternalDomain,
     .vjp = swap_last_two_vjp,
     .expansion = swap_last_two_expansion,
     .types = swap_last_two_types,
     .traits = kPermutes},
};

}  // namespace

std::span<const OpDef> internal_ops() { return kInternalOps; }

}  // namespace onward
