// Support vector machines of ai.onnx.ml, in plainer operators.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/ml_scores.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

/// The kernel function of each row of x with each support vector.
Expr kernel_values(const ExpandContext& c, Expr x, int64_t vectors) {
  require_matrix(c);
  const Floats& all = list_of(c.node(), "support_vectors");
  const auto count = static_cast<int64_t>(all.size());
  const auto features = feature_count(c);
  if (vectors < 1 || count % vectors != 0 || (features && count != vectors * *features)) {
    throw Error(fmt::format("{} numbers for {} support vectors of {} features", count, vectors,
                            features ? fmt::to_string(*features) : "?"));
  }
  Builder& b = c.builder();
  const Expr support = constant_floats(x, {vectors, count / vectors}, all);
  const auto* given = c.node().get<Floats>("kernel_params");
  if (given && !given->empty() && given->size() != 3) {
    throw Error(fmt::format("its kernel has {} parameters, not 3", given->size()));
  }
  const auto parameter = [&](size_t i) {
    return given && !given->empty() ? static_cast<double>((*given)[i]) : 0.0;
  };
  const double gamma = parameter(0), offset = parameter(1), degree = std::trunc(parameter(2));
  const std::string kind = c.node().string_or("kernel_type", "LINEAR");
  if (kind == "RBF") {
    const Expr apart = unsqueeze(x, b.integers({1})) - support;
    return exp(-gamma * sum(apart * apart, b.integers({-1}), KeepDims::no));
  }
  const Expr products = matmul(x, transpose(support, {1, 0}));
  if (kind == "LINEAR") return products;
  const Expr moved = products * gamma + offset;
  if (kind == "SIGMOID") return tanh(moved);
  if (kind == "POLY") return pow(moved, b.scalar(degree, x.dtype()));
  throw Error(fmt::format("its kernel_type '{}' is none of LINEAR, POLY, RBF and SIGMOID", kind));
}

std::vector<Expr> svm_regressor_expansion(const ExpandContext& c) {
  const Expr x = as_features(c.input(0));
  const int64_t vectors = c.node().int_or("n_supports", 0);
  const Floats &coefficients = list_of(c.node(), "coefficients"), &rho = list_of(c.node(), "rho");
  if (vectors < 0) throw Error(fmt::format("it has {} support vectors", vectors));
  if (vectors > 0 && static_cast<int64_t>(coefficients.size()) != vectors) {
    throw Error(
        fmt::format("{} coefficients for {} support vectors", coefficients.size(), vectors));
  }
  const Expr z = vectors == 0 ? linear_scores(c, x, 1, coefficients)
                              : matmul(kernel_values(c, x, vectors),
                                       constant_floats(x, {vectors, 1}, coefficients));
  const Expr y = z + static_cast<double>(rho[0]);
  if (c.node().int_or("one_class", 0) != 0) {
    Builder& b = c.builder();
    const Expr one = b.scalar(1, DType::f32);
    return {where(greater(y, b.scalar(0, y.dtype())), one, -one)};
  }
  return {cast(transformed(c, y), DType::f32)};
}

/// Where the vectors of each class begin, and the number of all at the end.
std::vector<int64_t> class_begins(const Node& node, int64_t classes) {
  const auto* counts = node.get<std::vector<int64_t>>("vectors_per_class");
  std::vector<int64_t> begins = {0};
  if (!counts) return begins;
  for (const int64_t count : *counts) {
    if (count < 0 || count > std::numeric_limits<int32_t>::max()) {
      throw Error(fmt::format("a class has {} support vectors", count));
    }
    begins.push_back(begins.back() + count);
  }
  if (begins.back() > 0 && static_cast<int64_t>(counts->size()) != classes) {
    throw Error(
        fmt::format("support vectors of {} classes for {} labels", counts->size(), classes));
  }
  return begins;
}

// Every pair of classes i < j has a score, to which the vectors of both contribute; the class that
// wins most pairs is the label. Coefficients are [classes - 1, vectors]: those of i's vectors in
// row j - 1, those of j's in row i.
struct Pairs {
  Expr scores, votes;

