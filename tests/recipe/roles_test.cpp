// Which tensors are parameters, and the reason that is given.

#include <gtest/gtest.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/parameters.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

struct RoleCase {
  std::string_view name;
  std::string_view graph;  // from x, double[N,4], to y
  std::string_view initializers;
  std::string_view tensor;  // the one in question
  bool trained;
  std::string_view reason;
};

const RoleCase kRoleCases[] = {
    {"gemm_weight", "y = Gemm(x, w, b)", "double[4,3] w = full(1), double[3] b = full(0)", "w",
     true, "weight of Gemm 'y'"},
    {"gemm_bias", "y = Gemm(x, w, b)", "double[4,3] w = full(1), double[3] b = full(0)", "b", true,
     "bias of Gemm 'y'"},
    {"left_of_matmul", "y = MatMul(w, x)", "double[4,4] w = full(1)", "w", true,
     "weight of MatMul 'y'"},
    {"added_bias", "m = MatMul(x, w) y = Add(b, m)",
     "double[4,3] w = full(1), double[3] b = full(0)", "b", true,
     "bias of MatMul 'm', added by Add 'y'"},
    {"bias_after_reshape", "m = MatMul(x, w) r = Reshape(m, s) y = Add(r, b)",
     "double[4,4] w = full(1), double[2] b = full(0), int64[2] s = {-1, 2}", "b", true,
     "bias of MatMul 'm', added by Add 'y'"},
    {"mask_on_scores", "p = MatMul(x, w) t = Transpose(p) m = MatMul(p, t) y = Add(m, mask)",
     "double[1,1] mask = full(0), double[4,4] w = full(1)", "mask", false,
     "operand of Add 'y', not a layer's weight"},
    {"transposed_weight", "t = Transpose<perm = [1, 0]>(w) y = MatMul(x, t)",
     "double[3,4] w = full(1)", "w", true, "weight of MatMul 'y' (through Transpose)"},
    {"moved_weight", "i = Identity(w) r = Reshape(i, s) c = Cast<to = 11>(r) y = MatMul(x, c)",
     "float[12] w = full(1), int64[2] s = {4, 3}", "w", true,
     "weight of MatMul 'y' (through Identity, Reshape, Cast)"},
    {"sliced_weight",
     "k = Constant<value = int64[2] {0, 2}>() g = Gather(w, k) t = Transpose(g) y = MatMul(x, t)",
     "double[3,4] w = full(1)", "w", true, "weight of MatMul 'y' (through Gather, Transpose)"},
    {"repeated_number", "b = Expand(zero, s) y = Gemm(x, w, b)",
     "double[4,3] w = full(1), double zero = full(0), int64[1] s = {3}", "zero", false,
     "a scalar that Expand 'b' repeats"},
    {"embedding",
     "i = Cast<to = 7>(x) e = Gather(w, i) y = ReduceMean<axes = [1], keepdims = 0>(e)",
     "double[9,3] w = full(1)", "w", true, "embedding of Gather 'e'"},
    {"slope", "y = PRelu(x, a)", "double[4] a = full(1)", "a", true, "slope of PRelu 'y'"},
    {"layer_norm", "y = LayerNormalization(x, g, b)",
     "double[4] g = full(1), double[4] b = full(0)", "b", true, "bias of LayerNormalization 'y'"},
    {"batch_norm_scale", "y = BatchNormalization(x, g, b, m, v)",
     "double[4] g = full(1), double[4] b = full(0), double[4] m = full(0), double[4] v = full(1)",
     "g", true, "scale of BatchNormalization 'y'"},
    {"running_variance", "y = BatchNormalization(x, g, b, m, v)",
     "double[4] g = full(1), double[4] b = full(0), double[4] m = full(0), double[4] v = full(1)",
     "v", false, "running variance of BatchNormalization 'y', a statistic"},
    {"written_out_scale", "q = Mul(x, x) s = Sqrt(q) d = Div(x, s) h = Mul(d, g) y = Add(h, b)",
     "double[4] g = full(1), double[4] b = full(0)", "g", true,
     "scale of a decomposed normalization, Mul 'h'"},
    {"written_out_bias", "q = Mul(x, x) s = Sqrt(q) d = Div(x, s) h = Mul(d, g) y = Add(h, b)",
     "double[4] g = full(1), double[4] b = full(0)", "b", true,
     "bias of a decomposed normalization, Add 'y'"},
    {"pixel_mean", "d = Sub(x, mean) y = MatMul(d, w)",
     "double[4] mean = full(0.5), double[4,3] w = full(1)", "mean", false,
     "operand of Sub 'd', not a layer's weight"},
    {"tied", "y0 = MatMul(x, w) z = Mul(w, w) s = ReduceSum<keepdims = 0>(z) y = Add(y0, s)",
     "double[4,3] w = full(1)", "w", true, "weight of MatMul 'y0'"},
    {"dead_branch", "y = MatMul(x, w) z = MatMul(x, v)",
     "double[4,3] w = full(1), double[4,3] v = full(1)", "v", false,
     "weight of MatMul 'z'; but the loss does not depend on it"},
    {"no_gradient",
     "h = MatMul(x, v) i = Cast<to = 7>(h) e = Gather(w, i) y = ReduceMean<axes = [1], keepdims = "
     "0>(e)",
     "double[9,3] w = full(1), double[4,2] v = full(1)", "v", false,
     "weight of MatMul 'h'; but no gradient of the loss reaches it"},
    {"positional_embedding",
     "i = Cast<to = 7>(x) e = Gather(w, i) p = Add(e, places) y = ReduceMean<axes = [1], keepdims "
     "= 0>(p)",
     "double[9,3] w = full(1), double[1,4,3] places = normal(1, 1)", "places", true,
     "positional embedding, added by Add 'p'"},
    {"positional_table",
     "i = Cast<to = 7>(x) e = Gather(w, i) s = Mul(e, scale) k = Constant<value = int64[4] {0, 1, "
     "2, 3}>() q = Gather(places, k) p = Add(q, s) y = ReduceMean<axes = [1], keepdims = 0>(p)",
     "double[9,3] w = full(1), double[7,3] places = normal(1, 1), double scale = full(2)", "places",
     true, "positional embedding, added by Add 'p' (through Gather)"},
    {"positional_of_patches",
     "r = Unsqueeze(x, two) m = MatMul(r, w) c = Expand(cls, s) t = Concat<axis = 1>(c, m) p = "
     "Add(t, places) y = ReduceMean<axes = [1], keepdims = 0>(p)",
     "int64[1] two = {2}, double[1,3] w = full(1), double[1,1,3] cls = full(0), int64[3] s = {1, "
     "1, 3}, double[1,5,3] places = normal(1, 1)",
     "places", true, "positional embedding, added by Add 'p'"},
    {"sinusoidal",
     "i = Cast<to = 7>(x) e = Gather(w, i) p = Add(e, places) y = ReduceMean<axes = [1], keepdims "
     "= 0>(p)",
     "double[9,2] w = full(1), double[1,4,2] places = {0, 1, 0.84, 0.54, 0.91, -0.42, 0.14, -0.99}",
     "places", false, "operand of Add 'p', not a layer's weight"},
    {"bins", "u = Reshape(x, s) y0 = Conv(u, w) f = Flatten(y0) y = MatMul(f, v)",
     "int64[4] s = {-1, 4, 1, 1}, double[1,4,1,1] w = {0, 1, 2, 3}, double[1,1] v = full(1)", "w",
     false, "weight of Conv 'y0'; but its elements 0, 1, ..., 3 number bins, which is not learned"},
    {"unused", "y = MatMul(x, w)", "double[4,3] w = full(1), double[2] left = full(1)", "left",
     false, "unused"},
};

