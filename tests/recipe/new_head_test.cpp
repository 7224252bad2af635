// A classifier of other classes: where it is found, what becomes of shapes, and what is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/data_options.h"
#include "onward/error.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

Model from_x(std::string_view input, std::string_view output, std::string_view tensors,
             std::string_view nodes, std::string_view producer = "") {
  const std::string written =
      producer.empty() ? "" : ", producer_name: \"" + std::string(producer) + "\"";
  return model_of("<ir_version: 8, opset_import: [\"\" : 17]" + written + ">\ng (" +
                  std::string(input) + " x) => (" + std::string(output) + " y) <" +
                  std::string(tensors) + "> { " + std::string(nodes) + " }");
}

const Value* find(const Model& model, std::string_view name) {
  for (const Value* value : model.graph->initializers()) {
    if (value->name() == name) return value;
  }
  return nullptr;
}

bool says(const std::vector<std::string>& notes, std::string_view part) {
  return std::ranges::any_of(
      notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

struct Found {
  std::string_view name;
  std::string_view input, output;  // types of x and y
  std::string_view tensors, nodes;
  std::vector<std::string_view> changed;  // "w f32[..]" of what starts anew, for 3 classes
  std::string_view result;                // the type of y then
  int64_t class_axis = 1;
};

const Found kFound[] = {
    {"gemm",
     "float[N,4]",
     "float[N,7]",
     "float[7,4] w = full(1), float[7] b = full(1)",
     "y = Gemm<transB = 1>(x, w, b)",
     {"w f32[3,4]", "b f32[3]"},
     "f32[N,3]"},
    {"gemm_plain",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), float[1,7] b = full(1)",
     "y = Gemm(x, w, b)",
     {"w f32[4,3]", "b f32[1,3]"},
     "f32[N,3]"},
    {"without_bias",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1)",
     "y = MatMul(x, w)",
     {"w f32[4,3]"},
     "f32[N,3]"},
    {"added_bias_and_softmax",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), float[7] b = full(1)",
     "m = MatMul(x, w) a = Add(m, b) y = Softmax(a)",
     {"w f32[4,3]", "b f32[3]"},
     "f32[N,3]"},
    {"transposed",
     "float[N,4]",
     "float[N,7]",
     "float[7,4] w = full(1)",
     "t = Transpose<perm = [1, 0]>(w) i = Identity(t) y = MatMul(x, i)",
     {"w f32[4,3]"},
     "f32[N,3]"},
    {"half_precision",
     "float[N,2]",
     "float[N,2]",
     "float16[2,2] w = {1, 1, 1, 1}",
     "c = Cast<to = 1>(w) y = MatMul(x, c)",
     {"w f32[2,3]"},
     "f32[N,3]"},
    {"shared",
     "float[N,4]",
     "float[N,4]",
     "float[4,4] w = full(1)",
     "h = MatMul(x, w) y = MatMul(h, w)",
     {"w_2 f32[4,3]"},
     "f32[N,3]"},
    {"constant_node",
     "float[N,2]",
     "float[N,2]",
     "",
     "w = Constant<value = float[2,2] {1, 2, 3, 4}>() y = MatMul(x, w)",
     {"w f32[2,3]"},
     "f32[N,3]"},
    {"conv_and_pool",
     "float[N,4,6,6]",
     "float[N,7]",
     "float[7,4,1,1] w = full(1), float[7] b = full(1)",
     "c = Conv(x, w, b) r = Relu(c) p = GlobalAveragePool(r) f = Flatten(p) y = LogSoftmax(f)",
     {"w f32[3,4,1,1]", "b f32[3]"},
     "f32[N,3]"},
    {"reshape_names_classes",
     "float[N,4,6,6]",
     "float[N,7]",
     "float[7,4,1,1] w = full(1), int64[2] s = {-1, 7}",
     "c = Conv(x, w) p = GlobalAveragePool(c) y = Reshape(p, s)",
     {"w f32[3,4,1,1]"},
     "f32[N,3]"},
    {"mean_over_places",
     "float[N,4,6,6]",
     "float[N,7]",
     "float[7,4,3,3] w = full(1)",
     "c = Conv(x, w) y = ReduceMean<axes = [2, 3], keepdims = 0>(c)",
     {"w f32[3,4,3,3]"},
     "f32[N,3]"},
    {"channels_last",
     "float[N,4,6,6]",
     "float[N,6,6,7]",
     "float[7,4,1,1] w = full(1), float[7] b = full(1)",
     "c = Conv(x, w) t = Transpose<perm = [0, 2, 3, 1]>(c) a = Add(t, b) y = Softmax(a)",
     {"w f32[3,4,1,1]", "b f32[3]"},
     "f32[N,6,6,3]",
     -1},
    {"tokens",
     "float[N,T,4]",
     "float[N,T,7]",
     "float[4,7] w = full(1), float[7] b = full(1)",
     "m = MatMul(x, w) y = Add(b, m)",
     {"w f32[4,3]", "b f32[3]"},
     "f32[N,T,3]",
     -1},
    {"one_score",
     "float[N,4]",
     "float[N,1]",
     "float[4,1] w = full(1), float[1] b = full(1)",
     "m = MatMul(x, w) a = Add(m, b) y = Sigmoid(a)",
     {"w f32[4,3]", "b f32[3]"},
     "f32[N,3]"},
    {"temperature",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), float t = full(2)",
     "m = MatMul(x, w) d = Div(m, t) y = Softmax(d)",
     {"w f32[4,3]"},
     "f32[N,3]"},
    {"written_out_softmax",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), float[7] b = full(1), int64[1] last = {-1}",
     "m = MatMul(x, w) a = Add(m, b) h = ReduceMax<axes = [-1]>(a) s = Sub(a, h) e = Exp(s) "
     "t = ReduceSum(e, last) y = Div(e, t)",
     {"w f32[4,3]", "b f32[3]"},
     "f32[N,3]"},
    {"limit_like_it",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), double limit = full(9)",
     "m = MatMul(x, w) l = CastLike(limit, m) y = Min(m, l)",
     {"w f32[4,3]"},
     "f32[N,3]"},
    {"other_symbols",
     "float[N,4]",
     "float[M,7]",
     "float[4,7] w = full(1)",
     "m = MatMul(x, w) y = Softmax(m)",
     {"w f32[4,3]"},
     "f32[N,3]"},
    {"quantized_weight",
     "float[N,2]",
     "float[N,2]",
     "int8[2,2] w = {1, 2, 3, 4}, float s = full(0.5)",
     "d = DequantizeLinear(w, s) y = MatMul(x, d)",
     {"y.weight f32[2,3]"},
     "f32[N,3]"},
    {"declared_inside",
     "float[N,4]",
     "float[N,7]",
     "float[4,7] w = full(1), float[4,4] v = full(1)",
     "h = MatMul(x, v) r = Relu(h) y = MatMul(r, w)",
     {"w f32[4,3]"},
     "f32[N,3]"},
};

