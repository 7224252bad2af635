// What a recipe writes trains as its formula says: losses, optimizers, statistics, dropout.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/check.h"
#include "infer/infer.h"
#include "recipe/optimizer_def.h"
#include "tests/recipe/models.h"
#include "train/trainer.h"

namespace onward {
namespace {

constexpr std::string_view kHeader = "<ir_version: 8, opset_import: [\"\" : 17]> ";

// ---- losses ----

struct LossCase {
  std::string_view name;
  const char* loss;
  std::string_view model;  // one input x
  Tensor x, label;
  double expected;
  std::string_view reads;  // the value that the loss's first node reads
  LossReads from = LossReads::logits;
  std::optional<int64_t> ignore_index = {};
  Reduction reduction = Reduction::mean;
};

double cross_entropy(const std::vector<std::vector<double>>& logits,
                     const std::vector<int>& label) {
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    double total = 0;
    for (const double each : logits[i]) total += std::exp(each);
    sum += std::log(total) - logits[i][static_cast<size_t>(label[i])];
  }
  return sum / static_cast<double>(logits.size());
}

double bce(const std::vector<double>& x, const std::vector<double>& z) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = 1 / (1 + std::exp(-x[i]));
    sum -= z[i] * std::log(p) + (1 - z[i]) * std::log(1 - p);
  }
  return sum / static_cast<double>(x.size());
}

const Tensor kTwoByTwo = Tensor::of<double>({2, 2}, {1, -2, 0.5, 3});
const std::string kScores =
    "g (double[N,2] x) => (double[N,2] y) <double[2,2] one = {1, 0, 0, 1}> {";

std::vector<LossCase> loss_cases() {
  const Tensor classes = Tensor::of<int64_t>({2}, {1, 0});
  const Tensor numbers = Tensor::of<double>({2, 2}, {0, 1, 1, 0.25});
  const double entropy = cross_entropy({{1, -2}, {0.5, 3}}, {1, 0});
  const double binary = bce({1, -2, 0.5, 3}, {0, 1, 1, 0.25});
  return {
      {"softmax_cross_entropy", "softmax_cross_entropy", "y = MatMul(x, one) }", kTwoByTwo, classes,
       entropy, "y"},
      {"before_softmax", "softmax_cross_entropy", "l = MatMul(x, one) y = Softmax<axis = -1>(l) }",
       kTwoByTwo, classes, entropy, "l"},
      {"before_log_softmax", "softmax_cross_entropy",
       "l = MatMul(x, one) s = LogSoftmax<axis = 1>(l) y = Identity(s) }", kTwoByTwo, classes,
       entropy, "l"},
      {"softmax_over_the_batch", "softmax_cross_entropy",
       "l = MatMul(x, one) y = Softmax<axis = 0>(l) }", kTwoByTwo, classes,
       cross_entropy({{1 / (1 + std::exp(-0.5)), 1 / (1 + std::exp(5))},
                      {1 / (1 + std::exp(0.5)), 1 / (1 + std::exp(-5))}},
                     {1, 0}),
       "y"},
      {"of_softmax", "softmax_cross_entropy",
       "l = MatMul(x, one) s = Softmax<axis = 1>(l) y = Identity(s) }", kTwoByTwo, classes,
       cross_entropy({{1 / (1 + std::exp(-3)), 1 / (1 + std::exp(3))},
                      {1 / (1 + std::exp(2.5)), 1 / (1 + std::exp(-2.5))}},
                     {1, 0}),
       "y", LossReads::output},
      {"one_ignored", "softmax_cross_entropy", "y = MatMul(x, one) }", kTwoByTwo,
       Tensor::of<int64_t>({2}, {-100, 0}), cross_entropy({{0.5, 3}}, {0}), "y", LossReads::output,
       -100},
      {"mse", "mse", "y = MatMul(x, one) }", kTwoByTwo, numbers, (1.0 + 9 + 0.25 + 2.75 * 2.75) / 4,
       "y"},
      {"l1", "l1", "y = MatMul(x, one) }", kTwoByTwo, numbers, (1.0 + 3 + 0.5 + 2.75) / 4, "y"},
      {"mse_summed", "mse", "y = MatMul(x, one) }", kTwoByTwo, numbers,
       1.0 + 9 + 0.25 + 2.75 * 2.75, "y", LossReads::logits, std::nullopt, Reduction::sum},
      {"softmax_cross_entropy_summed", "softmax_cross_entropy", "y = MatMul(x, one) }", kTwoByTwo,
       classes, 2 * entropy, "y", LossReads::logits, std::nullopt, Reduction::sum},
      {"bce_with_logits", "bce_with_logits", "y = MatMul(x, one) }", kTwoByTwo, numbers, binary,
       "y"},
      {"before_sigmoid", "bce_with_logits", "l = MatMul(x, one) y = Sigmoid(l) }", kTwoByTwo,
       numbers, binary, "l"},
      {"of_sigmoid", "bce_with_logits", "l = MatMul(x, one) s = Sigmoid(l) y = Identity(s) }",
       kTwoByTwo, numbers,
       bce({1 / (1 + std::exp(-1)), 1 / (1 + std::exp(2)), 1 / (1 + std::exp(-0.5)),
            1 / (1 + std::exp(-3))},
           {0, 1, 1, 0.25}),
       "y", LossReads::output},
      {"far_out", "bce_with_logits", "y = MatMul(x, one) }",
       Tensor::of<double>({1, 2}, {-2000, 1500}), Tensor::of<double>({1, 2}, {0, 0.5}), 375, "y"},
  };
}

