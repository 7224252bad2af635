// Operators of ai.onnx.ml that can be differentiated: their results are float32, whatever their
// inputs are. tests/ops/f32_gradient_test.cpp has their gradients, tests/python/ml_test.py their
// values.

#include "tests/ops/case.h"

namespace onward {
namespace {

Case in_float(std::string name, std::string text, CaseInput input) {
  return Case{std::move(name), std::move(text), {std::move(input)}}.in_f32();
}

Case of_features(std::string name, const std::string& node) {
  return in_float(std::move(name), "y = ai.onnx.ml." + node + "(x)", f64("x", {4, 3}));
}

/// Computed in float64 up to the result.
Case of_doubles(std::string name, const std::string& node) {
  return in_float(std::move(name), "wide = Cast<to = 11>(x) y = ai.onnx.ml." + node + "(wide)",
                  f64("x", {4, 3}));
}

/// A classifier's scores; steps have no gradient.
Case of_scores(std::string name, const std::string& node) {
  return in_float(std::move(name), "label, y = ai.onnx.ml." + node + "(x)", f64("x", {4, 3}));
}

const std::string kThreeRows =
    "coefficients = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, 1.0, -0.5, 0.25],"
    " intercepts = [0.25, -1.0, 0.0], ";
const std::string kTwoRows =
    "coefficients = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0], intercepts = [0.25, -1.0], ";
const std::string kVectors =
    "support_vectors = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 0.0], n_supports = 3,"
    " coefficients = [0.5, -1.5, 1.0], rho = [0.25], kernel_params = [0.5, 0.25, 3.0], ";
const std::string kMachine =
    "support_vectors = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, -1.0, 0.5, 0.0, 1.0, 1.0, 1.0],"
    " coefficients = [0.5, -1.5, 1.0, 2.0, -0.5, 1.0, 0.25, -2.0], rho = [0.25, -0.5, 0.125],"
    " vectors_per_class = [1, 2, 1], classlabels_ints = [3, 4, 5],"
    " kernel_params = [0.5, 0.25, 3.0], ";
const std::string kProbabilities = "prob_a = [-1.5, -0.5, -1.0], prob_b = [0.25, 0.0, -0.5], ";
const std::string kTwoClasses =
    "support_vectors = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0], coefficients = [0.5, -1.5], rho = [0.25],"
    " vectors_per_class = [1, 1], classlabels_ints = [3, 4], kernel_type = \"RBF\","
    " kernel_params = [0.5, 0.0, 0.0]";

const Case kCases[] = {
    of_features("Scaler", "Scaler<offset = [1.0, 2.0, 3.0], scale = [0.5, 2.0, 1.0]>"),
    of_features("Scaler of one", "Scaler<offset = [1.0], scale = [0.5]>"),
    of_doubles("Scaler of doubles", "Scaler<offset = [1.0, 2.0, 3.0], scale = [0.5, 2.0, 1.0]>"),
    of_features("Normalizer L1", "Normalizer<norm = \"L1\">"),
    of_features("Normalizer L2", "Normalizer<norm = \"L2\">"),
    of_doubles("Normalizer L2 of doubles", "Normalizer<norm = \"L2\">"),
    in_float(
        "Normalizer MAX", "y = ai.onnx.ml.Normalizer<norm = \"MAX\">(x)",
        {.name = "x", .dims = {3, 3}, .values = {0.5, 2.0, -1.0, 1.5, 0.75, 0.25, -0.5, 1.0, 3.0}}),
    of_features("Imputer",
                "Imputer<imputed_value_floats = [7.0, 8.0, 9.0], replaced_value_float = 5.0>"),
    in_float("FeatureVectorizer",
             "y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [2, 4]>(x, x)", f64("x", {4, 3})),
    in_float("ArrayFeatureExtractor",
             "i = Constant<value_ints = [2, 0, 2]>() y = ai.onnx.ml.ArrayFeatureExtractor(x, i)",
             f64("x", {4, 3})),
    of_features("LinearRegressor",
                "LinearRegressor<targets = 2, " + kTwoRows + "post_transform = \"NONE\">"),
    of_features("LinearRegressor LOGISTIC",
                "LinearRegressor<targets = 2, " + kTwoRows + "post_transform = \"LOGISTIC\">"),
    of_doubles("LinearRegressor of doubles",
               "LinearRegressor<targets = 2, " + kTwoRows + "post_transform = \"SOFTMAX\">"),
    of_scores("LinearClassifier",
              "LinearClassifier<" + kThreeRows + "classlabels_ints = [1, 2, 3]>"),
    of_scores("LinearClassifier LOGISTIC",
              "LinearClassifier<" + kThreeRows +
                  "classlabels_ints = [1, 2, 3], post_transform = \"LOGISTIC\">"),
    of_scores("LinearClassifier SOFTMAX",
              "LinearClassifier<" + kThreeRows +
                  "classlabels_ints = [1, 2, 3], post_transform = \"SOFTMAX\">"),
    of_scores("LinearClassifier SOFTMAX_ZERO",
              "LinearClassifier<" + kThreeRows +
                  "classlabels_ints = [1, 2, 3], post_transform = \"SOFTMAX_ZERO\">"),
    of_scores("LinearClassifier of two",
              "LinearClassifier<coefficients = [0.5, 1.0, -1.0], intercepts = [0.25],"
              " classlabels_ints = [1, 2], post_transform = \"LOGISTIC\">"),
    of_features("SVMRegressor LINEAR", "SVMRegressor<" + kVectors + "kernel_type = \"LINEAR\">"),
    of_features("SVMRegressor POLY", "SVMRegressor<" + kVectors + "kernel_type = \"POLY\">"),
    of_features("SVMRegressor RBF", "SVMRegressor<" + kVectors + "kernel_type = \"RBF\">"),
    of_features("SVMRegressor SIGMOID", "SVMRegressor<" + kVectors + "kernel_type = \"SIGMOID\">"),
    of_doubles("SVMRegressor of doubles", "SVMRegressor<" + kVectors + "kernel_type = \"RBF\">"),
    of_features("SVMRegressor without vectors",
                "SVMRegressor<coefficients = [0.5, 1.0, -1.0], rho = [0.25]>"),
    of_scores("SVMClassifier", "SVMClassifier<" + kMachine + "kernel_type = \"RBF\">"),
    of_scores("SVMClassifier POLY", "SVMClassifier<" + kMachine + "kernel_type = \"POLY\">"),
    of_scores("SVMClassifier of two", "SVMClassifier<" + kTwoClasses + ">"),
    of_scores("SVMClassifier without vectors",
              "SVMClassifier<coefficients = [0.5, 1.0, -1.0, 2.0, 0.0, 1.0, 1.0, -0.5, 0.25],"
              " rho = [0.25, 0.25, 0.25], classlabels_ints = [1, 2, 3]>"),
    // Of pairs whose probabilities are joined in as many rounds nearby: one round more is a jump.
    of_scores("SVMClassifier with probabilities",
              "SVMClassifier<" + kMachine + kProbabilities + "kernel_type = \"RBF\">"),
    of_scores("SVMClassifier of two with probabilities",
              "SVMClassifier<prob_a = [-0.25], prob_b = [-1.5], " + kTwoClasses + ">"),
};

}  // namespace

std::span<const Case> ml_cases() { return kCases; }

}  // namespace onward