class NewHeadTest : public testing::TestWithParam<Found> {};

TEST_P(NewHeadTest, HasOtherClasses) {
  const Found& each = GetParam();
  Recipe recipe{.class_axis = each.class_axis};
  recipe.classes = 3;
  const Prepared prepared =
      prepare_with_reasons(from_x(each.input, each.output, each.tensors, each.nodes), recipe);
  EXPECT_EQ(to_string(prepared.model.graph->outputs()[0]->type), each.result);
  for (const std::string_view wanted : each.changed) {
    const std::string_view name = wanted.substr(0, wanted.find(' '));
    const Value* value = find(prepared.model, name);
    ASSERT_TRUE(value) << name;
    EXPECT_EQ(to_string(value->tensor()->type()), wanted.substr(name.size() + 1));
    EXPECT_NE(value->tensor()->number(0), 1) << name << " did not start anew";
    EXPECT_TRUE(says(prepared.notes, wanted)) << wanted;
    const auto decision = std::ranges::find(prepared.decisions, std::string(name), &Decision::name);
    ASSERT_NE(decision, prepared.decisions.end());
    EXPECT_TRUE(decision->trained) << decision->reason;
  }
  EXPECT_TRUE(says(prepared.notes, "has 3 classes in place of "));
}

INSTANTIATE_TEST_SUITE_P(Recipe, NewHeadTest, testing::ValuesIn(kFound),
                         [](const auto& info) { return std::string(info.param.name); });

struct Refused {
  std::string_view name;
  std::string_view input, output;
  std::string_view tensors, nodes;
  std::string_view error;  // a part of it
};

