// The operators of ai.onnx.ml: features, linear models and support vector machines are written in
// plainer operators, lookups and trees have kernels. Results are float32, whatever is computed in.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";

using Floats = std::vector<float>;

/// float64 stays that until the result is rounded; all else is computed in float32.
Expr as_features(Expr x) { return cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32); }

const Floats& list_of(const Node& node, const char* name) {
  const auto* found = node.get<Floats>(name);
  if (!found || found->empty()) throw Error(fmt::format("its attribute '{}' is missing", name));
  return *found;
}

Expr constant_floats(Expr like, std::vector<int64_t> dims, const Floats& numbers) {
  return cast(like.builder().constant(Tensor::of<float>(std::move(dims), numbers)), like.dtype());
}

Expr constant_vector(Expr like, const Floats& numbers) {
  return constant_floats(like, {static_cast<int64_t>(numbers.size())}, numbers);
}

/// The size of the last dimension, where it is known.
std::optional<int64_t> feature_count(const ExpandContext& c) {
  const auto& shape = c.node().input(0)->type.shape;
  if (!shape) return std::nullopt;
  if (shape->empty()) throw Error("its input is a scalar, and has no features");
  return shape->back().value;
}

/// A list with one number for all features, or one for each.
void require_features(const ExpandContext& c, const char* name, size_t given) {
  const auto features = feature_count(c);
  if (given == 1 || !features || static_cast<int64_t>(given) == *features) return;
  throw Error(
      fmt::format("its attribute '{}' has {} numbers for {} features", name, given, *features));
}

void require_matrix(const ExpandContext& c) {
  const auto known = rank(c.node().input(0));
  if (known && *known != 2) {
    throw Error(fmt::format("its input has rank {}, not 2", *known));
  }
}

// ---- features

std::vector<Expr> scaler_expansion(const ExpandContext& c) {
  const Expr x = as_features(c.input(0));
  const Floats &offset = list_of(c.node(), "offset"), &scale = list_of(c.node(), "scale");
  require_features(c, "offset", offset.size());
  require_features(c, "scale", scale.size());
  return {cast((x - constant_vector(x, offset)) * constant_vector(x, scale), DType::f32)};
}

Expr largest_of_row(Expr x) {
  return x.builder().add("ReduceMax", values({x, x.builder().integers({-1})}), x.dtype());
}

// Each row is divided by its largest element, by the sum of absolute values, or by the root of the
// sum of squares; a row whose divisor is 0 stays.
std::vector<Expr> normalizer_expansion(const ExpandContext& c) {
  const Expr x = as_features(c.input(0)), last = c.builder().integers({-1});
  feature_count(c);
  const std::string norm = c.node().string_or("norm", "MAX");
  const auto divisor = [&] {
    if (norm == "MAX") return largest_of_row(x);
    if (norm == "L1") return sum(abs(x), last, KeepDims::yes);
    if (norm == "L2") return sqrt(sum(x * x, last, KeepDims::yes));
    throw Error(fmt::format("its norm '{}' is none of MAX, L1 and L2", norm));
  }();
  const Expr zero = c.builder().scalar(0, x.dtype()), one = c.builder().scalar(1, x.dtype());
  return {cast(x / where(equal(divisor, zero), one, divisor), DType::f32)};
}

std::vector<Expr> binarizer_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  const Expr wide = cast(x, x.dtype() == DType::f32 ? DType::f32 : DType::f64);
  const auto threshold = static_cast<double>(c.node().float_or("threshold", 0));
  return {cast(greater(wide, c.builder().scalar(threshold, wide.dtype())), x.dtype())};
}

