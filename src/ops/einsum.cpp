// Einsum: y[output] = the sum of x0[term 0] x1[term 1] ... over all labels that the output has not.

#include <fmt/format.h>

#include <algorithm>

#include "infer/einsum_equation.h"
#include "onward/error.h"
#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

/// A factor, and the labels of its dimensions, each once.
struct Term {
  Expr x;
  Labels labels;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

template <typename Wanted>
Labels filtered(const Labels& labels, Wanted wanted) {
  Labels some;
  std::ranges::copy_if(labels, std::back_inserter(some), wanted);
  return some;
}

/// The term with its dimensions in that order; those that it lacks have size one.
Expr arranged(const Term& term, const Labels& order) {
  Builder& b = term.x.builder();
  std::vector<int64_t> permutation, missing;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t at = term.labels.find(order[i]);
    if (at == Labels::npos) {
      missing.push_back(static_cast<int64_t>(i));
    } else {
      permutation.push_back(static_cast<int64_t>(at));
    }
  }
  const Expr x = std::ranges::is_sorted(permutation) ? term.x : transpose(term.x, permutation);
  return missing.empty() ? x : unsqueeze(x, b.integers(missing));
}

/// The term summed over all labels but those.
Term summed(const Term& term, const Labels& needed) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (!has(needed, term.labels[i])) axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return term;
  return {sum(term.x, term.x.builder().integers(axes), KeepDims::no),
          filtered(term.labels, [&](char label) { return has(needed, label); })};
}

/// Sizes of some dimensions of a shape, one after the other from `first` on.
Expr part(Expr shape, size_t first, size_t count) {
  Builder& b = shape.builder();
  const auto begin = static_cast<int64_t>(first);
  return slice(shape, b.integers({begin}), b.integers({begin + static_cast<int64_t>(count)}),
               b.integers({0}));
}

/// The product of such sizes, a vector of one.
Expr part_size(Expr shape, size_t first, size_t count) {
  Builder& b = shape.builder();
  if (count == 0) return b.integers({1});
  const Expr sizes = part(shape, first, count);
  return count == 1 ? sizes : b.add("ReduceProd", {sizes.value()}, DType::i64);
}

/// Matrices of x, whose dimensions are `batch`, then those of rows, then those of columns.
Expr as_matrices(Expr x, size_t batch, size_t rows, size_t columns) {
  if (rows == 1 && columns == 1) return x;
  const Expr shape = shape_of(x);
  return reshape(x, concat({part(shape, 0, batch), part_size(shape, batch, rows),
                            part_size(shape, batch + rows, columns)},
                           0));
}

/// The product of two terms, summed over what is in both and not needed: stacks of matrices. The
/// dimensions of an ellipsis broadcast, so that they are summed over only then.
Term contracted(const Term& a, const Term& b, const Labels& needed) {
  const auto is_summed = [&](char label) {
    return has(a.labels, label) && has(b.labels, label) && !has(needed, label) &&
           !is_of_ellipsis(label);
  };
  const Labels inner = filtered(a.labels, is_summed);
  const auto is_stacked = [&](char label) {
    return is_of_ellipsis(label) || (has(b.labels, label) && !is_summed(label));
  };
  Labels stacked = filtered(a.labels, is_stacked);
  stacked +=
      filtered(b.labels, [&](char label) { return is_of_ellipsis(label) && !has(stacked, label); });
  const auto own = [&](const Term& term) {
    return filtered(term.labels,
                    [&](char label) { return !has(stacked, label) && !has(inner, label); });
  };
  const Labels rows = own(a), columns = own(b);
  if (inner.empty()) {
    const Labels all = stacked + rows + columns;
    return summed({arranged(a, all) * arranged(b, all), all}, needed);
  }
  const Expr left = arranged(a, stacked + rows + inner),
             right = arranged(b, stacked + inner + columns);
  const size_t n = stacked.size();
  Expr y = matmul(as_matrices(left, n, rows.size(), inner.size()),
                  as_matrices(right, n, inner.size(), columns.size()));
  if (rows.size() != 1 || columns.size() != 1) {
    y = reshape(y, concat({part(shape_of(y), 0, n), part(shape_of(left), n, rows.size()),
                           part(shape_of(right), n + inner.size(), columns.size())},
                          0));
  }
  return summed({y, stacked + rows + columns}, needed);
}