TEST(LossTest, IsTheFormula) {
  for (const LossCase& each : loss_cases()) {
    const std::string text = std::string(kHeader) + kScores + std::string(each.model);
    Prepared prepared = prepare_with_reasons(model_of(text), {.loss = each.loss,
                                                              .loss_reads = each.from,
                                                              .reduction = each.reduction,
                                                              .ignore_index = each.ignore_index});
    EXPECT_EQ(recognise(prepared.model, 0)->prediction->name(), each.reads) << each.name;
    const bool says_so = !prepared.notes.empty() &&
                         prepared.notes[0].starts_with("the loss is computed from the logits");
    EXPECT_EQ(says_so, each.reads == "l") << each.name;
    Trainer trainer(std::move(prepared.model));
    const double loss = trainer.step({{"x", each.x}, {"label", each.label}}).at("loss").number(0);
    EXPECT_NEAR(loss, each.expected, 1e-12 * std::max(1.0, each.expected)) << each.name;
  }
}

TEST(LossTest, GradientOfL1WhereItIsRightIsZero) {
  Recipe recipe{.loss = "l1"};
  recipe.optimizer = default_settings("sgd", Formula::torch);
  Trainer trainer(prepare(model_of(kLinear), recipe));  // y = x / 4
  for (const double label : {0.25, 0.0}) {
    trainer.step(
        {{"x", Tensor::of<double>({1, 1}, {1})}, {"label", Tensor::of<double>({1, 1}, {label})}});
    EXPECT_EQ(trainer.state().get("w").number(0), label == 0 ? 0.25 - 1e-3 : 0.25);
  }
}

TEST(LossTest, GradientOfBinaryCrossEntropyAtZeroIsHalf) {
  Recipe recipe{.loss = "bce_with_logits"};
  recipe.optimizer = default_settings("sgd", Formula::torch);
  recipe.optimizer.set("learning_rate", 1);
  Trainer trainer(
      prepare(model_of(std::string(kHeader) + "g (double[N,1] x) => (double[N,1] y) "
                                              "<double[1,1] w = {0}> { y = MatMul(x, w) }"),
              recipe));
  trainer.step(
      {{"x", Tensor::of<double>({1, 1}, {1})}, {"label", Tensor::of<double>({1, 1}, {1})}});
  EXPECT_EQ(trainer.state().get("w").number(0), 0.5);  // 0 - (1/2 - 1)
}