// What equals one value, which may be NaN, becomes another one, the same for all features or each
// its own.
std::vector<Expr> imputer_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  Builder& b = c.builder();
  if (is_float(x.dtype())) {
    const Floats& imputed = list_of(c.node(), "imputed_value_floats");
    require_features(c, "imputed_value_floats", imputed.size());
    const float replaced = c.node().float_or("replaced_value_float", 0);
    const Expr is_missing = std::isnan(replaced)
                                ? logical_not(equal(x, x))
                                : equal(x, b.scalar(static_cast<double>(replaced), x.dtype()));
    return {where(is_missing, constant_vector(x, imputed), x)};
  }
  const auto* imputed = c.node().get<std::vector<int64_t>>("imputed_value_int64s");
  if (!imputed || imputed->empty()) {
    throw Error("its attribute 'imputed_value_int64s' is missing");
  }
  require_features(c, "imputed_value_int64s", imputed->size());
  const Expr replaced =
      b.constant(Tensor::scalar<int64_t>(c.node().int_or("replaced_value_int64", 0)));
  return {where(equal(cast(x, DType::i64), replaced), cast(b.integers(*imputed), x.dtype()), x)};
}

/// Elements of the last dimension; those of a vector are a row.
std::vector<Expr> array_feature_extractor_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const auto known = rank(c.node().input(0));
  if (!known) {
    throw Error(fmt::format("the rank of '{}' must be known", c.node().input(0)->name()));
  }
  const Expr picked = gather(c.input(0), reshape(c.input(1), b.integers({-1})), -1);
  return {*known == 1 ? unsqueeze(picked, b.integers({0})) : picked};
}

// Each input is cut, or filled up with zeros, to the size that is said of it; a vector is a row.
std::vector<Expr> feature_vectorizer_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const auto* sizes = c.node().get<std::vector<int64_t>>("inputdimensions");
  if (!sizes || sizes->size() != c.node().inputs().size()) {
    throw Error(fmt::format("its attribute 'inputdimensions' has {} sizes for {} inputs",
                            sizes ? sizes->size() : 0, c.node().inputs().size()));
  }
  std::vector<Value*> parts;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size < 0 || size > std::numeric_limits<int32_t>::max()) {
      throw Error(fmt::format("a size of {} is out of range", size));
    }
    const auto known = rank(c.node().input(i));
    if (!known) {
      throw Error(fmt::format("the rank of '{}' must be known", c.node().input(i)->name()));
    }
    if (*known != 1 && *known != 2) {
      throw Error(fmt::format("input {} has rank {}, not 1 or 2", i, *known));
    }
    Expr part = cast(c.input(i), DType::f32);
    if (*known == 1) part = unsqueeze(part, b.integers({0}));
    const auto& shape = c.node().input(i)->type.shape;
    if (shape->back().value != size) {
      const Expr more = static_cast<double>(size) - dim_of(part, 1);
      const Expr pads = concat({b.integers({0}), more}, 0);
      part =
          b.add("Pad", values({part, pads, b.scalar(0, DType::f32), b.integers({1})}), DType::f32);
    }
    parts.push_back(part.value());
  }
  return {b.add("Concat", parts, DType::f32, {{"axis", int64_t{1}}})};
}

// ---- scores

/// Softmax in which what is zero stays it, and a row of zeros is one of halves.
Expr softmax_of_others(Expr z) {
  Builder& b = z.builder();
  const Expr highest = largest_of_row(z);
  const Expr is_zero = logical_not(greater(abs(z), b.scalar(1e-7, z.dtype())));
  const Expr e = where(is_zero, z * exp(-highest), exp(z - highest));
  const Expr total = sum(e, b.integers({-1}), KeepDims::yes), zero = b.scalar(0, z.dtype());
  const Expr one = b.scalar(1, z.dtype()), half = b.scalar(0.5, z.dtype());
  const Expr is_empty = equal(total, zero);
  return where(is_empty, half, e / where(is_empty, one, total));
}

Expr transformed(const ExpandContext& c, Expr z) {
  const std::string how = c.node().string_or("post_transform", "NONE");
  if (how == "NONE") return z;
  if (how == "LOGISTIC") return sigmoid(z);
  if (how == "SOFTMAX") {
    return z.builder().add("Softmax", {z.value()}, z.dtype(), {{"axis", int64_t{-1}}});
  }
  if (how == "SOFTMAX_ZERO") return softmax_of_others(z);
  if (how == "PROBIT") {
    throw Error("post_transform PROBIT needs the inverse of erf, which has no kernel yet");
  }
  throw Error(fmt::format("its post_transform '{}' is none of the standard's", how));
}

