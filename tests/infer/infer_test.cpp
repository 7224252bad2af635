// Type and shape inference over whole models: what is found out, and what is refused.

#include "infer/infer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/data_type_utils.h>

#include <string>
#include <vector>

#include "format/load.h"
#include "infer/constraints.h"

namespace onward {
namespace {

std::string model_text(int opset, const std::string& graph, int ir_version = 10) {
  return fmt::format(
      "<ir_version: {}, opset_import: [\"\" : {}, \"ai.onnx.preview.training\" : 1, "
      "\"ai.onnx.ml\" : 5, \"mine\" : 1]>\n{}",
      ir_version, opset, graph);
}

/// Results need no types here.
Model read(const std::string& text) {
  Problems ignored;
  return parse_text(text, {.problems = &ignored});
}

std::string all_problems(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems.list()) {
    text += problem.rule + ": " + to_string(problem) + "\n";
  }
  return text;
}

const Value* find(const Graph& graph, const std::string& name) {
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && output->name() == name) return output.get();
    }
    for (const Graph* subgraph : node->subgraphs()) {
      if (const Value* found = find(*subgraph, name)) return found;
    }
  }
  return nullptr;
}

const Value* find(const Model& model, const std::string& name) {
  const Value* found = nullptr;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    if (!found) found = find(graph, name);
  });
  return found;
}

struct TypeCase {
  const char* name;
  int opset;
  const char* graph;
  const char* value;  // whose type is asked for
  const char* type;
  int ir_version = 10;
};

