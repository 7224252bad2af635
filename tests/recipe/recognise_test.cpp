// A recipe is recovered from what it wrote, exactly or not at all.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "format/load.h"
#include "format/save.h"
#include "infer/infer.h"
#include "ir/rewrite.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe_json.h"
#include "tests/recipe/models.h"
#include "text/text.h"

namespace onward {
namespace {

/// Through a file: names and types are all that is left.
Model reloaded(const Model& model) { return load_bytes(to_bytes(model)); }

void expect_equal(const Recipe& a, const Recipe& b) {
  EXPECT_EQ(to_json({a, {}}), to_json({b, {}}));
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> list;
  for (const OptimizerDef& def : optimizers()) {
    Recipe recipe;
    recipe.optimizer = OptimizerSettings(def);
    list.push_back(recipe);
  }
  Recipe batch;
  batch.batch_norm = BatchNormMode::batch;
  batch.batch_variance = BatchVariance::unbiased;
  batch.batch_momentum = 0.95;
  batch.dropout = false;
  batch.freeze = {"conv.*"};
  list.push_back(batch);
  Recipe dampened;
  dampened.optimizer = default_settings("momentum", Formula::torch);
  dampened.optimizer.set("dampening", 0.1);
  dampened.optimizer.set("weight_decay", 1e-4);
  dampened.output = "logits";
  list.push_back(dampened);
  Recipe on_jax;
  on_jax.optimizer = default_settings("adam", Formula::keras);
  on_jax.optimizer.float32_numbers = false;
  list.push_back(on_jax);
  Recipe regression;
  regression.loss = "mse";
  list.push_back(regression);
  Recipe binary;
  binary.loss = "bce_with_logits";
  binary.reduction = Reduction::sum;
  list.push_back(binary);
  return list;
}

TEST(RecogniseTest, RecoversEveryRecipe) {
  for (const Recipe& recipe : recipes()) {
    const Model model = reloaded(prepare(model_of(kConvolutional), recipe));
    const auto recognised = recognise(model, 0);
    ASSERT_TRUE(recognised) << to_json({recipe, {}});
    expect_equal(recognised->recipe, recipe);
    EXPECT_EQ(recognised->prediction->name(), "logits");
    EXPECT_EQ(recognised->label->name(), "label");
    EXPECT_EQ(recognised->loss->name(), "loss");
    for (const TrainedTensor& each : recognised->trained) {
      EXPECT_EQ(each.gradient->name(), each.parameter->name() + ".gradient");
      for (const Slot& slot : each.slots) {
        EXPECT_EQ(slot.value->name(), each.parameter->name() + "." + slot.name);
      }
    }
  }
}

TEST(RecogniseTest, PairsForwardsOfTrainingAndInference) {
  Recipe recipe;
  recipe.batch_norm = BatchNormMode::batch;
  const Model model = reloaded(prepare(model_of(kConvolutional), recipe));
  const auto recognised = recognise(model, 0);
  ASSERT_TRUE(recognised);
  std::string pairs;
  for (const NodePair& pair : recognised->forward) {
    EXPECT_EQ(pair.inference->op, pair.training->op);
    EXPECT_EQ(&pair.inference->graph(), model.graph.get());
    EXPECT_EQ(&pair.training->graph(), model.training[0].algorithm.get());
    pairs += pair.inference->op + " ";
  }
  EXPECT_EQ(pairs, "BatchNormalization Relu Dropout Flatten Gemm ");
}

TEST(RecogniseTest, CustomLossComesOutOfTheAlgorithm) {
  for (const BatchNormMode mode : {BatchNormMode::frozen, BatchNormMode::batch}) {
    Recipe recipe;
    recipe.batch_norm = mode;
    recipe.loss = "custom";
    recipe.loss_graph = std::make_shared<const Model>(model_of(
        "<ir_version: 8, opset_import: [\"\" : 17]> l (double[N,3] logits, double[N,3] target) => "
        "(double cost) <double two = {2}> { d = Sub(logits, target) s = Pow(d, two) "
        "cost = ReduceMean<keepdims = 0>(s) }"));
    const Model model = reloaded(prepare(model_of(kConvolutional), recipe));
    const auto recognised = recognise(model, 0);
    ASSERT_TRUE(recognised);
    expect_equal(recognised->recipe, recipe);
    EXPECT_EQ(recognised->loss->name(), "cost");
    // What came out says the same: preparing with it gives a file that is recognised again.
    const Model again = prepare(model_of(kConvolutional), recognised->recipe);
    EXPECT_EQ(to_text(*again.training[0].algorithm), to_text(*model.training[0].algorithm));
  }
}

// What builds before the table of optimizers wrote: all nine numbers, whatever the optimizer is.
constexpr const char* kOlderHint =
    R"({"version":1,"loss":"softmax_cross_entropy","output":"","reads":["logits"],)"
    R"("loss_reads":"logits","ignore_index":null,"optimizer":{"kind":"momentum","formula":"torch",)"
    R"("learning_rate":0.02,"weight_decay":0.01,"momentum":0.8,"dampening":0.25,"beta1":0.9,)"
    R"("beta2":0.999,"epsilon":0.0,"rate_decay":0.0,"initial_accumulator":0.0,)"
    R"("float32_numbers":false},"train":[],"freeze":[],"batch_norm":"frozen",)"
    R"("batch_variance":"biased","batch_momentum":null,"dropout":true})";

TEST(RecogniseTest, HintsOfOlderBuilds) {
  const RecipeHint hint = hint_from_json(kOlderHint);
  EXPECT_EQ(to_json(hint), kOlderHint);
  EXPECT_EQ(hint.recipe.optimizer["dampening"], 0.25);
  Model model = prepare(model_of(kConvolutional), hint.recipe);
  model.training[0].algorithm->metadata = {{std::string(kRecipeKey), kOlderHint}};
  const auto recognised = recognise(reloaded(model), 0);
  ASSERT_TRUE(recognised);
  expect_equal(recognised->recipe, hint.recipe);
}

TEST(RecogniseTest, StateMayHaveMovedOn) {
  Model model = prepare(model_of(kConvolutional), {});
  Graph& algorithm = *model.training[0].algorithm;
  for (Value* value : algorithm.initializers()) {
    if (value->name() == "learning_rate") {
      algorithm.set_initializer(value, Tensor::scalar<double>(0.5));
    }
    if (value->name() == "step") algorithm.set_initializer(value, Tensor::scalar<int64_t>(40));
  }
  const auto recognised = recognise(model, 0);
  ASSERT_TRUE(recognised);
  EXPECT_EQ(recognised->recipe.optimizer["learning_rate"], 0.5);
  EXPECT_EQ(recognised->step->tensor()->integer(0), 40);
}

struct Damage {
  std::string_view name;
  void (*change)(Model&);
};

void set_number(Model& model, std::string_view name, double number) {
  Graph& algorithm = *model.training[0].algorithm;
  for (Value* value : algorithm.initializers()) {
    if (value->name() == name) algorithm.set_initializer(value, Tensor::scalar<double>(number));
  }
}

const Damage kDamages[] = {
    {"another_constant", [](Model& model) { set_number(model, "epsilon", 1e-3); }},
    {"another_number_in_the_hint",
     [](Model& model) {
       std::string& hint = model.training[0].algorithm->metadata[0].second;
       const size_t at = hint.find("0.999");
       ASSERT_NE(at, std::string::npos);
       hint.replace(at, 5, "0.998");
     }},
    {"no_hint", [](Model& model) { model.training[0].algorithm->metadata.clear(); }},
    {"no_json",
     [](Model& model) { model.training[0].algorithm->metadata[0].second = "{\"version\": 1"; }},
    {"another_operator",
     [](Model& model) {
       for (const auto& node : model.training[0].algorithm->nodes()) {
         if (node->op == "Sqrt") return node->set_op("Exp");
       }
     }},
    {"another_attribute",
     [](Model& model) {
       for (const auto& node : model.training[0].algorithm->nodes()) {
         if (node->op != "SoftmaxCrossEntropyLoss") continue;
         set_attribute(*node, "reduction", std::string("sum"));
       }
     }},
    {"a_binding_less", [](Model& model) { model.training[0].update_bindings.pop_back(); }},
    {"two_slots_swapped",
     [](Model& model) {
       auto& bindings = model.training[0].update_bindings;
       std::swap(bindings[bindings.size() - 1].source, bindings[bindings.size() - 2].source);
     }},
    {"another_wiring",
     [](Model& model) {
       for (const auto& node : model.training[0].algorithm->nodes()) {
         if (node->op == "Sub") return node->set_inputs({node->input(1), node->input(0)});
       }
     }},
};

class DamageTest : public testing::TestWithParam<Damage> {};

TEST_P(DamageTest, IsNotRecognised) {
  Model model = prepare(model_of(kConvolutional), {});
  ASSERT_TRUE(recognise(model, 0));
  GetParam().change(model);
  EXPECT_FALSE(recognise(model, 0));
}

INSTANTIATE_TEST_SUITE_P(Recipe, DamageTest, testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.name); });