TEST(LossTest, FileReadsOutputsAndInputs) {
  Recipe recipe{.loss = "custom"};
  // An autoencoder's: it compares an output with the input, and weighs it by a new input.
  recipe.loss_graph = std::make_shared<const Model>(
      model_of(std::string(kHeader) +
               "l (double[N,1] y, double[N,1] x, double weight) => (double total) {"
               "d = Sub(x, y) s = Mul(d, d) m = ReduceMean<keepdims = 0>(s) "
               "total = Mul(m, weight) }"));
  Model model = prepare(model_of(kLinear), recipe);
  ASSERT_EQ(model.training[0].algorithm->inputs().size(), 1U);
  EXPECT_EQ(model.training[0].algorithm->inputs()[0]->name(), "weight");
  Trainer trainer(std::move(model));
  const auto result = trainer.step(
      {{"x", Tensor::of<double>({2, 1}, {1, 2})}, {"weight", Tensor::scalar<double>(3)}});
  EXPECT_NEAR(result.at("total").number(0), 3 * 0.75 * 0.75 * 2.5, 1e-12);
}

// ---- optimizers, on y = w x with one example: d loss / d w is known ----

struct Numbers {
  double w = 0.25, first = 0, second = 0, third = 0;
};

using Step = void (*)(const OptimizerSettings& s, double g, int t, Numbers& n);

struct OptimizerCase {
  Formula formula;
  std::string_view kind;
  Step step;                                                       // t counts from 1
  std::vector<std::pair<std::string_view, double>> settings = {};  // other than those below
};

// The largest second moment that there was, which needs one that falls.
void amsgrad_of_torch(const OptimizerSettings& s, double g, int t, Numbers& n) {
  g += s["weight_decay"] * n.w;
  n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
  n.second = s["beta2"] * n.second + (1 - s["beta2"]) * g * g;
  n.third = std::max(n.third, n.second);
  n.w -= s["learning_rate"] * n.first / (1 - std::pow(s["beta1"], t)) /
         (std::sqrt(n.third / (1 - std::pow(s["beta2"], t))) + s["epsilon"]);
}

void rectified_adam(const OptimizerSettings& s, double g, int t, Numbers& n) {
  if (s["decoupled_weight_decay"] != 0) {
    n.w *= 1 - s["learning_rate"] * s["weight_decay"];
  } else {
    g += s["weight_decay"] * n.w;
  }
  n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
  n.second = s["beta2"] * n.second + (1 - s["beta2"]) * g * g;
  const double power = std::pow(s["beta2"], t), top = 2 / (1 - s["beta2"]) - 1;
  const double rho = top - 2 * t * power / (1 - power);
  double factor = 1;
  if (rho > 5) {
    factor = std::sqrt((rho - 4) * (rho - 2) * top / ((top - 4) * (top - 2) * rho)) *
             std::sqrt(1 - power) / (std::sqrt(n.second) + s["epsilon"]);
  }
  n.w -= s["learning_rate"] * n.first / (1 - std::pow(s["beta1"], t)) * factor;
}

