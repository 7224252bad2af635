// The operators of ai.onnx.ml but for support vector machines: features and linear models are
// written in plainer operators, lookups and trees have kernels.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/ml_scores.h"

namespace onward {
namespace {

// ---- features

std::vector<Expr> scaler_expansion(const ExpandContext& c) {
  const Expr x = as_features(c.input(0));
  const Floats &offset = list_of(c.node(), "offset"), &scale = list_of(c.node(), "scale");
  require_features(c, "offset", offset.size());
  require_features(c, "scale", scale.size());
  return {cast((x - constant_vector(x, offset)) * constant_vector(x, scale), DType::f32)};
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
  const Expr picked = gather(c.input(0), reshape(c.input(1), b.integers({-1})), -1);
  if (const auto known = rank(c.node().input(0))) {
    return {*known == 1 ? unsqueeze(picked, b.integers({0})) : picked};
  }
  // A one before its shape, which only that of a vector keeps.
  const Expr one = b.integers({1}), shape = concat({one, shape_of(picked)}, 0);
  const Expr begin = cast(greater(rank_of(picked), one), DType::i64);
  return {reshape(picked, slice(shape, begin, dim_of(shape, 0), b.integers({0})))};
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

// ---- linear models

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

/// How many rows of coefficients there are, which two classes may have one or two of.
int64_t score_count(const ExpandContext& c, int64_t classes) {
  const auto features = feature_count(c);
  if (features && *features > 0) {
    return static_cast<int64_t>(list_of(c.node(), "coefficients").size()) / *features;
  }
  const auto* intercepts = c.node().get<Floats>("intercepts");
  if (features || (classes == 2 && (!intercepts || intercepts->empty()))) {
    throw Error(fmt::format("the number of features of '{}' must be known, and not be 0",
                            c.node().input(0)->name()));
  }
  return classes == 2 ? static_cast<int64_t>(intercepts->size()) : classes;
}

// Labels are those of the scores before they are transformed, which may round several to one.
std::vector<Expr> linear_classifier_expansion(const ExpandContext& c) {
  const Tensor labels = class_labels(c.node(), "classlabels_ints");
  const int64_t rows = score_count(c, labels.size());
  const Expr x = as_features(c.input(0));
  Expr z = with_intercepts(linear_scores(c, x, rows, list_of(c.node(), "coefficients")), rows,
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
  return {label_at(first_largest(z, labels.size()), labels), cast(scores, DType::f32)};
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
    {.name = "Scaler", .domain = kMlDomain, .expansion = scaler_expansion},
    {.name = "TreeEnsemble", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "TreeEnsembleClassifier", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "TreeEnsembleRegressor", .domain = kMlDomain, .no_gradient = kSteps},
    {.name = "ZipMap", .domain = kMlDomain, .no_gradient = kMaps},
};

}  // namespace

std::span<const OpDef> ml_ops() { return kMlOps; }

}  // namespace onward