const TypeCase kTypes[] = {
    {"a layer", 21,
     "g (float[N,784] x, float[784,10] w, float[10] b) => (y) {\n"
     "h = MatMul(x, w)\n y = Add(h, b) }",
     "y", "f32[N,10]"},
    {"an input without a shape", 21, "g (float[] x, float[] w) => (y) { y = MatMul(x, w) }", "y",
     "f32[...]"},
    {"two dimensions of one name", 21, "g (float[N,3] x, float[N,1] z) => (y) { y = Mul(x, z) }",
     "y", "f32[N,3]"},
    {"what an unknown operator gives", 21,
     "g (float[2] x) => (z) { y = mine.Odd(x)\n z = MatMul(y, x) }", "z", "f32[...]"},
    {"a declared type after an unknown operator", 21,
     "g (float[2,3] x) => (z) <float[3,4] y> { y = mine.Odd(x)\n z = MatMul(x, y) }", "z",
     "f32[2,4]"},

    // shapes that the model computes
    {"Reshape by a constant", 21,
     "g (float[2,12] x) => (y) <int64[3] s = {2,-1,3}> { y = Reshape(x, s) }", "y", "f32[2,4,3]"},
    {"Reshape by a list in a Constant", 21,
     "g (float[2,12] x) => (y) { s = Constant<value_ints = [4, 6]>()\n y = Reshape(x, s) }", "y",
     "f32[4,6]"},
    {"Reshape by Shape, Gather and Concat", 21,
     "g (float[N,4,8] x) => (y) <int64[1] zero = {0}, int64[1] rest = {-1}> {\n"
     "s = Shape(x)\n n = Gather(s, zero)\n t = Concat<axis = 0>(n, rest)\n y = Reshape(x, t) }",
     "y", "f32[N,?]"},
    {"Reshape by arithmetic", 21,
     "g (float[2,3,4] x) => (y) <int64[1] two = {2}, int64[1] zero = {0}, int64[1] one = {1}> {\n"
     "s = Shape(x)\n a = Slice(s, zero, two)\n p = ReduceProd<keepdims = 1>(a)\n"
     "q = Div(p, two)\n r = Mul(q, one)\n m = Sub(r, one)\n k = Add(m, one)\n"
     "l = Constant<value_ints = [-1]>()\n t = Concat<axis = 0>(k, l)\n y = Reshape(x, t) }",
     "y", "f32[3,8]"},
    {"a broadcast to a computed shape, as torch writes it", 21,
     "g (float[1,3] x, float[N,3] like) => (y) <int64[1] two = {2}, int64 minus = {-1}> {\n"
     "s = Shape(like)\n ones = ConstantOfShape<value = int64[1] {1}>(two)\n"
     "negative = Mul(ones, minus)\n is = Equal(s, negative)\n t = Where(is, ones, s)\n"
     "y = Expand(x, t) }",
     "y", "f32[N,3]"},
    {"a Range of a dimension", 21,
     "g (float[2,5] x) => (y) <int64 zero = {0}, int64 one = {1}> {\n"
     "s = Shape<start = 1>(x)\n n = Squeeze(s)\n y = Range(zero, n, one) }",
     "y", "i64[5]"},
    {"Slice by computed bounds", 21,
     "g (float[2,6] x, float[4] z) => (y) <int64[1] zero = {0}, int64[1] one = {1}> {\n"
     "n = Shape(z)\n y = Slice(x, zero, n, one) }",
     "y", "f32[2,4]"},
    {"a shape sliced backwards from before its beginning", 21,
     "g (float[2,6] x) => (y) <int64[1] a = {-5}, int64[1] b = {-9}, int64[1] zero = {0}, int64[1] "
     "back = {-1}> {\n"
     "s = Shape(x)\n t = Slice(s, a, b, zero, back)\n y = ConstantOfShape(t) }",
     "y", "f32[2]"},
    {"Slice by axes of unknown shape", 13,
     "g (float[3,2] x, int64[] axes) => (y) <int64[1] begin = {-2}, int64[1] end = {-4}> {\n"
     "y = Slice(x, begin, end, axes) }",
     "y", "f32[?,?]"},
    {"Slice by steps of unknown shape", 13,
     "g (float[8,2] x, int64[] steps) => (y) <int64[1] begin = {0}, int64[1] end = {8}, int64[1] "
     "axis "
     "= {0}> {\n"
     "y = Slice(x, begin, end, axis, steps) }",
     "y", "f32[?,?]"},
    {"Pad by axes of unknown shape", 21,
     "g (float[2,6] x, int64[] axes) => (y) <int64[2] pads = {1,2}> { y = Pad(x, pads, , axes) }",
     "y", "f32[...]"},
    {"Pad by axes of 32 bits", 21,
     "g (float[2,6] x) => (y) <int64[2] pads = {1,2}, int32[1] axes = {-1}> {\n"
     "y = Pad(x, pads, , axes) }",
     "y", "f32[2,9]"},
    {"Pad by computed axes of 32 bits", 21,
     "g (float[2,6] x) => (y) <int64[2] pads = {1,2}, int64[1] last = {1}> {\n"
     "axes = Cast<to = 6>(last)\n y = Pad(x, pads, , axes) }",
     "y", "f32[2,9]"},
    {"a piece of a split shape", 21,
     "g (float[2,6] x) => (y) <int64[2] sizes = {1,1}> {\n"
     "s = Shape(x)\n a, b = Split<axis = 0>(s, sizes)\n y = ConstantOfShape(b) }",
     "y", "f32[6]"},
    {"a constant that is state", 21,
     "g (float[2,6] x) => (y) <int64[2] s = {3,4}> { y = Reshape(x, s) }\n"
     "training_info { algorithm a () => (t) { t = Identity(s) } update_binding { s <- t } }",
     "y", "f32[?,?]"},
    {"the default of an input", 21,
     "g (float[2,6] x, int64[2] s = {3,4}) => (y) { y = Reshape(x, s) }", "y", "f32[?,?]"},
    {"an initializer that IR 3 lists as an input", 8,
     "g (float[2,6] x, int64[2] s = {3,4}) => (y) { y = Reshape(x, s) }", "y", "f32[3,4]", 3},

    // rules that the standard leaves to function bodies, or leaves out
    {"GreaterOrEqual 12", 12, "g (float[2,1] a, float[3] b) => (y) { y = GreaterOrEqual(a, b) }",
     "y", "bool[2,3]"},
    {"MeanVarianceNormalization", 13,
     "g (float[2,3,4,4] x) => (y) { y = MeanVarianceNormalization(x) }", "y", "f32[2,3,4,4]"},
    {"GroupNormalization", 21,
     "g (float[N,4,8] x, float[4] s, float[4] b) => (y) {\n"
     "y = GroupNormalization<num_groups = 2>(x, s, b) }",
     "y", "f32[N,4,8]"},
    {"an output whose type the schema alone tells", 9,
     "g (float[4] x, bool[4] c) => (y) { y = Compress(x, c) }", "y", "f32[...]"},

    // ai.onnx.ml, whose rules tell few shapes
    {"Scaler", 21,
     "g (int64[N,3] x) => (y) { y = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(x) }", "y",
     "f32[N,3]"},
    {"Normalizer", 21, "g (double[N,3] x) => (y) { y = ai.onnx.ml.Normalizer(x) }", "y",
     "f32[N,3]"},
    {"Imputer", 21,
     "g (int64[N,3] x) => (y) { y = ai.onnx.ml.Imputer<imputed_value_int64s = [1]>(x) }", "y",
     "i64[N,3]"},
    {"FeatureVectorizer", 21,
     "g (float[N,3] x, float[N,2] z) => (y) {\n"
     "y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [4, 2]>(x, z) }",
     "y", "f32[N,6]"},
    {"FeatureVectorizer of sizes that are too large", 21,
     "g (float[N,3] x, float[N,2] z) => (y) {\n"
     "y = ai.onnx.ml.FeatureVectorizer<inputdimensions = [9223372036854775807, 2]>(x, z) }",
     "y", "f32[N,?]"},
    {"LinearRegressor", 21,
     "g (float[N,3] x) => (y) {\n"
     "y = ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], targets = "
     "2>(x) }",
     "y", "f32[N,2]"},
    {"SVMRegressor", 21,
     "g (float[N,3] x) => (y) { y = ai.onnx.ml.SVMRegressor<coefficients = [1.0, 2.0, 3.0], rho = "
     "[0.5]>(x) }",
     "y", "f32[N,1]"},
    {"SVMClassifier of pairs", 21,
     "g (float[N,3] x) => (l, y) {\n l, y = ai.onnx.ml.SVMClassifier<classlabels_ints = [1, 2, 3, "
     "4], vectors_per_class = [1, 0, 2, 1]>(x) }",
     "y", "f32[N,6]"},
    {"SVMClassifier of two", 21,
     "g (float[N,3] x) => (l, y) {\n l, y = ai.onnx.ml.SVMClassifier<classlabels_ints = [1, 2], "
     "vectors_per_class = [1, 1]>(x) }",
     "y", "f32[N,2]"},
    {"SVMClassifier with probabilities", 21,
     "g (float[N,3] x) => (l, y) {\n l, y = ai.onnx.ml.SVMClassifier<classlabels_ints = [1, 2, 3, "
     "4], vectors_per_class = [1, 0, 2, 1], prob_a = [1.0]>(x) }",
     "y", "f32[N,4]"},
    {"SVMClassifier without vectors", 21,
     "g (float[N,3] x) => (l, y) {\n l, y = ai.onnx.ml.SVMClassifier<classlabels_strings = [\"a\", "
     "\"b\", \"c\"]>(x) }",
     "l", "string[N]"},

    // subgraphs
    {"the union of two branches", 21,
     "g (bool c, float[2,3] x, float[2,5] z) => (y) {\n"
     "y = If(c)<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Relu(z) "
     "}> }",
     "y", "f32[2,?]"},
    {"a value in a branch", 21,
     "g (bool c, float[2,3] x) => (y) {\n"
     "y = If(c)<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Neg(x) "
     "}> }",
     "b", "f32[2,3]"},
    {"the scan output of a Loop", 21,
     "g (int64 m, bool c, float[2] x) => (last, all) {\n"
     "last, all = Loop(m, c, x)<body = b (int64 i, bool go, float[2] h) => (go2, h2, each) {\n"
     "go2 = Identity(go)\n h2 = Add(h, h)\n each = Identity(h) }> }",
     "all", "f32[?,2]"},
    {"Scan", 21,
     "g (float[3] h0, float[5,3] xs) => (h, ys) {\n"
     "h, ys = Scan<num_scan_inputs = 1, body = b (p, x) => (q, y) {\n"
     "q = Add(p, x)\n y = Identity(q) }>(h0, xs) }",
     "ys", "f32[5,3]"},

    // the training part
    {"a gradient", 17,
     "g (float[N,3] x) => (y) <float[3,2] w = {1,2,3,4,5,6}> { y = MatMul(x, w) }\n"
     "training_info { algorithm a (float[N,2] label) => (loss, dw) {\n"
     "d = Sub(y, label)\n s = Mul(d, d)\n loss = ReduceMean<keepdims = 0>(s)\n"
     "dw = ai.onnx.preview.training.Gradient<xs = [\"w\"], zs = [\"x\"], y = \"loss\">(w, x) } }",
     "dw", "f32[3,2]"},
};