// The frameworks' formulas as their documentation has them; the tests in Python compare with the
// frameworks themselves.
const OptimizerCase kOptimizerCases[] = {
    {Formula::torch, "sgd",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= s["learning_rate"] * (g + s["weight_decay"] * n.w);
     }},
    {Formula::torch, "momentum",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = t == 1 ? g : s["momentum"] * n.first + (1 - s["dampening"]) * g;
       n.w -= s["learning_rate"] * n.first;
     }},
    {Formula::torch, "nesterov",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["momentum"] * n.first + g;
       n.w -= s["learning_rate"] * (g + s["momentum"] * n.first);
     }},
    {Formula::torch, "adam",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
       n.second = s["beta2"] * n.second + (1 - s["beta2"]) * g * g;
       n.w -= s["learning_rate"] * n.first / (1 - std::pow(s["beta1"], t)) /
              (std::sqrt(n.second / (1 - std::pow(s["beta2"], t))) + s["epsilon"]);
     }},
    {Formula::torch, "adamw",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       n.w *= 1 - s["learning_rate"] * s["weight_decay"];
       n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
       n.second = s["beta2"] * n.second + (1 - s["beta2"]) * g * g;
       n.w -= s["learning_rate"] * n.first / (1 - std::pow(s["beta1"], t)) /
              (std::sqrt(n.second / (1 - std::pow(s["beta2"], t))) + s["epsilon"]);
     }},
    {Formula::torch, "adam", amsgrad_of_torch, {{"amsgrad", 1}, {"beta2", 0.5}}},
    {Formula::torch, "adamax",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
       n.second = std::max(s["beta2"] * n.second, std::abs(g) + s["epsilon"]);
       n.w -= s["learning_rate"] / (1 - std::pow(s["beta1"], t)) * n.first / n.second;
     }},
    {Formula::torch, "radam", rectified_adam, {{"beta2", 0.875}}},  // from the sixth step on
    {Formula::torch, "radam", rectified_adam, {{"beta2", 0.5}}},    // never
    {Formula::torch, "radam", rectified_adam, {{"decoupled_weight_decay", 1}}},
    {Formula::torch, "adadelta",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["rho"] * n.first + (1 - s["rho"]) * g * g;
       const double change =
           std::sqrt(n.second + s["epsilon"]) / std::sqrt(n.first + s["epsilon"]) * g;
       n.second = s["rho"] * n.second + (1 - s["rho"]) * change * change;
       n.w -= s["learning_rate"] * change;
     }},
    {Formula::torch,
     "rprop",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       if (t == 1) n.second = s["learning_rate"];
       const double product = g * n.first;
       if (product > 0) n.second *= s["eta_plus"];
       if (product < 0) n.second *= s["eta_minus"];
       n.second = std::clamp(n.second, s["min_step"], s["max_step"]);
       n.first = product < 0 ? 0 : g;
       n.w -= n.first > 0 ? n.second : n.first < 0 ? -n.second : 0;
     },
     {{"learning_rate", 0.5}, {"max_step", 1}, {"min_step", 0.125}}},
    {Formula::torch, "adagrad",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       if (t == 1) n.first = s["initial_accumulator"];
       n.first += g * g;
       n.w -= s["learning_rate"] / (1 + (t - 1) * s["rate_decay"]) * g /
              (std::sqrt(n.first) + s["epsilon"]);
     }},
    {Formula::torch, "rmsprop",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["rho"] * n.first + (1 - s["rho"]) * g * g;
       n.third = s["rho"] * n.third + (1 - s["rho"]) * g;
       const double deviation = std::sqrt(n.first - n.third * n.third) + s["epsilon"];
       n.second = s["momentum"] * n.second + g / deviation;
       n.w -= s["learning_rate"] * n.second;
     }},
    {Formula::keras, "rmsprop",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first = s["rho"] * n.first + (1 - s["rho"]) * g * g;
       n.third = s["rho"] * n.third + (1 - s["rho"]) * g;
       const double variance = n.first - n.third * n.third;
       n.second =
           s["momentum"] * n.second + s["learning_rate"] * g / std::sqrt(variance + s["epsilon"]);
       n.w -= n.second;
     }},
    {Formula::keras, "sgd",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.w -= s["learning_rate"] * g;
     }},
    {Formula::keras, "momentum",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first = s["momentum"] * n.first - s["learning_rate"] * g;
       n.w += n.first;
     }},
    {Formula::keras, "nesterov",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first = s["momentum"] * n.first - s["learning_rate"] * g;
       n.w += s["momentum"] * n.first - s["learning_rate"] * g;
     }},
    {Formula::keras, "adam",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first += (g - n.first) * (1 - s["beta1"]);
       n.second += (g * g - n.second) * (1 - s["beta2"]);
       n.w -= s["learning_rate"] * std::sqrt(1 - std::pow(s["beta2"], t)) /
              (1 - std::pow(s["beta1"], t)) * n.first / (std::sqrt(n.second) + s["epsilon"]);
     }},
    {Formula::keras,
     "adam",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first += (g - n.first) * (1 - s["beta1"]);
       n.second += (g * g - n.second) * (1 - s["beta2"]);
       n.third = std::max(n.third, n.second);
       n.w -= s["learning_rate"] * std::sqrt(1 - std::pow(s["beta2"], t)) /
              (1 - std::pow(s["beta1"], t)) * n.first / (std::sqrt(n.third) + s["epsilon"]);
     },
     {{"amsgrad", 1}, {"beta2", 0.5}}},
    {Formula::keras, "adamax",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first += (g - n.first) * (1 - s["beta1"]);
       n.second = std::max(s["beta2"] * n.second, std::abs(g));
       n.w -= s["learning_rate"] * n.first /
              ((1 - std::pow(s["beta1"], t)) * (n.second + s["epsilon"]));
     }},
    {Formula::keras, "adadelta",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       n.first = s["rho"] * n.first + (1 - s["rho"]) * g * g;
       const double change =
           std::sqrt(n.second + s["epsilon"]) * g / std::sqrt(n.first + s["epsilon"]);
       n.second = s["rho"] * n.second + (1 - s["rho"]) * change * change;
       n.w -= s["learning_rate"] * change;
     }},
    {Formula::keras, "lion",
     [](const OptimizerSettings& s, double g, int, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       const double mixed = s["beta1"] * n.first + (1 - s["beta1"]) * g;
       n.w -= s["learning_rate"] * (mixed > 0 ? 1 : -1);
       n.first = s["beta2"] * n.first + (1 - s["beta2"]) * g;
     }},
    {Formula::keras, "adagrad",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       n.w -= n.w * s["weight_decay"] * s["learning_rate"];
       if (t == 1) n.first = s["initial_accumulator"];
       n.first += g * g;
       n.w -= s["learning_rate"] * g / std::sqrt(n.first + s["epsilon"]);
     }},
    {Formula::onnx, "momentum",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["momentum"] * n.first + (t == 1 ? 1 : 1 - s["dampening"]) * g;
       n.w -= s["learning_rate"] * n.first;
     }},
    {Formula::onnx, "adam",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       n.first = s["beta1"] * n.first + (1 - s["beta1"]) * g;
       n.second = s["beta2"] * n.second + (1 - s["beta2"]) * g * g;
       const int before = t - 1;
       const double correction = before == 0 ? 1
                                             : std::sqrt(1 - std::pow(s["beta2"], before)) /
                                                   (1 - std::pow(s["beta1"], before));
       n.w -= s["learning_rate"] * correction * n.first / (std::sqrt(n.second) + s["epsilon"]);
     }},
    {Formula::onnx, "adagrad",
     [](const OptimizerSettings& s, double g, int t, Numbers& n) {
       g += s["weight_decay"] * n.w;
       if (t == 1) n.first = s["initial_accumulator"];
       n.first += g * g;
       n.w -= s["learning_rate"] / (1 + (t - 1) * s["rate_decay"]) * g /
              (std::sqrt(n.first) + s["epsilon"]);
     }},
};