class RoleTest : public testing::TestWithParam<RoleCase> {};

Model role_model(const RoleCase& each) {
  return model_of(std::string("<ir_version: 8, opset_import: [\"\" : 17]>\n") +
                  "g (double[N,4] x) => (double[N,M] y) <" + std::string(each.initializers) +
                  "> { " + std::string(each.graph) + " }");
}

TEST_P(RoleTest, IsDecided) {
  const RoleCase& each = GetParam();
  const Prepared prepared = prepare_with_reasons(role_model(each), {.loss = "mse", .force = true});
  for (const Decision& decision : prepared.decisions) {
    if (decision.name != each.tensor) continue;
    EXPECT_EQ(decision.trained, each.trained);
    EXPECT_EQ(decision.reason, each.reason);
    return;
  }
  FAIL() << "no decision about '" << each.tensor << "'";
}

INSTANTIATE_TEST_SUITE_P(Recipe, RoleTest, testing::ValuesIn(kRoleCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RoleTest, WeightsInConstantNodesBecomeInitializers) {
  const Model model = prepare(model_of(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (double[N,2] x) => (double[N,1] y) {
  w = Constant<value = double[2,1] {1, 2}>()
  two = Constant<value = double {2}>()
  m = MatMul(x, w)
  y = Mul(m, two)
})"),
                              {.loss = "mse"});
  ASSERT_EQ(model.graph->initializers().size(), 1U);
  EXPECT_EQ(model.graph->initializers()[0]->name(), "w");
  EXPECT_EQ(model.graph->initializers()[0]->tensor()->number(1), 2);
  EXPECT_EQ(model.graph->nodes().front()->output(0)->name(), "two");  // no weight: it stays
  const auto& updates = model.training[0].update_bindings;
  EXPECT_TRUE(std::any_of(updates.begin(), updates.end(), [&](const Binding& binding) {
    return binding.target == model.graph->initializers()[0];
  }));
}

TEST(RoleTest, PytorchsMetadataDecides) {
  const auto decide = [](std::string_view kind) {
    Model model = model_of(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (double[N,2] x) => (double[N,2] y) <double[2] p = full(0), double[2,2] w = full(1)> {
  m = MatMul(x, w)
  s = Sigmoid(m)
  y = Add(s, p)
})");
    for (Value* value : model.graph->initializers()) {
      if (value->name() == "p") {
        value->metadata.emplace_back("pkg.torch.export.graph_signature.InputSpec.kind", kind);
      }
    }
    return prepare_with_reasons(std::move(model), {.loss = "mse"}).decisions[0];
  };
  EXPECT_TRUE(decide("PARAMETER").trained);
  EXPECT_EQ(decide("PARAMETER").reason,
            "PARAMETER in PyTorch's export, operand of Add 'y', not a layer's weight");
  EXPECT_FALSE(decide("BUFFER").trained);
  EXPECT_FALSE(decide("").trained);
}

struct PatternCase {
  std::vector<std::string> train, freeze;
  std::vector<std::string> trained;
};

const PatternCase kPatternCases[] = {
    {{}, {}, {"conv.weight", "conv.bias", "bn.weight", "bn.bias", "fc.weight", "fc.bias"}},
    {{}, {"conv.*"}, {"bn.weight", "bn.bias", "fc.weight", "fc.bias"}},
    {{"fc.*"}, {"*"}, {"fc.weight", "fc.bias"}},
    {{"*.weigh?"}, {"*"}, {"conv.weight", "bn.weight", "fc.weight"}},
    // A * never trains statistics, nor what no gradient reaches (the ratio of a Dropout).
    {{"*"}, {}, {"conv.weight", "conv.bias", "bn.weight", "bn.bias", "fc.weight", "fc.bias"}},
};

TEST(PatternTest, Override) {
  for (const PatternCase& each : kPatternCases) {
    Recipe recipe;
    recipe.train = each.train;
    recipe.freeze = each.freeze;
    std::vector<std::string> trained;
    for (const Decision& decision :
         prepare_with_reasons(model_of(kConvolutional), recipe).decisions) {
      if (decision.trained) trained.push_back(decision.name);
    }
    EXPECT_EQ(trained, each.trained);
  }
}

TEST(PatternTest, Match) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*c*e", "abcde"));
  EXPECT_TRUE(matches("a*c*e", "acce"));
  EXPECT_TRUE(matches("*weight", "weight.weight"));
  EXPECT_FALSE(matches("a*c*e", "abcd"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("a?", "a"));
  EXPECT_TRUE(matches("a?", "a*"));
  EXPECT_TRUE(matches("a*", "a*b"));
}

}  // namespace
}  // namespace onward