TEST(Infer, FindsTypes) {
  for (const TypeCase& test : kTypes) {
    SCOPED_TRACE(test.name);
    Model model = read(model_text(test.opset, test.graph, test.ir_version));
    Problems problems;
    infer_types(model, problems);
    EXPECT_EQ(all_problems(problems), "");
    const Value* value = find(model, test.value);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(to_string(value->type), test.type);
  }
}

struct RefusalCase {
  const char* name;
  const char* graph;
  const char* problem;  // rule and text
  int opset = 21;
};

const RefusalCase kRefusals[] = {
    {"a type that the operator does not take",
     "g (bool[2,2] x, bool[2,2] w) => (y) { y = MatMul(x, w) }",
     "type: node 'y' (MatMul), tensor 'x': input 0 'x' is bool, but MatMul takes bf16, f16, f32, "
     "f64, i32, i64, u32, u64\n"},
    {"two types where one is wanted", "g (float[2] a, double[2] b) => (y) { y = Add(a, b) }",
     "type: node 'y' (Add), tensor 'b': input 1 'b' is f64, but input 0 'a' is f32, but Add "
     "requires the same type for both\n"},
    {"a sequence where a tensor is wanted", "g (seq(float[2]) s) => (y) { y = Relu(s) }",
     "type: node 'y' (Relu), tensor 's': input 0 's' is seq(f32), but Relu takes bf16, f16, f32, "
     "f64, i16, i32, i64, i8\n"},
    {"inner dimensions that differ", "g (float[2,3] x, float[4,5] w) => (y) { y = MatMul(x, w) }",
     "inference: node 'y' (MatMul): Incompatible dimensions for matrix multiplication\n"},
    {"a declared shape that contradicts", "g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }",
     "shape: node 'y' (Relu), tensor 'y': declared f32[2,4], but inferred f32[2,3]: dimension 1 is "
     "4 "
     "and 3\n"},
    {"a declared type that contradicts", "g (float[2,3] x) => (int64[2,3] y) { y = Relu(x) }",
     "type: node 'y' (Relu), tensor 'y': declared i64[2,3], but inferred f32[2,3]: i64 and f32\n"},
    {"a window larger than its input",
     "g (float[1,1,2] x, float[1,1,5] w) => (y) { y = Conv(x, w) }",
     "shape: node 'y' (Conv), tensor 'x': a window of 5 does not fit into spatial dimension 0 of 2 "
     "with padding of 0 and 0\n"},
    {"an output of a negative size",
     "g (float[2] x) => (y) <int64[2] p = {-2, -1}> { y = Pad(x, p) }",
     "shape: node 'y' (Pad): the inferred output is impossible: dimension -1 is negative\n"},
    {"a node in a training algorithm",
     "g (float[2] x) => (y) { y = Relu(x) }\n"
     "training_info { algorithm a (float[3] z) => (s) { s = Add(y, z) } }",
     "inference: training info 0, algorithm, node 's' (Add): Incompatible dimensions\n"},
    {"a node in the body of a loop",
     "g (int64 m, bool c, float[2] x) => (h) {\n"
     "h = Loop(m, c, x)<body = b (int64 i, bool go, float[2] p) => (go2, q) {\n"
     "go2 = Identity(go)\n z = Constant<value_floats = [1.0, 2.0, 3.0]>()\n q = Add(p, z) }> }",
     "inference: subgraph of node 'h', node 'q' (Add): Incompatible dimensions\n"},
    {"a body with another number of inputs",
     "g (float[3] h0, float[5,3] xs) => (h, ys) {\n"
     "h, ys = Scan<num_scan_inputs = 1, body = b (p) => (q, y) {\n"
     "q = Relu(p)\n y = Identity(q) }>(h0, xs) }",
     "arity: node 'h' (Scan): its subgraph 'b' has 1 inputs, but is given 2\n"},
    // Only a warning: with another condition the branch is never taken.
    {"shapes in a branch",
     "g (bool c, float[2,3] x) => (y) {\n"
     "y = If(c)<then_branch = t () => (a) { k = Constant<value_ints = [1]>()\n a = Squeeze(x, k) "
     "},\n"
     "else_branch = e () => (b) { b = Relu(x) }> }",
     "inference: subgraph of node 'y', node 'a' (Squeeze): Dimension of input 1 must be 1 instead "
     "of "
     "3\n"},
};