  static Pairs of(const ExpandContext& c, Expr x, int64_t classes,
                  const std::vector<int64_t>& begins) {
    const int64_t vectors = begins.back(), pairs = classes * (classes - 1) / 2;
    const Floats &coefficients = list_of(c.node(), "coefficients"), &rho = list_of(c.node(), "rho");
    if (static_cast<int64_t>(coefficients.size()) != (classes - 1) * vectors) {
      throw Error(fmt::format("{} coefficients for {} support vectors of {} classes",
                              coefficients.size(), vectors, classes));
    }
    if (static_cast<int64_t>(rho.size()) != pairs) {
      throw Error(fmt::format("{} numbers in 'rho' for {} pairs of classes", rho.size(), pairs));
    }
    Floats weights(static_cast<size_t>(vectors * pairs), 0.0F);
    Floats wins(static_cast<size_t>(pairs * classes), 0.0F), losses = wins;
    const auto at = [](int64_t row, int64_t columns, int64_t column) {
      return static_cast<size_t>(row * columns + column);
    };
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; ++i) {
      for (int64_t j = i + 1; j < classes; ++j, ++pair) {
        const auto add = [&](int64_t of, int64_t row) {
          for (int64_t v = begins[static_cast<size_t>(of)]; v < begins[static_cast<size_t>(of) + 1];
               ++v) {
            weights[at(v, pairs, pair)] = coefficients[at(row, vectors, v)];
          }
        };
        add(i, j - 1);
        add(j, i);
        wins[at(pair, classes, i)] = losses[at(pair, classes, j)] = 1;
      }
    }
    const Expr z =
        matmul(kernel_values(c, x, vectors), constant_floats(x, {vectors, pairs}, weights)) +
        constant_vector(x, rho);
    const Expr won = cast(greater(z, c.builder().scalar(0, z.dtype())), z.dtype());
    return {z, matmul(won, constant_floats(x, {pairs, classes}, wins)) +
                   matmul(1 - won, constant_floats(x, {pairs, classes}, losses))};
  }
};

// ---- probabilities of classes

Expr constant_matrix(Expr like, int64_t size, bool (*is_one)(int64_t row, int64_t column)) {
  Floats numbers;
  for (int64_t i = 0; i < size * size; ++i) {
    numbers.push_back(is_one(i / size, i % size) ? 1.0F : 0.0F);
  }
  return constant_floats(like, {size, size}, numbers);
}

Expr unit_matrix(Expr like, int64_t size) {
  return constant_matrix(like, size, [](int64_t i, int64_t j) { return i == j; });
}

/// The probabilities of i among i and j, [rows, classes, classes], from those of all i < j; zero
/// where i is j.
Expr pair_matrices(Expr pairs, int64_t classes) {
  Builder& b = pairs.builder();
  const int64_t count = classes * (classes - 1) / 2;
  std::vector<int64_t> places(static_cast<size_t>(classes * classes), 0);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      places[static_cast<size_t>(i * classes + j)] = pair;
      places[static_cast<size_t>(j * classes + i)] = count + pair;
    }
  }
  const Expr flat = gather(concat({pairs, 1 - pairs}, 1), b.integers(places), 1);
  const Expr others = constant_matrix(pairs, classes, [](int64_t i, int64_t j) { return i != j; });
  return reshape(flat, b.integers({-1, classes, classes})) * others;
}

/// The quadratic form p Q p that joined_pairs makes small.
struct PairForm {
  Expr q;                           // [rows, classes, classes]
  std::vector<Expr> row, diagonal;  // of each class: [rows, classes] and [rows, 1]

  static PairForm of(Expr r, int64_t classes) {
    Builder& b = r.builder();
    const Expr axis = b.integers({1});
    const Expr squares = sum(r * r, axis, KeepDims::yes);
    PairForm form{.q = unit_matrix(r, classes) * squares - r * transpose(r, {0, 2, 1}),
                  .row = {},
                  .diagonal = {}};
    for (int64_t t = 0; t < classes; ++t) {
      form.row.push_back(squeeze(gather(form.q, b.integers({t}), 1), axis));
      form.diagonal.push_back(gather(form.row.back(), b.integers({t}), 1));
    }
    return form;
  }
};

/// Each class of p moved to its minimum once, in rows that are not near it yet; and which those
/// are.
std::pair<Expr, Expr> moved_nearer(const PairForm& form, Expr p, double near) {
  Builder& inside = p.builder();
  const auto in = [&](Expr around) { return inside.expr(around.value()); };
  const Expr last = inside.integers({-1});
  Expr qp = sum(in(form.q) * unsqueeze(p, inside.integers({1})), last, KeepDims::no);
  Expr pqp = sum(p * qp, last, KeepDims::yes);
  const Expr is_far =
      greater_or_equal(largest_of_row(abs(qp - pqp)), inside.scalar(near, p.dtype()));
  const auto classes = static_cast<int64_t>(form.row.size());
  const Expr unit = unit_matrix(p, classes);
  Expr moved = p;
  for (int64_t t = 0; t < classes; ++t) {
    const Expr at = inside.integers({t}), diagonal = in(form.diagonal[static_cast<size_t>(t)]);
    const Expr qp_t = gather(qp, at, 1), step = (pqp - qp_t) / diagonal;
    moved = (moved + step * gather(unit, at, 0)) / (1 + step);
    pqp = (pqp + step * (step * diagonal + 2 * qp_t)) / (1 + step) / (1 + step);
    qp = (qp + step * in(form.row[static_cast<size_t>(t)])) / (1 + step);
  }
  return {where(is_far, moved, p), is_far};
}

