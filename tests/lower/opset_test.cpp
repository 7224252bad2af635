// Nodes in their newest form, as older opsets say them.

#include "lower/opset.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/interpreter.h"
#include "format/load.h"
#include "infer/infer.h"
#include "ops/builder.h"
#include "opset/lift.h"
#include "text/text.h"

namespace onward {
namespace {

Model read(int64_t opset, const std::string& signature, const std::string& nodes) {
  Problems ignored;  // results need no types here
  Model model = parse_text(fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {} {{ {} }}",
                                       opset, signature, nodes),
                           {.problems = &ignored});
  infer_types(model, ignored);
  return model;
}

std::string text_of_nodes(const Model& model) {
  std::string text;
  for (const auto& node : model.graph->nodes()) text += to_text(*node) + "\n";
  return text;
}

struct FormCase {
  const char* name;
  int opset;
  const char* signature;
  const char* newest;
  const char* older;
};

constexpr FormCase kForms[] = {
    {"types alone differ", 13, "(float[2] x) => (y)", "y = Relu(x)", "y = Relu(x)"},
    {"an attribute at its default", 13, "(float[2] x) => (y)", "y = Shape<start = 0>(x)",
     "y = Shape(x)"},
    {"axes", 17, "(float[2,3] x) => (y)",
     "a = Constant<value = int64[1] {1}>()\n y = ReduceMean<keepdims = 0>(x, a)",
     "a = Constant<value = int64[1] {1}>()\n y = ReduceMean<keepdims = 0, axes = [1]>(x)"},
    {"axes that are an input still", 13, "(float[2,3] x, int64[1] a) => (y)", "y = ReduceSum(x, a)",
     "y = ReduceSum(x, a)"},
    {"all axes", 17, "(float[2,3] x) => (y)", "y = ReduceMax(x)", "y = ReduceMax(x)"},
    {"no axes that mean none", 17, "(float[2,3] x) => (y)",
     "a = Constant<value = int64[0] {}>()\n y = ReduceMean<noop_with_empty_axes = 1>(x, a)",
     "a = Constant<value = int64[0] {}>()\n y = Identity(x)"},
    {"no axes that mean all", 17, "(float[2,3] x) => (y)",
     "a = Constant<value = int64[0] {}>()\n y = ReduceMean(x, a)",
     "a = Constant<value = int64[0] {}>()\n y = ReduceMean(x)"},
    {"equal parts", 13, "(float[6] x) => (y, z)", "y, z = Split<num_outputs = 2>(x)",
     "y_sizes = Constant<value = int64[2] {3, 3}>()\n y, z = Split(x, y_sizes)"},
    {"equal parts along the first axis, which nobody names", 13, "(float[6,4] x) => (y, z)",
     "y, z = Split<num_outputs = 2>(x)",
     "y_sizes = Constant<value = int64[2] {3, 3}>()\n y, z = Split(x, y_sizes)"},
    {"parts of which the last is smaller", 13, "(float[2,5] x) => (y, z)",
     "y, z = Split<axis = -1, num_outputs = 2>(x)",
     "y_sizes = Constant<value = int64[2] {3, 2}>()\n y, z = Split<axis = -1>(x, y_sizes)"},
    {"a shape without zeros", 13, "(float[6] x) => (y)",
     "s = Constant<value = int64[2] {2, -1}>()\n y = Reshape<allowzero = 1>(x, s)",
     "s = Constant<value = int64[2] {2, -1}>()\n y = Reshape(x, s)"},
    {"a pooling that rounds down", 13, "(float[1,1,5,5] x) => (y)",
     "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)",
     "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)"},
    {"a pooling that rounds up", 13, "(float[1,1,5,5] x) => (y)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]>(x)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]>(x)"},
    {"rounding up that adds no window", 13, "(float[1,1,3,3] x) => (y)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [2, 2]>(x)",
     "y = MaxPool<kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [2, 2]>(x)"},
    {"a last window that would begin behind the input", 18, "(float[1,1,3] x) => (y)",
     "y = LpPool<ceil_mode = 1, kernel_shape = [1], strides = [3]>(x)",
     "y = LpPool<kernel_shape = [1], strides = [3]>(x)"},
    {"such a window along one dimension, another along the other", 18, "(float[1,1,5,4] x) => (y)",
     "y = AveragePool<ceil_mode = 1, kernel_shape = [2, 3], pads = [0, 0, 0, 2], strides = [2, 2], "
     "count_include_pad = 1>(x)",
     "y = AveragePool<ceil_mode = 1, kernel_shape = [2, 3], pads = [0, 0, 0, 1], strides = [2, 2], "
     "count_include_pad = 1>(x)"},
    {"such a window where another dimension is not known", 18, "(float[1,1,N,4] x) => (y)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 3], pads = [0, 0, 0, 2], strides = [2, 2]>(x)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 3], pads = [0, 0, 0, 1], strides = [2, 2]>(x)"},
    {"rounding up of windows that cover the input anyway", 18, "(float[1,1,3] x) => (y)",
     "y = AveragePool<auto_pad = \"SAME_UPPER\", ceil_mode = 1, kernel_shape = [1], "
     "strides = [3]>(x)",
     "y = AveragePool<auto_pad = \"SAME_UPPER\", kernel_shape = [1], strides = [3]>(x)"},
    {"addition by index", 16, "(float[4] x, int64[2] i, float[2] u) => (y)",
     "y = ScatterElements<reduction = \"add\">(x, i, u)",
     "y = ScatterElements<reduction = \"add\">(x, i, u)"},
};

TEST(WriteInOpset, SaysTheSame) {
  for (const FormCase& tested : kForms) {
    Model model = read(inner_opset(), tested.signature, tested.newest);
    EXPECT_EQ(write_in_opset(model, tested.opset), std::vector<std::string>{}) << tested.name;
    const Model expected = read(tested.opset, tested.signature, tested.older);
    EXPECT_EQ(text_of_nodes(model), text_of_nodes(expected)) << tested.name;
    EXPECT_EQ(model.opset(""), tested.opset);
  }
}

constexpr FormCase kRefused[] = {
    {"a new operator", 15, "(string[2] x) => (y)", "y = StringConcat(x, x)",
     "node 'y' (StringConcat): it was added in opset 20"},
    {"a new operator of unknown rank", 16, "(float[] x, float[3] s) => (y)",
     "y = LayerNormalization<axis = 1>(x, s)", "its axes are computed"},
    {"computed axes", 17, "(float[2,3] x, int64[1] a) => (y)", "y = ReduceMean(x, a)",
     "its axes are computed"},
    {"a zero that is meant", 13, "(float[0,2] x) => (y)",
     "s = Constant<value = int64[2] {0, 3}>()\n y = Reshape<allowzero = 1>(x, s)",
     "its shape contains a literal zero"},
    {"a computed shape", 13, "(float[6] x, int64[2] s) => (y)", "y = Reshape<allowzero = 1>(x, s)",
     "its shape is computed and may contain a literal zero"},
    {"parts of an unknown size", 13, "(float[N] x) => (y, z)", "y, z = Split<num_outputs = 2>(x)",
     "it is unknown whether 'x' splits into 2 equal parts"},
    {"an attribute", 14, "(float[2,3] x) => (y)", "y = Shape<start = 1>(x)",
     "its attribute 'start' is new in opset 15"},
    {"an input", 13, "(float[2,3] x, int64[2] p, int64[1] a) => (y)", "y = Pad(x, p, , a)",
     "its input 3 is new in opset 18"},
    {"a value of an attribute", 18, "(float[2,3] x, int64[4] p) => (y)",
     "y = Pad<mode = \"wrap\">(x, p)", "mode = 'wrap' is new in opset 19"},
    {"training statistics", 13,
     "(float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y)",
     "y, p, q = BatchNormalization<training_mode = 1>(x, s, b, m, v)", "its training mode"},
    {"a window behind the input, where rounding up adds another", 21, "(float[1,1,5,3] x) => (y)",
     "y = MaxPool<ceil_mode = 1, kernel_shape = [2, 1], strides = [2, 3]>(x)",
     "a window that begins behind the input is left out since opset 22"},
    {"an element type", 13, "(bool[2] c, bfloat16[2] x, bfloat16[2] z) => (y)",
     "y = Where(c, x, z)", "Where takes"},
};

/// Operators that an opset does not have are said in others, which compute the same.
TEST(WriteInOpset, SpellsYoungerOperators) {
  constexpr FormCase kYounger[] = {
      {"Gelu", 13, "(float[2,3] x) => (y)", "y = Gelu(x)", ""},
      {"Gelu by tanh", 19, "(float[2,3] x) => (y)", "y = Gelu<approximate = \"tanh\">(x)", ""},
      {"Celu of doubles, which it takes since opset 28", 13, "(float[2,3] x) => (y)",
       "d = Cast<to = 11>(x)\n e = Celu<alpha = 0.5>(d)\n y = Cast<to = 1>(e)", ""},
      {"LayerNormalization", 16, "(float[2,3] x) => (y, m, d)",
       "s = Constant<value = float[3] {1, 2, -1}>()\n b = Constant<value = float[3] {3, 0, 1}>()\n"
       "y, m, d = LayerNormalization<epsilon = 0.1>(x, s, b)",
       ""},
      {"LayerNormalization of the last axis, which nobody names", 16, "(float[2,3] x) => (y, m)",
       "s = Constant<value = float[3] {1, 2, -1}>()\n r = Constant<value = int64[3] {1, 2, 3}>()\n"
       "cube = Reshape(x, r)\n y, m = LayerNormalization(cube, s)",
       ""},
      {"LayerNormalization of small floats, whose squares would overflow", 16,
       "(float[2,3] x) => (y)",
       "k = Constant<value = float {20000}>()\n one = Constant<value = float {1}>()\n"
       "large = Mul(x, k)\n small = Cast<to = 10>(large)\n s = Cast<to = 10>(one)\n"
       "n = LayerNormalization(small, s)\n y = Cast<to = 1>(n)",
       ""},
      {"GroupNormalization, whose scales were those of groups", 18, "(float[2,3] x) => (y)",
       "r = Constant<value = int64[3] {1, 2, 3}>()\n cube = Reshape(x, r)\n"
       "s = Constant<value = float[2] {1, 2}>()\n b = Constant<value = float[2] {3, 0}>()\n"
       "y = GroupNormalization<num_groups = 1>(cube, s, b)",
       ""},
      {"LayerNormalization of two axes", 13, "(float[2,3] x) => (y)",
       "s = Constant<value = float[3] {1, 2, -1}>()\n y = LayerNormalization<axis = 0>(x, s)", ""},
  };
  const Tensor x = Tensor::of<float>({2, 3}, {0.5F, -1, 2, 3, -0.25F, 1});
  const auto results = [&](const Model& model) {
    eval::Environment environment;
    environment.emplace(model.graph->inputs()[0], x);
    return eval::outputs_of(*model.graph, std::move(environment));
  };
  for (const FormCase& tested : kYounger) {
    Model model = read(inner_opset(), tested.signature, tested.newest);
    const auto expected = results(model);
    EXPECT_EQ(write_in_opset(model, tested.opset), std::vector<std::string>{}) << tested.name;
    EXPECT_EQ(model.graph->outputs()[0]->name(), "y");
    lift(model);  // as the kernels want it
    const auto spelled = results(model);
    for (size_t i = 0; i < expected.size(); ++i) {
      for (int64_t k = 0; k < expected[i].size(); ++k) {
        EXPECT_NEAR(spelled[i].number(k), expected[i].number(k), 1e-6) << tested.name;
      }
    }
  }
}

TEST(WriteInOpset, NamesWhatItCannotSay) {
  for (const FormCase& tested : kRefused) {
    Model model = read(inner_opset(), tested.signature, tested.newest);
    const auto complaints = write_in_opset(model, tested.opset);
    ASSERT_FALSE(complaints.empty()) << tested.name;
    EXPECT_NE(complaints[0].find(tested.older), std::string::npos) << complaints[0];
  }
}

TEST(WriteInOpset, ChoosesTheSmallestIrVersion) {
  constexpr std::pair<int64_t, int64_t> kVersions[] = {{13, 7},  {14, 7},  {17, 8},  {20, 9},
                                                       {22, 10}, {23, 11}, {24, 12}, {26, 13}};
  for (const auto& [opset, ir_version] : kVersions) {
    EXPECT_EQ(first_ir_version(opset), ir_version) << opset;
  }
}

}  // namespace
}  // namespace onward