const Refused kRefused[] = {
    {"detector", "float[N,4]", "float[N,14]", "float[4,7] w = full(1), float[4,7] v = full(1)",
     "a = MatMul(x, w) b = MatMul(x, v) y = Concat<axis = 1>(a, b)",
     "no classifier is found behind output 'y' f32[N,14]: it is computed by Concat 'y'"},
    {"two_sums", "float[N,4]", "float[N,7]", "float[4,7] w = full(1), float[4,7] v = full(1)",
     "a = MatMul(x, w) b = MatMul(x, v) y = Add(a, b)",
     "Add 'y' joins 'a' and 'b', which are both computed"},
    {"no_weights", "float[N,4]", "float[N,4]", "", "y = Softmax(x)",
     "no layer with weights is between it and 'x'"},
    {"scaled_classes", "float[N,4]", "float[N,7]", "float[4,7] w = full(1), float[7] s = full(2)",
     "m = MatMul(x, w) y = Mul(m, s)", "a constant 's' f32[7] with a number for each class"},
    {"bias_after_softmax", "float[N,4]", "float[N,7]",
     "float[4,7] w = full(1), float[7] b = full(1)",
     "m = MatMul(x, w) s = Softmax(m) y = Add(s, b)",
     "Add 'y' adds a number for each class, but not to a layer's result"},
    {"two_biases", "float[N,4]", "float[N,7]",
     "float[4,7] w = full(1), float[7] b = full(1), float[7] c = full(1)",
     "m = Gemm(x, w, b) y = Add(m, c)", "adds a second number for each class behind the bias"},
    {"computed_weight", "float[4,4]", "float[4,4]", "", "y = MatMul(x, x)",
     "it is computed by MatMul 'y', and not by a layer with weights"},
    {"classes_on_the_left", "float[4,N]", "float[7,N]", "float[7,4] w = full(1)",
     "y = MatMul(w, x)", "is not the one for which MatMul 'y' has weights"},
    {"groups", "float[N,8,6,6]", "float[N,8,6,6]", "float[8,4,1,1] w = full(1)",
     "y = Conv<group = 2>(x, w)", "Conv 'y' has groups"},
    {"normalized", "float[N,4]", "float[N,7]", "float[4,7] w = full(1), float[7] s = full(1)",
     "m = MatMul(x, w) y = LayerNormalization(m, s)", "it is computed by LayerNormalization 'y'"},
    {"merged", "float[N,4,7]", "float[N,28]", "float[7,7] w = full(1), int64[2] s = {-1, 28}",
     "m = MatMul(x, w) y = Reshape(m, s)", "where the classes can't be told from other dimensions"},
    {"embedding", "int64[N,4]", "float[N,4,7]", "float[9,7] w = full(1)", "y = Gather(w, x)",
     "it is computed by Gather 'y'"},
    {"fixed_elsewhere", "float[N,4]", "float[N,7]",
     "float[4,7] w = full(1), float[7] c = full(1), float[7] b = full(0)",
     "y = Gemm(x, w, b) z = Mul(y, c)", "Mul 'z' combines the class scores with 'c' f32[7]"},
    {"computed_shape", "float[N,4,6,6]", "float[N,7]",
     "float[7,4,1,1] w = full(1), int64[1] seven = {7}, int64[1] zero = {0}",
     "c = Conv(x, w) p = GlobalAveragePool(c) s = Shape(x) n = Gather(s, zero) "
     "t = Concat<axis = 0>(n, seven) y = Reshape(p, t)",
     "Reshape 'y' can't be given 3 classes in place of 7: it would make 'y' f32[N,7]"},
    {"no_dimension", "float[N,4]", "float[N]", "float[4,1] w = full(1), int64[1] one = {1}",
     "m = MatMul(x, w) y = Squeeze(m, one)", "has no dimension 1 for classes"},
};

class NewHeadRefusalTest : public testing::TestWithParam<Refused> {};

TEST_P(NewHeadRefusalTest, SaysWhy) {
  const Refused& each = GetParam();
  Recipe recipe{.loss = "mse"};
  recipe.classes = 3;
  try {
    prepare(from_x(each.input, each.output, each.tensors, each.nodes), recipe);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(each.error), std::string_view::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Recipe, NewHeadRefusalTest, testing::ValuesIn(kRefused),
                         [](const auto& info) { return std::string(info.param.name); });

/// 400 features, 7 classes.
Model wide(std::string_view producer) {
  return from_x("float[N,400]", "float[N,7]", "float[7,400] w = full(1), float[7] b = full(1)",
                "y = Gemm<transB = 1>(x, w, b)", producer);
}

struct Spread {
  double lowest = 0, highest = 0, mean = 0, variance = 0;
};

Spread spread_of(const Tensor& tensor) {
  Spread spread;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = tensor.number(i);
    spread.lowest = std::min(spread.lowest, x);
    spread.highest = std::max(spread.highest, x);
    spread.mean += x / static_cast<double>(tensor.size());
    spread.variance += x * x / static_cast<double>(tensor.size());
  }
  return spread;
}

Tensor new_tensor(std::string_view producer, uint64_t seed, std::string_view name,
                  std::string_view note) {
  Recipe recipe;
  recipe.classes = 50;
  recipe.head_seed = seed;
  const Prepared prepared = prepare_with_reasons(wide(producer), recipe);
  EXPECT_TRUE(says(prepared.notes, note));
  return *find(prepared.model, name)->tensor();
}