// What the pairs say of the classes, joined into one probability for each: p minimizes p Q p, where
// Q = diag(sum_j r_ji^2) - r r^T element by element, and r_ij is the probability of i among i and j
// (Wu, Lin and Weng 2004, the second method). Each row is moved until it is as near as 0.005 /
// classes, at most 100 times: not to the end, so that its numbers depend on the way, which is
// libsvm's.
Expr joined_pairs(Expr pairs, int64_t classes) {
  constexpr int64_t kRounds = 100;
  Builder& b = pairs.builder();
  const PairForm form = PairForm::of(pair_matrices(pairs, classes), classes);
  const Type matrix = Type::tensor(pairs.dtype(), Shape(2));
  auto body = std::make_unique<Graph>(&b.graph());
  body->name = b.fresh("join");
  Builder inside = b.inside(*body);
  body->add_input(b.fresh("round"), Type::tensor(DType::i64, Shape{}));
  body->add_input(b.fresh("goes_on"), Type::tensor(DType::boolean, Shape{}));
  const Expr p = inside.expr(body->add_input(b.fresh("p"), matrix));
  const auto [moved, is_far] = moved_nearer(form, p, 0.005 / static_cast<double>(classes));
  const Expr far_rows = sum(cast(is_far, DType::i64), inside.integers({0, 1}), KeepDims::no);
  body->add_output(greater(far_rows, inside.scalar(0, DType::i64)).value());
  body->add_output(moved.value());
  const Expr even = expand(b.scalar(1 / static_cast<double>(classes), pairs.dtype()),
                           concat({dim_of(pairs, 0), b.integers({classes})}, 0));
  const Expr truth = cast(b.scalar(1, DType::i64), DType::boolean);
  SubgraphNode loop{.op = "Loop",
                    .inputs = values({b.scalar(kRounds, DType::i64), truth, even}),
                    .graphs = {},
                    .outputs = {matrix}};
  loop.graphs.emplace_back("body", std::move(body));
  return add_subgraph_node(b, std::move(loop))[0];
}

/// The probabilities of the first of each two classes, from their scores.
Expr pair_probabilities(const ExpandContext& c, Expr scores, const Floats& slopes) {
  const auto* offsets = c.node().get<Floats>("prob_b");
  if (!offsets || offsets->size() != slopes.size()) {
    throw Error(fmt::format("{} numbers in 'prob_a', but {} in 'prob_b'", slopes.size(),
                            offsets ? offsets->size() : 0));
  }
  constexpr double kLeast = 1e-7;
  Builder& b = c.builder();
  const Expr p =
      sigmoid(-(scores * constant_vector(scores, slopes) + constant_vector(scores, *offsets)));
  return b.add("Clip", values({p, b.scalar(kLeast, p.dtype()), b.scalar(1 - kLeast, p.dtype())}),
               p.dtype());
}

std::vector<Expr> svm_classifier_expansion(const ExpandContext& c) {
  const Tensor labels = class_labels(c.node(), "classlabels_ints");
  const int64_t classes = labels.size();
  if (classes < 2) throw Error("it has one label alone");
  const Expr x = as_features(c.input(0));
  const Floats& coefficients = list_of(c.node(), "coefficients");
  const std::vector<int64_t> begins = class_begins(c.node(), classes);
  if (begins.back() == 0) {
    const Floats& rho = list_of(c.node(), "rho");
    if (classes > 2 && rho.size() == 1) {
      throw Error("one number in 'rho' for several classes of a linear machine");
    }
    const Expr z = linear_scores(c, x, classes, coefficients) + static_cast<double>(rho[0]);
    return {label_at(first_largest(z, classes), labels), cast(transformed(c, z), DType::f32)};
  }
  const Pairs pairs = Pairs::of(c, x, classes, begins);
  const Expr winner = label_at(first_largest(pairs.votes, classes), labels);
  const auto* slopes = c.node().get<Floats>("prob_a");
  if (slopes && !slopes->empty()) {
    if (static_cast<int64_t>(slopes->size()) != classes * (classes - 1) / 2) {
      throw Error(fmt::format("{} numbers in 'prob_a' for {} classes", slopes->size(), classes));
    }
    const Expr joined = joined_pairs(pair_probabilities(c, pairs.scores, *slopes), classes);
    return {winner, cast(transformed(c, joined), DType::f32)};
  }
  if (classes > 2) return {winner, cast(transformed(c, pairs.scores), DType::f32)};
  // Two classes whose coefficients are all positive are told apart by nothing: it is the second.
  const bool all_positive = std::ranges::min(coefficients) >= 0;
  const Expr second = c.builder().scalar(1, DType::i64);
  const Expr always = expand(second, dim_of(pairs.scores, 0));
  return {all_positive ? label_at(always, labels) : winner,
          cast(transformed(c, with_opposite(pairs.scores)), DType::f32)};
}

const OpDef kMlSvmOps[] = {
    {.name = "SVMClassifier", .domain = kMlDomain, .expansion = svm_classifier_expansion},
    {.name = "SVMRegressor", .domain = kMlDomain, .expansion = svm_regressor_expansion},
};

}  // namespace

std::span<const OpDef> ml_svm_ops() { return kMlSvmOps; }

}  // namespace onward