/// The product of all terms, summed over what the output has not.
Expr contracted(std::vector<Term> terms, const Labels& output) {
  for (size_t i = 0; i < terms.size(); ++i) {
    Labels needed = output;
    for (size_t j = 0; j < terms.size(); ++j) {
      if (j != i) needed += terms[j].labels;
    }
    terms[i] = summed(terms[i], needed);
  }
  Term product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = output;
    for (size_t j = i + 1; j < terms.size(); ++j) needed += terms[j].labels;
    product = contracted(product, terms[i], needed);
  }
  return arranged(product, output);
}

/// Where dimensions `i` and `j` of x have the same place; for masks of tensors with at least as
/// many dimensions.
Expr on_diagonal(Expr x, size_t i, size_t j, size_t rank) {
  Builder& b = x.builder();
  const auto places = [&](size_t axis) {
    std::vector<int64_t> shape(rank, 1);
    shape[axis] = -1;
    return reshape(numbers_below(dim_of(x, static_cast<int64_t>(axis))), b.integers(shape));
  };
  return equal(places(i), places(j));
}

/// The labels, each once.
Labels unique(const Labels& labels) {
  Labels once;
  for (const char label : labels) {
    if (!has(once, label)) once += label;
  }
  return once;
}

/// x where all dimensions of a label have the same place, zero elsewhere.
Expr masked(Expr x, Expr like, const Labels& labels) {
  for (size_t j = 0; j < labels.size(); ++j) {
    const size_t i = labels.find(labels[j]);
    if (i == j) continue;
    x = where(on_diagonal(like, i, j, labels.size()), x, x.builder().scalar(0, x.dtype()));
  }
  return x;
}

/// An operand with its diagonals alone, where a label is repeated: the sum over the others, which
/// are zero.
Term diagonal(Expr x, const Labels& labels) {
  std::vector<int64_t> repeated;
  for (size_t j = 0; j < labels.size(); ++j) {
    if (labels.find(labels[j]) != j) repeated.push_back(static_cast<int64_t>(j));
  }
  if (repeated.empty()) return {x, labels};
  return {sum(masked(x, x, labels), x.builder().integers(repeated), KeepDims::no), unique(labels)};
}

Equation equation_of(const ExpandContext& c, size_t first) {
  std::vector<int64_t> ranks;
  const std::string text = c.node().string_or("equation", "");
  for (size_t i = first; i < c.node().inputs().size(); ++i) {
    const auto known = rank(c.node().input(i));
    if (!known && has_ellipsis(text)) {
      throw Error(fmt::format("the rank of '{}' must be known", c.node().input(i)->name()));
    }
    ranks.push_back(known.value_or(-1));
  }
  return read_equation(text, ranks);
}

/// The type in which products are computed: MatMul has no integers of fewer than 32 bits, and the
/// low bits of a sum are those of its parts. A product of several small floats may leave their
/// range where the result does not.
DType product_type(DType dtype) {
  if (bits(dtype) >= 32) return dtype;
  return is_integer(dtype) ? DType::i64 : DType::f32;
}

std::vector<Expr> einsum_expansion(const ExpandContext& c) {
  const Equation equation = equation_of(c, 0);
  const DType dtype = c.input(0).dtype();
  std::vector<Term> terms;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    terms.push_back(diagonal(cast(c.input(i), product_type(dtype)), equation.operands[i]));
  }
  const Expr y = contracted(std::move(terms), equation.output);
  // An operand that passes as it is stays a value of its own.
  const bool is_operand = y.value() == c.node().input(0);
  return {is_operand ? c.builder().add("Identity", {y.value()}, dtype) : cast(y, dtype)};
}