Model example(const std::string& name) {
  std::ifstream file("examples/training/" + name + ".onnxtxt");
  std::stringstream text;
  text << file.rdbuf();
  Model model = parse_text(text.str());
  Problems problems;
  infer_types(model, problems);
  return model;
}

TEST(RecogniseTest, StandardNodesNeedNoHint) {
  const Model model = example("cnn");
  const auto recognised = recognise(model, 0);
  ASSERT_TRUE(recognised);
  const OptimizerSettings& optimizer = recognised->recipe.optimizer;
  EXPECT_EQ(optimizer.name(), "momentum");
  EXPECT_EQ(optimizer.formula(), Formula::onnx);
  EXPECT_EQ(optimizer["momentum"], 0.9);
  EXPECT_EQ(optimizer["dampening"], 0);
  EXPECT_NEAR(optimizer["learning_rate"], 0.01, 1e-9);
  EXPECT_EQ(recognised->recipe.loss, "softmax_cross_entropy");
  EXPECT_EQ(recognised->prediction->name(), "logits");
  ASSERT_EQ(recognised->trained.size(), 8U);
  EXPECT_EQ(recognised->trained[2].parameter->name(), "conv2.weight");
  EXPECT_EQ(recognised->trained[2].gradient->name(), "conv2.weight.gradient");
  EXPECT_EQ(recognised->trained[2].slots[0].value->name(), "conv2.weight.velocity");
  EXPECT_EQ(recognised->step->name(), "T");
}

TEST(RecogniseTest, OtherUpdatesAreNone) { EXPECT_FALSE(recognise(example("clipped"), 0)); }

}  // namespace
}  // namespace onward