TEST(Infer, RefusesWithReason) {
  for (const RefusalCase& test : kRefusals) {
    SCOPED_TRACE(test.name);
    Model model = read(model_text(test.opset, test.graph));
    Problems problems;
    infer_types(model, problems);
    EXPECT_EQ(all_problems(problems), test.problem);
  }
}

TEST(Infer, OnlyWarnsOfShapesInABranchAndOfDeclaredOnes) {
  for (const RefusalCase& test : kRefusals) {
    SCOPED_TRACE(test.name);
    Model model = read(model_text(test.opset, test.graph));
    Problems problems;
    infer_types(model, problems);
    const std::string name = test.name;
    const bool harmless =
        name == "shapes in a branch" || name == "a declared shape that contradicts";
    EXPECT_EQ(problems.errors(), harmless ? 0 : 1);
  }
}

TEST(Infer, BelievesInputsRatherThanDeclarations) {
  struct Declared {
    const char* graph;
    const char* expected;
  };
  constexpr Declared kDeclared[] = {
      {"g (float[2,3] x) => (float[2,4] y) { y = Relu(x) }", "f32[2,3]"},
      {"g (float[N,3] x) => (float[1,4] y) { y = Relu(x) }", "f32[N,3]"},
      {"g (float[N,3] x) => (float[3] y) { y = Relu(x) }", "f32[N,3]"},
      {"g (float[N,3] x) => (float[1,3] y) { y = Relu(x) }", "f32[1,3]"},
      {"g (float[N,3] x) => (float[2,3] y) <float[1,9] y> { y = Relu(x) }", "f32[N,3]"},
  };
  for (const Declared& test : kDeclared) {
    SCOPED_TRACE(test.graph);
    Model model = read(model_text(21, test.graph));
    Problems problems;
    infer_types(model, problems);
    EXPECT_EQ(problems.errors(), 0);
    EXPECT_EQ(to_string(find(model, "y")->type), test.expected);
  }
}