TEST(NewHeadTest, StartsAsItsFrameworkDoes) {
  // PyTorch: 1 / sqrt(400) for both. Keras: sqrt(6 / 450) and zeros.
  const struct {
    std::string_view producer, note;
    double weight, bias;
  } kStarts[] = {
      {"pytorch",
       "as PyTorch starts a layer (uniform up to 0.05, seed 1), since the model was "
       "written by pytorch",
       0.05, 0.05},
      {"", "as PyTorch starts a layer (uniform up to 0.05, seed 1), since the model does not say",
       0.05, 0.05},
      {"tf2onnx",
       "as Keras starts a layer (uniform up to 0.115, biases 0, seed 1), since the model "
       "was written by tf2onnx",
       std::sqrt(6.0 / 450), 0},
  };
  for (const auto& each : kStarts) {
    const Spread weight = spread_of(new_tensor(each.producer, 1, "w", each.note));
    EXPECT_LE(weight.highest, each.weight * (1 + 1e-7));
    EXPECT_GE(weight.lowest, -each.weight * (1 + 1e-7));
    EXPECT_GT(weight.highest, 0.999 * each.weight);
    EXPECT_LT(weight.lowest, -0.999 * each.weight);
    // 20000 numbers: the mean is within 4 standard errors, the variance a third of the square.
    EXPECT_LT(std::abs(weight.mean), 4 * each.weight / std::sqrt(3.0 * 20000));
    EXPECT_NEAR(weight.variance, each.weight * each.weight / 3, 0.02 * each.weight * each.weight);
    const Spread bias = spread_of(new_tensor(each.producer, 1, "b", each.note));
    EXPECT_LE(bias.highest, each.bias * (1 + 1e-7));
    EXPECT_GE(bias.highest, 0.8 * each.bias);
  }
}

TEST(NewHeadTest, IsTheSameForASeed) {
  const auto weights = [](uint64_t seed) {
    const Tensor tensor = new_tensor("", seed, "w", "");
    return std::vector<float>(tensor.data<float>().begin(), tensor.data<float>().end());
  };
  EXPECT_EQ(weights(3), weights(3));
  EXPECT_NE(weights(3), weights(4));
}

TEST(NewHeadTest, IsTrainedAlone) {
  const auto trained = [](Recipe recipe) {
    std::vector<std::string> names;
    for (const Decision& each : prepare_with_reasons(model_of(kConvolutional), recipe).decisions) {
      if (each.trained) names.push_back(each.name);
    }
    return names;
  };
  Recipe recipe;
  recipe.freeze_backbone = true;
  const std::vector<std::string> head = {"fc.weight", "fc.bias"};
  EXPECT_EQ(trained(recipe), head);
  recipe.classes = 5;
  EXPECT_EQ(trained(recipe), head);
  recipe.train = {"bn.*"};
  EXPECT_EQ(trained(recipe),
            (std::vector<std::string>{"bn.weight", "bn.bias", "fc.weight", "fc.bias"}));
  recipe.freeze = {"fc.bias"};
  EXPECT_EQ(trained(recipe), (std::vector<std::string>{"bn.weight", "bn.bias", "fc.weight"}));
}

TEST(NewHeadTest, SettingsThatContradict) {
  const auto message = [](auto change) -> std::string {
    Recipe recipe;
    change(recipe);
    try {
      prepare(model_of(kConvolutional), recipe);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([](Recipe& r) { r.head_seed = 2; }),
            "--head-seed has no effect without --classes, which starts the classifier anew");
  EXPECT_EQ(message([](Recipe& r) { r.classes = 0; }),
            "the number of classes must be from 1 to 16777216, not 0");
  EXPECT_EQ(
      message([](Recipe& r) { r.labels = {"a", "b"}; }),
      "there are names for 2 classes, but the model has scores for 3: add --classes 2 to give "
      "it a new classifier");
  EXPECT_EQ(message([](Recipe& r) { r.labels = {"a", "b", "a"}; }), "two classes are named 'a'");
}

TEST(NewHeadTest, KeepsNamesOfClasses) {
  const auto classes = [](const Model& model) { return data_options_of(model).classes; };
  Recipe recipe;
  recipe.classes = 2;
  recipe.labels = {"tom", "anna"};
  const Model named = prepare(model_of(kConvolutional), recipe);
  EXPECT_EQ(classes(named), recipe.labels);
  // A model with other classes forgets them.
  Recipe other;
  other.replace = true;
  EXPECT_EQ(classes(prepare(model_of(kConvolutional), recipe)), recipe.labels);
  other.classes = 4;
  Prepared changed = prepare_with_reasons(prepare(model_of(kConvolutional), recipe), other);
  EXPECT_TRUE(classes(changed.model).empty());
  EXPECT_TRUE(says(changed.notes, "the names of the earlier classes are dropped"));
  // The score of one of two classes.
  Recipe binary{.loss = "bce"};
  binary.labels = {"no", "yes"};
  EXPECT_EQ(classes(prepare(from_x("float[N,4]", "float[N,1]", "float[4,1] w = full(1)",
                                   "m = MatMul(x, w) y = Sigmoid(m)"),
                            binary)),
            binary.labels);
}

}  // namespace
}  // namespace onward