/// x times the rows of a matrix of coefficients, of which there are `rows`.
Expr linear_scores(const ExpandContext& c, Expr x, int64_t rows, const Floats& coefficients) {
  require_matrix(c);
  const auto count = static_cast<int64_t>(coefficients.size());
  const auto features = feature_count(c);
  if (rows < 1 || count % rows != 0 || (features && count != rows * *features)) {
    throw Error(fmt::format("{} coefficients for {} rows of {} features", count, rows,
                            features ? fmt::to_string(*features) : "?"));
  }
  const Expr matrix = constant_floats(x, {rows, count / rows}, coefficients);
  return matmul(x, transpose(matrix, {1, 0}));
}

Expr with_intercepts(Expr z, int64_t rows, const Floats* intercepts) {
  if (!intercepts || intercepts->empty()) return z;
  if (static_cast<int64_t>(intercepts->size()) != rows) {
    throw Error(fmt::format("{} intercepts for {} rows", intercepts->size(), rows));
  }
  return z + constant_vector(z, *intercepts);
}

std::vector<Expr> linear_regressor_expansion(const ExpandContext& c) {
  const int64_t targets = c.node().int_or("targets", 1);
  const Expr x = as_features(c.input(0));
  const Expr z = linear_scores(c, x, targets, list_of(c.node(), "coefficients"));
  const Expr y = with_intercepts(z, targets, c.node().get<Floats>("intercepts"));
  return {cast(transformed(c, y), DType::f32)};
}

// ---- classes

/// The labels of a classifier, integers or strings.
Tensor class_labels(const Node& node, const char* ints) {
  const auto* numbers = node.get<std::vector<int64_t>>(ints);
  const auto* texts = node.get<std::vector<std::string>>("classlabels_strings");
  const bool has_numbers = numbers && !numbers->empty(), has_texts = texts && !texts->empty();
  if (has_numbers == has_texts) {
    throw Error("it must have labels that are integers, or labels that are strings");
  }
  if (has_numbers) return Tensor::of<int64_t>({static_cast<int64_t>(numbers->size())}, *numbers);
  return Tensor::of_strings({static_cast<int64_t>(texts->size())}, *texts);
}

/// The index of the first of the largest elements in each row of `count`: where an element is the
/// largest, it counts the more the further in front it is.
Expr first_largest(Expr z, int64_t count) {
  Builder& b = z.builder();
  std::vector<int64_t> back;
  for (int64_t i = 0; i < count; ++i) back.push_back(count - i);
  const Expr is_largest = logical_not(less(z, largest_of_row(z)));
  const Expr places = where(is_largest, b.integers(back), b.scalar(0, DType::i64));
  const Expr furthest = b.add("ReduceMax", values({places, b.integers({-1})}), DType::i64,
                              {{"keepdims", int64_t{0}}});
  return static_cast<double>(count) - furthest;
}

Expr label_at(Expr index, const Tensor& labels) {
  return gather(index.builder().constant(labels), index, 0);
}

/// A column and its opposite before it.
Expr with_opposite(Expr z) { return concat({-z, z}, 1); }