TEST(Infer, ShapesOfBroadcastSymbolsStayUnknown) {
  Model model = read(model_text(21, "g (float[N] x, float[M] z) => (y) { y = Add(x, z) }"));
  Problems problems;
  infer_types(model, problems);
  EXPECT_EQ(to_string(find(model, "y")->type), "f32[?]");
}

TEST(Infer, SpellsElementTypesAsTheSchemasDo) {
  for (int number = 1; number < kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(schema_type_name(Type::tensor(dtype)),
              "tensor(" + onnx::Utils::DataTypeUtils::ToDataTypeString(number) + ")");
  }
  EXPECT_EQ(schema_type_name(Type::map(DType::i64, Type::sequence(Type::tensor(DType::f32)))),
            "map(int64,seq(tensor(float)))");
  EXPECT_EQ(schema_type_name(Type::sequence(Type::unknown())), std::nullopt);
}

Node* add_node(Graph& graph, std::string_view op, std::vector<Value*> inputs,
               const std::string& output) {
  Node* node = graph.add_node(op, std::move(inputs));
  node->opset = 21;
  node->add_output(output);
  return node;
}

TEST(Infer, RefusesADefaultThatContradictsItsInput) {
  Model model;
  model.ir_version = 10;
  Value* x = model.graph->add_input("x", Type::tensor(DType::f32, Shape{Dim::known(3)}));
  model.graph->set_initializer(x, Tensor::of<float>({2}, {1, 2}));
  Problems problems;
  infer_types(model, problems);
  EXPECT_EQ(all_problems(problems),
            "shape: tensor 'x': declared f32[3], but its data is f32[2]: dimension 0 is 3 and 2\n");
}

