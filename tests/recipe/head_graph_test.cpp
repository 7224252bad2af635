// A model in the place of a classifier.

#include <gtest/gtest.h>

#include <algorithm>

#include "check/check.h"
#include "onward/error.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

constexpr std::string_view kHead = R"(
<ir_version: 8, opset_import: ["" : 17]>
head (double[M,8] features) => (double[M,2] logits) <
  double[8,4] fc.weight = normal(1, 0.3), double[4] fc.bias = full(0),
  double[4,2] out.weight = normal(2, 0.3)
> {
  c = Gemm(features, fc.weight, fc.bias)
  h = Relu(c)
  logits = MatMul(h, out.weight)
})";

Recipe with_head(std::string_view text) {
  Recipe recipe;
  recipe.head = std::make_shared<const Model>(model_of(text));
  return recipe;
}

std::vector<std::string> trained(const Prepared& prepared) {
  std::vector<std::string> names;
  for (const Decision& each : prepared.decisions) {
    if (each.trained) names.push_back(each.name);
  }
  return names;
}

TEST(HeadGraphTest, TakesThePlaceOfTheClassifier) {
  Recipe recipe = with_head(kHead);
  recipe.freeze_backbone = true;
  const Prepared prepared = prepare_with_reasons(model_of(kConvolutional), recipe);
  const Graph& graph = *prepared.model.graph;
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.outputs()[0]->name(), "logits");
  EXPECT_EQ(to_string(graph.outputs()[0]->type), "f64[N,2]");
  // The convolution is 'c' already; the classifier and its tensors are gone.
  EXPECT_EQ(trained(prepared), (std::vector<std::string>{"fc.weight", "fc.bias", "out.weight"}));
  std::vector<std::string> made;
  for (const auto& node : graph.nodes()) made.push_back(node->output(0)->name());
  EXPECT_EQ(made, (std::vector<std::string>{"c", "b", "r", "d", "f", "c_2", "h", "logits"}));
  EXPECT_EQ(prepared.notes.at(0),
            "the head takes 'f' f64[N,8] in place of Gemm 'logits', and makes 'logits' f64[N,2]");
}

TEST(HeadGraphTest, SeveralOutputsAreOfferedToTheLoss) {
  Recipe recipe = with_head(R"(
<ir_version: 8, opset_import: ["" : 17]>
head (double[M,8] features) => (double[M,2] kind, double[M,1] size) <
  double[8,2] k = normal(1, 0.3), double[8,1] s = normal(2, 0.3)
> { kind = MatMul(features, k) size = MatMul(features, s) })");
  try {
    prepare(model_of(kConvolutional), recipe);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the model has 2 outputs, choose the one for the loss with --model-output: "
                 "'kind', 'size'");
  }
  recipe.output = "kind";
  EXPECT_EQ(trained(prepare_with_reasons(model_of(kConvolutional), recipe)).back(), "k");
}

TEST(HeadGraphTest, IsLiftedAndFreed) {
  // Of opset 11 and for one example.
  const Recipe recipe = with_head(R"(
<ir_version: 8, opset_import: ["" : 11]>
head (double[1,8] features) => (double[1,2] y) <double[8,2] w = normal(1, 0.3)> {
  u = Unsqueeze<axes = [2]>(features)
  q = Squeeze<axes = [2]>(u)
  y = MatMul(q, w)
})");
  const Model model = prepare(model_of(kConvolutional), recipe);
  EXPECT_EQ(to_string(model.graph->outputs()[0]->type), "f64[N,2]");
}

struct Refused {
  std::string_view name, head, error;
};

const Refused kRefused[] = {
    {"other_size",
     "head (double[M,9] f) => (double[M,2] y) <double[9,2] w = full(1)> { y = MatMul(f, w) }",
     "the head takes 'f' f64[M,9], but the classifier that it replaces takes 'f' f64[N,8]"},
    {"other_type",
     "head (float[M,8] f) => (float[M,2] y) <float[8,2] w = full(1)> { y = MatMul(f, w) }",
     "the head takes 'f' f32[M,8], but the classifier that it replaces takes 'f' f64[N,8]"},
    {"other_rank",
     "head (double[M,8,1] f) => (double[M,8,1] y) <double w = full(1)> { y = Mul(f, w) }",
     "the head takes 'f' f64[M,8,1]"},
    {"two_inputs", "head (double[M,8] f, double[M,8] g) => (double[M,8] y) { y = Mul(f, g) }",
     "a head must have one input, what the classifier took, but has 2"},
    {"fixed_batch",
     "head (double[4,8] f) => (double[2,16] y) <int64[2] s = {2, 16}> { y = Reshape(f, s) }",
     "dimension 0 is open in the model, and 4 in the head"},
    {"nothing_computed", "head (double[M,8] f) => (double[M,8] f) {}",
     "no node of the head computes its output 'f'"},
};

TEST(HeadGraphTest, WhatDoesNotFit) {
  for (const Refused& each : kRefused) {
    const std::string text =
        "<ir_version: 8, opset_import: [\"\" : 17]>\n" + std::string(each.head);
    try {
      prepare(model_of(kConvolutional), with_head(text));
      ADD_FAILURE() << each.name << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(each.error), std::string_view::npos)
          << each.name << ": " << error.what();
    }
  }
  Recipe both = with_head(kHead);
  both.classes = 2;
  EXPECT_THROW(prepare(model_of(kConvolutional), both), Error);
}

}  // namespace
}  // namespace onward