std::string name_of(const OptimizerCase& each) {
  std::string name = std::string(each.kind) + "_" + std::string(to_string(each.formula));
  for (const auto& [setting, value] : each.settings) {
    name += fmt::format("_{}{}", setting, std::lround(100 * value));
  }
  return name;
}

class OptimizerTest : public testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerTest, FollowsItsFormula) {
  const OptimizerCase& each = GetParam();
  Recipe recipe{.loss = "mse"};
  OptimizerSettings& s = recipe.optimizer;
  s = default_settings(each.kind, each.formula);
  // Exact in float32, for the sake of the standard's nodes.
  const std::pair<const char*, double> values[] = {{"learning_rate", 0.0625},
                                                   {"momentum", 0.75},
                                                   {"beta1", 0.75},
                                                   {"beta2", 0.96875},
                                                   {"epsilon", 1.0 / 1024},
                                                   {"weight_decay", 0.125},
                                                   {"initial_accumulator", 0.5},
                                                   {"rate_decay", 0.25},
                                                   {"dampening", 0.25},
                                                   {"rho", 0.875},
                                                   {"centered", 1}};
  for (const auto& [name, value] : values) {
    if (s.has(name)) s.set(name, value);
  }
  for (const auto& [name, value] : each.settings) s.set(name, value);
  Trainer trainer(prepare(model_of(kLinear), recipe));
  Numbers numbers;
  for (int t = 1; t <= 8; ++t) {
    const double x = 1 + 0.25 * t, label = 2 * x;
    const double difference = numbers.w * x - label;
    each.step(s, 2 * difference * x, t, numbers);
    const auto results = trainer.step(
        {{"x", Tensor::of<double>({1, 1}, {x})}, {"label", Tensor::of<double>({1, 1}, {label})}});
    ASSERT_NEAR(results.at("loss").number(0), difference * difference, 1e-12) << "step " << t;
    ASSERT_NEAR(trainer.state().get("w").number(0), numbers.w, 1e-12) << "step " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Recipe, OptimizerTest, testing::ValuesIn(kOptimizerCases),
                         [](const auto& info) { return name_of(info.param); });

TEST(OptimizerTest, RateIsStateThatCanBeSet) {
  for (const Formula formula : {Formula::torch, Formula::keras, Formula::onnx}) {
    Recipe recipe{.loss = "mse"};
    recipe.optimizer = default_settings("adam", formula);
    Trainer trainer(prepare(model_of(kLinear), recipe));
    trainer.state().set("learning_rate", Tensor::scalar<double>(0));
    trainer.step(
        {{"x", Tensor::of<double>({1, 1}, {1})}, {"label", Tensor::of<double>({1, 1}, {1})}});
    EXPECT_EQ(trainer.state().get("w").number(0), 0.25);
    EXPECT_EQ(trainer.state().get("learning_rate").number(0), 0);
  }
}

TEST(OptimizerTest, KerasRoundsNumbersOnTensorflow) {
  for (const bool rounds : {true, false}) {
    Recipe recipe{.loss = "mse"};
    recipe.optimizer = default_settings("momentum", Formula::keras);
    EXPECT_TRUE(recipe.optimizer.float32_numbers);
    recipe.optimizer.float32_numbers = rounds;
    const Model model = prepare(model_of(kLinear), recipe);
    for (const Value* value : model.training[0].algorithm->initializers()) {
      if (value->name() != "momentum") continue;
      EXPECT_EQ(value->tensor()->number(0), rounds ? static_cast<double>(0.9F) : 0.9);
    }
  }
}

TEST(OptimizerTest, SaysWhatFloat32DoesToAttributes) {
  Recipe recipe{.loss = "mse"};
  recipe.optimizer = default_settings("momentum", Formula::onnx);
  const Prepared prepared = prepare_with_reasons(model_of(kLinear), recipe);
  ASSERT_EQ(prepared.notes.size(), 1U);
  EXPECT_TRUE(prepared.notes[0].starts_with(
      "momentum = 0.9 is stored as float32 0.89999997615814209, an error of 2.4e-08"))
      << prepared.notes[0];
}

// ---- training mode ----

const TensorMap kImages = {
    {"x", Tensor::of<double>({2, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 5, 7, 2, 4, 6, 8,
                                            8, 6, 4, 2, 7, 5, 3, 1, 8, 7, 6, 5, 4, 3, 2, 1})},
    {"label", Tensor::of<int64_t>({2}, {0, 2})}};

TEST(BatchNormTest, UpdatesRunningStatistics) {
  // One channel of four numbers: mean 2.5, biased variance 1.25, unbiased 5/3.
  for (const auto& [variance, expected] :
       {std::pair(BatchVariance::biased, 1.25), std::pair(BatchVariance::unbiased, 5.0 / 3)}) {
    Recipe recipe{.loss = "mse"};
    recipe.batch_norm = BatchNormMode::batch;
    recipe.batch_variance = variance;
    Trainer trainer(prepare(
        model_of(std::string(kHeader) +
                 "g (double[N,1] x) => (double[N,1] y) <double[1] g = {1}, double[1] b = {0}, "
                 "double[1] mean = {1}, double[1] var = {3}> "
                 "{ y = BatchNormalization<momentum = 0.9>(x, g, b, mean, var) }"),
        recipe));
    trainer.step({{"x", Tensor::of<double>({4, 1}, {1, 2, 3, 4})},
                  {"label", Tensor::of<double>({4, 1}, {0, 0, 0, 0})}});
    // 0.9 as it was written, not as float32 has it.
    EXPECT_NEAR(trainer.state().get("mean").number(0), 0.9 * 1 + 0.1 * 2.5, 1e-15);
    EXPECT_NEAR(trainer.state().get("var").number(0), 0.9 * 3 + 0.1 * expected, 1e-15);
  }
}

TEST(BatchNormTest, SharedLayerUpdatesTwice) {
  Recipe recipe{.loss = "mse"};
  recipe.batch_norm = BatchNormMode::batch;
  recipe.batch_momentum = 0.5;
  Trainer trainer(prepare(
      model_of(std::string(kHeader) +
               "g (double[N,1] x) => (double[N,1] y) <double[1] g = {1}, double[1] b = {0}, "
               "double[1] mean = {8}, double[1] var = {1}, double two = {2}> "
               "{ h = BatchNormalization(x, g, b, mean, var) k = Add(h, two) "
               "y = BatchNormalization(k, g, b, mean, var) }"),
      recipe));
  trainer.step(
      {{"x", Tensor::of<double>({2, 1}, {1, 3})}, {"label", Tensor::of<double>({2, 1}, {0, 0})}});
  // The batch's means are 2, then 0 + 2.
  EXPECT_NEAR(trainer.state().get("mean").number(0), ((8 + 2) / 2.0 + 2) / 2, 1e-12);
}

TEST(BatchNormTest, FrozenKeepsThem) {
  Trainer trainer(prepare(model_of(kConvolutional), {}));
  trainer.step(kImages);
  EXPECT_FALSE(trainer.state().has("bn.mean"));
}

TEST(TrainingForwardTest, InferenceStaysAsItWas) {
  Recipe recipe;
  recipe.batch_norm = BatchNormMode::batch;
  const Model plain = model_of(kConvolutional);
  Model model = prepare(model_of(kConvolutional), recipe);
  ASSERT_EQ(model.graph->nodes().size(), plain.graph->nodes().size());
  Trainer trainer(std::move(model)), untrained(model_of(kConvolutional));
  const Tensor before = untrained.infer(kImages).at("logits");
  const Tensor after = trainer.infer(kImages).at("logits");
  for (int64_t i = 0; i < before.size(); ++i) EXPECT_EQ(before.number(i), after.number(i));
}

TEST(TrainingForwardTest, DropoutDropsOnlyWhileTraining) {
  Recipe with, without;
  without.dropout = false;
  Trainer dropping(prepare(model_of(kConvolutional), with));
  Trainer keeping(prepare(model_of(kConvolutional), without));
  const double kept = keeping.step(kImages).at("loss").number(0);
  EXPECT_NE(dropping.step(kImages).at("loss").number(0), kept);
  const auto notes = prepare_with_reasons(model_of(kConvolutional), without).notes;
  EXPECT_EQ(notes.back(), "1 Dropout node drops nothing in training");
}

TEST(TrainingForwardTest, DropoutKeepsItsRatio) {
  const Model model = prepare(
      model_of(
          std::string(kHeader) +
          "g (double[N,2] x) => (double[N,2] y) <double[2,2] w = {1, 2, 3, 4}, double r = {0.25}> "
          "{ h = MatMul(x, w) y = Dropout(h, r) }"),
      {.loss = "mse"});
  size_t seen = 0;
  for (const auto& node : model.training[0].algorithm->nodes()) {
    if (node->op != "Dropout") continue;
    ++seen;
    ASSERT_TRUE(node->input(1));
    EXPECT_EQ(node->input(1)->tensor()->number(0), 0.25);
    EXPECT_EQ(node->input(2)->tensor()->integer(0), 1);
  }
  EXPECT_EQ(seen, 1U);
}

TEST(PrepareTest, EveryRecipePassesCheck) {
  for (const OptimizerDef& def : optimizers()) {
    for (const BatchNormMode mode : {BatchNormMode::frozen, BatchNormMode::batch}) {
      Recipe recipe;
      recipe.optimizer = OptimizerSettings(def);
      recipe.batch_norm = mode;
      Model model = prepare(model_of(kConvolutional), recipe);
      Problems problems;
      check(model, problems);
      EXPECT_TRUE(problems.empty()) << to_string(problems.list()[0]);
    }
  }
}

TEST(PrepareTest, ReplacesATraining) {
  Recipe recipe{.loss = "mse"};
  recipe.replace = true;
  recipe.optimizer = default_settings("sgd", Formula::keras);
  const Model model = prepare(prepare(model_of(kLinear), {.loss = "mse"}), recipe);
  ASSERT_EQ(model.training.size(), 1U);
  EXPECT_EQ(recognise(model, 0)->recipe.optimizer, recipe.optimizer);
  EXPECT_EQ(model.graph->name, "linear");
}

TEST(PrepareTest, OldModelsAreLifted) {
  Prepared prepared = prepare_with_reasons(model_of(R"(
<ir_version: 3, opset_import: ["" : 9]>
g (float[N,4] x, float[4,3] w) => (float[N,3] y) <float[4,3] w = full(1)> {
  m = MatMul(x, w)
  d = Dropout<ratio = 0.5>(m)
  y = Softmax(d)
})"),
                                           {});
  EXPECT_EQ(prepared.model.opset(""), 17);
  EXPECT_EQ(prepared.model.ir_version, 8);
  EXPECT_EQ(prepared.notes[0], "the model is upgraded from opset 9 to 17");
  for_each_top_level_graph(prepared.model, [](const Graph& graph, GraphRole) {
    for (const auto& node : graph.nodes()) {
      EXPECT_EQ(node->opset, node->domain.empty() ? 17 : 1) << node->op;
    }
  });
  Trainer trainer(std::move(prepared.model));
  const auto results = trainer.step(
      {{"x", Tensor::of<float>({1, 4}, {1, 2, 3, 4})}, {"label", Tensor::of<int64_t>({1}, {2})}});
  EXPECT_TRUE(std::isfinite(results.at("loss").number(0)));
}

TEST(PrepareTest, NewModelsKeepTheirOpset) {
  const Model model = prepare(
      model_of("<ir_version: 10, opset_import: [\"\" : 21]> "
               "g (float[N,4] x) => (float[N,3] y) <float[4,3] w = full(1)> { y = MatMul(x, w) }"),
      {});
  EXPECT_EQ(model.opset(""), 21);
  EXPECT_EQ(model.ir_version, 10);
}

}  // namespace
}  // namespace onward