TEST(Infer, TakesTenThousandNodes) {
  Model model;
  model.ir_version = 10;
  Value* x =
      model.graph->add_input("x", Type::tensor(DType::f32, Shape{Dim::named("N"), Dim::known(8)}));
  Value* w = model.graph->add_initializer("w", Tensor::of<float>({8, 8}, std::vector<float>(64)));
  for (int i = 0; i < 5000; ++i) {
    x = add_node(*model.graph, "MatMul", {x, w}, fmt::format("m{}", i))->output(0);
    x = add_node(*model.graph, "Relu", {x}, fmt::format("r{}", i))->output(0);
  }
  Problems problems;
  infer_types(model, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(to_string(x->type), "f32[N,8]");
}

TEST(Infer, StopsAtDeepSubgraphs) {
  Model model;
  model.ir_version = 10;
  Value* condition = model.graph->add_input("c", Type::tensor(DType::boolean, Shape{}));
  Value* x = model.graph->add_input("x", Type::tensor(DType::f32, Shape{}));
  Graph* graph = model.graph.get();
  for (int i = 0; i < 80; ++i) {
    Node* node = add_node(*graph, "If", {condition}, fmt::format("y{}", i));
    graph->add_output(node->output(0));
    auto yes = std::make_unique<Graph>(graph);
    auto no = std::make_unique<Graph>(graph);
    no->add_output(add_node(*no, "Identity", {x}, fmt::format("n{}", i))->output(0));
    graph = yes.get();
    node->set_attribute({.name = "then_branch", .value = std::move(yes), .doc = {}});
    node->set_attribute({.name = "else_branch", .value = std::move(no), .doc = {}});
  }
  graph->add_output(add_node(*graph, "Identity", {x}, "last")->output(0));
  Problems problems;
  infer_types(model, problems);
  ASSERT_GE(problems.errors(), 1);
  EXPECT_EQ(problems.list()[0].message, "subgraphs are nested more than 64 deep");
}

TEST(Infer, DropsTheShapeOfManyDimensions) {
  Model model;
  model.ir_version = 10;
  Value* x = model.graph->add_input("x", Type::tensor(DType::f32, Shape(1000, Dim::known(1))));
  Value* y = add_node(*model.graph, "Relu", {x}, "y")->output(0);
  Problems problems;
  infer_types(model, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(to_string(y->type), "f32[...]");
}

}  // namespace
}  // namespace onward