std::vector<Expr> linear_classifier_expansion(const ExpandContext& c) {
  const Tensor labels = class_labels(c.node(), "classlabels_ints");
  const Floats& coefficients = list_of(c.node(), "coefficients");
  const auto features = feature_count(c);
  if (!features || *features == 0) {
    throw Error(fmt::format("the number of features of '{}' must be known, and not be 0",
                            c.node().input(0)->name()));
  }
  const int64_t rows = static_cast<int64_t>(coefficients.size()) / *features;
  const Expr x = as_features(c.input(0));
  Expr z = with_intercepts(linear_scores(c, x, rows, coefficients), rows,
                           c.node().get<Floats>("intercepts"));
  const bool is_binary = rows == 1 && labels.size() == 2;
  if (is_binary) z = with_opposite(z);
  if (!is_binary && rows != labels.size()) {
    throw Error(fmt::format("{} rows of coefficients for {} labels", rows, labels.size()));
  }
  const Expr scores = transformed(c, z);
  if (labels.size() == 1) {
    // One class, or none: its label from a threshold on, else 0.
    if (labels.dtype() == DType::string) throw Error("one label that is a string has no opposite");
    const bool raw = c.node().string_or("post_transform", "NONE") == "NONE";
    Builder& b = c.builder();
    const Expr is_below = less(scores, b.scalar(raw ? 0 : 0.5, scores.dtype()));
    const Expr label = where(is_below, b.scalar(0, DType::i64), b.constant(labels));
    return {squeeze(label, b.integers({1})), cast(scores, DType::f32)};
  }
  return {label_at(first_largest(scores, labels.size()), labels), cast(scores, DType::f32)};
}

// ---- support vector machines

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

std::vector<Expr> svm_classifier_expansion(const ExpandContext& c) {
  const auto* probabilities = c.node().get<Floats>("prob_a");
  if (probabilities && !probabilities->empty()) {
    throw Error("probabilities of pairs of classes (prob_a) are not joined yet");
  }
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
  if (classes > 2) return {winner, cast(transformed(c, pairs.scores), DType::f32)};
  // Two classes whose coefficients are all positive are told apart by nothing: it is the second.
  const bool all_positive = std::ranges::min(coefficients) >= 0;
  const Expr second = c.builder().scalar(1, DType::i64);
  const Expr always = expand(second, dim_of(pairs.scores, 0));
  return {all_positive ? label_at(always, labels) : winner,
          cast(transformed(c, with_opposite(pairs.scores)), DType::f32)};
}

constexpr std::string_view kSteps = "its result is constant but for steps";
constexpr std::string_view kLookedUp = "its result is looked up";
constexpr std::string_view kMaps = "maps have no gradients";

const OpDef kMlOps[] = {
    {.name = "ArrayFeatureExtractor",
     .domain = kMlDomain,
     .expansion = array_feature_extractor_expansion,
     .inputs = {In::data, In::index}},
    {.name = "Binarizer",
     .domain = kMlDomain,
     .expansion = binarizer_expansion,
     .no_gradient = kSteps},
    {.name = "CastMap", .domain = kMlDomain, .no_gradient = kMaps},
    {.name = "CategoryMapper", .domain = kMlDomain, .no_gradient = kLookedUp},
    {.name = "DictVectorizer", .domain = kMlDomain, .no_gradient = kMaps},
    {.name = "FeatureVectorizer", .domain = kMlDomain, .expansion = feature_vectorizer_expansion},
    {.name = "Imputer", .domain = kMlDomain, .expansion = imputer_expansion},
    {.name = "LabelEncoder", .domain = kMlDomain, .no_gradient = kLookedUp},
    {.name = "LinearClassifier", .domain = kMlDomain, .expansion = linear_classifier_expansion},
    {.name = "LinearRegressor", .domain = kMlDomain, .expansion = linear_regressor_expansion},
    {.name = "Normalizer", .domain = kMlDomain, .expansion = normalizer_expansion},
    {.name = "OneHotEncoder", .domain = kMlDomain, .no_gradient = kLookedUp},
    {.name = "SVMClassifier", .domain = kMlDomain, .expansion = svm_classifier_expansion},
    {.name = "SVMRegressor", .domain = kMlDomain, .expansion = svm_regressor_expansion},
    {.name = "Scaler", .domain = kMlDomain, .expansion = scaler_expansion},
    {.name = "TreeEnsemble", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "TreeEnsembleClassifier", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "TreeEnsembleRegressor", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "ZipMap", .domain = kMlDomain, .no_gradient = kMaps},
};

}  // namespace

std::span<const OpDef> ml_ops() { return kMlOps; }

}  // namespace onward