// EinsumGrad(dy, x0, x1 ...) is the gradient with respect to operand `operand`: dy times the other
// operands, summed over what that one has not. It is linear in all but that operand, so that its
// own gradients are the same products again.
Expr einsum_grad(const Node& like, Expr dy, std::vector<Value*> operands, int64_t operand) {
  operands.insert(operands.begin(), dy.value());
  return dy.builder().add_internal(
      "EinsumGrad", std::move(operands), dy.dtype(),
      {{"equation", like.string_or("equation", "")}, {"operand", operand}});
}

Grads einsum_vjp(const VjpContext& c) {
  const std::vector<Value*> operands(c.node().inputs().begin(), c.node().inputs().end());
  Grads grads;
  for (size_t i = 0; i < operands.size(); ++i) {
    grads.push_back(einsum_grad(c.node(), c.grad(0), operands, static_cast<int64_t>(i)));
  }
  return grads;
}

Grads einsum_grad_vjp(const VjpContext& c) {
  const auto operand = static_cast<size_t>(c.attribute("operand", 0));
  std::vector<Value*> operands(c.node().inputs().begin() + 1, c.node().inputs().end());
  operands[operand] = c.grad(0).value();
  Grads grads = {c.builder().add("Einsum", operands, c.grad(0).dtype(),
                                 {{"equation", c.node().string_or("equation", "")}})};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i == operand) {
      grads.emplace_back();
    } else {
      grads.push_back(einsum_grad(c.node(), c.input(0), operands, static_cast<int64_t>(i)));
    }
  }
  return grads;
}

std::vector<InferredOutput> einsum_grad_types(const Node& node, const KnownData&) {
  const auto operand = static_cast<size_t>(node.int_or("operand", 0));
  return of_same_shape(node, 0, operand + 1);
}

std::vector<Expr> einsum_grad_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Equation equation = equation_of(c, 1);
  const auto operand = static_cast<size_t>(c.node().int_or("operand", 0));
  const Expr x = c.input(operand + 1);
  std::vector<Term> terms = {{c.input(0), equation.output}};
  Labels given = equation.output;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    if (i == operand) continue;
    terms.push_back(diagonal(c.input(i + 1), equation.operands[i]));
    given += terms.back().labels;
  }
  const Labels& labels = equation.operands[operand];
  const Labels once = unique(labels);
  const Labels reached = filtered(once, [&](char label) { return has(given, label); });
  Expr g = contracted(std::move(terms), reached);
  // The labels that only this operand has were summed over; repeated ones keep their first places.
  g = arranged({g, reached}, once);
  std::vector<int64_t> repeated;
  for (size_t j = 0; j < labels.size(); ++j) {
    if (labels.find(labels[j]) != j) repeated.push_back(static_cast<int64_t>(j));
  }
  if (!repeated.empty()) g = masked(unsqueeze(g, b.integers(repeated)), x, labels);
  g = expand(g, shape_of(x));
  // Dimensions of an ellipsis may be larger than the operand's.
  return {std::ranges::any_of(labels, is_of_ellipsis) ? sum_to(g, shape_of(x)) : g};
}

const OpDef kEinsumOps[] = {
    {.name = "Einsum", .vjp = einsum_vjp, .expansion = einsum_expansion, .inputs = {In::weight}},
    {.name = "EinsumGrad",
     .domain = kInternalDomain,
     .vjp = einsum_grad_vjp,
     .expansion = in_float32<einsum_grad_expansion>,
     .types = einsum_grad_types,
     .constant_in = ~inputs_at({0})},
};

}  // namespace

std::span<const OpDef> einsum_ops() { return kEinsumOps; }

}  // namespace onward
