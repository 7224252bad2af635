// Nodes that ONNX's own inference does not survive, or does not notice: each is refused by a guard.
// Families with guards of their own have tables of their own beside this one.

#include "infer/guards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "infer/infer.h"
#include "tests/infer/guard_cases.h"
#include "tests/support/random_node.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
    // arity
    {"too few inputs", 21, "g (float[2] x) => (y) { y = Add(x) }", "arity",
     "it has 1 input, but takes 2"},
    {"too many inputs", 21, "g (float[2] x) => (y) { y = Relu(x, x, x) }", "arity",
     "it has 3 inputs, but takes 1"},
    {"too many outputs", 21, "g (float[2] x) => (y) { y, z = Relu(x) }", "arity",
     "it has 2 outputs, but takes 1"},
    {"too few of at least one", 21, "g (float[2] x) => (y) { y = Sum() }", "arity",
     "it has 0 inputs, but takes at least 1"},
    {"a number of inputs between two", 21, "g (float[2] x) => (y) { y = Clip(x, x, x, x) }",
     "arity", "it has 4 inputs, but takes 1 to 3"},
    {"an input left out", 21, "g (float[2] x) => (y) { y = Add(, x) }", "arity",
     "input 0 (A) is required"},
    {"one of many inputs left out", 21, "g (float[2] x) => (y) { y = Sum(x, , x) }", "arity",
     "input 1 (data_0) is required"},
    {"the last of many inputs left out", 21,
     "g (float[2] x) => (y) { y = Concat<axis = 0>(x, \"\") }", "arity",
     "input 1 (inputs) is required"},

    // attributes
    {"an attribute left out", 21, "g (float[2] x) => (y) { y = Concat(x, x) }", "attribute",
     "attribute 'axis' is missing"},
    {"an attribute of another type", 21, "g (float[2,3] x) => (y) { y = Transpose<perm = 1>(x) }",
     "attribute", "attribute 'perm' is an int, but must be a list of ints"},
    {"an axis of 2^31: ONNX 1.23 dies", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = 2147483648>(x, s) }",
     "attribute", "attribute 'axis' is 2147483648, which is out of range"},
    {"an axis of 2^32, which would be cut to 0", 21,
     "g (float[2,3] x) => (y) { y = Softmax<axis = 4294967296>(x) }", "attribute",
     "attribute 'axis' is 4294967296, which is out of range"},
    {"an axis behind the last", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = 2>(x, s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an axis before the first", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = -3>(x, s) }", "attribute",
     "axis -3 is out of range for rank 2"},
    {"an axis in a list", 13,
     "g (float[2,3] x) => (y) { y = MeanVarianceNormalization<axes = [0, 2]>(x) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an equation with other signs: ONNX 1.23 hangs", 12,
     "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"i0,jk->ik\">(x, w) }",
     "attribute", "'i0,jk->ik' is not an equation such as 'ij,jk->ik'"},
    {"an equation with two ellipses", 12,
     "g (float[2,3] x) => (y) { y = Einsum<equation = \"...i...->i\">(x) }", "attribute",
     "'...i...->i' is not an equation such as 'ij,jk->ik'"},
    {"an equation with two arrows", 12,
     "g (float[2,3] x) => (y) { y = Einsum<equation = \"ij->i->j\">(x) }", "attribute",
     "'ij->i->j' is not an equation such as 'ij,jk->ik'"},
    {"batch dimensions below 0", 13,
     "g (float[2,3] x, int64[2,1] i) => (y) { y = GatherND<batch_dims = -4>(x, i) }", "attribute",
     "attribute 'batch_dims' is -4, but can't be negative"},
    {"an index that has no successor", 9,
     "g (int64[3] x) => (y) { y = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0,\n"
     "min_gram_length = 1, mode = \"TF\", ngram_counts = [0], pool_int64s = [1],\n"
     "ngram_indexes = [9223372036854775807]>(x) }",
     "attribute", "attribute 'ngram_indexes' holds 9223372036854775807, which is out of range"},
    {"no pattern", 20, "g (string[2] x) => (y) { y = RegexFullMatch(x) }", "attribute",
     "attribute 'pattern' is missing"},
    {"a pattern that does not end", 20,
     "g (string[2] x) => (y) { y = RegexFullMatch<pattern = \"a(b\">(x) }", "attribute",
     "attribute 'pattern' is 'a(b', which is no pattern in RE2's syntax: missing ): a(b"},
    {"a pattern that is not in UTF-8", 20,
     "g (string[2] x) => (y) { y = RegexFullMatch<pattern = \"\xC3(\">(x) }", "attribute",
     "attribute 'pattern' is '\\xc3(', which is no pattern in RE2's syntax: invalid UTF-8"},
    {"more outputs than num_outputs: ONNX 1.23 dies", 18,
     "g (float[6] x) => (a, b) { a, b = Split<num_outputs = 1>(x) }", "attribute",
     "attribute 'num_outputs' is 1, but the node has 2 outputs"},
    {"more num_outputs than memory", 18,
     "g (float[6] x) => (a) { a = Split<num_outputs = 2000000000>(x) }", "attribute",
     "attribute 'num_outputs' is 2000000000, but the node has 1 outputs"},
    {"sizes whose sum overflows", 2,
     "g (float[6] x) => (a, b) { a, b = Split<split = [9223372036854775807, 2]>(x) }", "attribute",
     "attribute 'split' holds 9223372036854775807, which is out of range"},
    {"an axis that only kernels look at", 21,
     "g (float[2,3] x, int64[2,3] i) => (y) { y = GatherElements<axis = 5>(x, i) }", "attribute",
     "axis 5 is out of range for rank 2"},
    {"an axis of no dimension", 21, "g (float x) => (y) { y = ArgMax<axis = 0>(x) }", "attribute",
     "axis 0 is out of range for rank 0"},
    {"a largest element along no dimension", 21,
     "g (float[2,3] x) => (y) { y = Hardmax<axis = 2>(x) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"a slope of nothing", 12, "g (float[2] x) => (y) { y = Celu<alpha = 0.0>(x) }", "attribute",
     "attribute 'alpha' is 0, but is divided by"},
    {"a gate and a value of other shapes", 28,
     "g (float[2,3] x, float[3] b) => (y) { y = SwiGLU(x, b) }", "shape",
     "input 1 (B): its shape [3] is not that of 'x', [2,3]"},
    {"a direction of bits", 11, "g (uint8[2] x) => (y) { y = BitShift<direction = \"UP\">(x, x) }",
     "attribute", "attribute 'direction' is 'UP', but must be one of LEFT, RIGHT"},
    {"no groups", 21,
     "g (float[2,4,3] x, float[4] s) => (y) { y = GroupNormalization<num_groups = 0>(x, s, s) }",
     "attribute", "attribute 'num_groups' is 0, but must be positive"},
    {"groups that do not divide", 21,
     "g (float[2,4,3] x, float[4] s) => (y) { y = GroupNormalization<num_groups = 3>(x, s, s) }",
     "attribute", "4 channels cannot be split into 3 groups"},
    {"the largest of nothing", 13, "g (float[2,0] x) => (y) { y = ArgMax<axis = -1>(x) }", "shape",
     "dimension 1 is empty: there is no element to find along it"},
    {"the smallest of nothing", 13, "g (float[0,4] x) => (y) { y = ArgMin(x) }", "shape",
     "dimension 0 is empty: there is no element to find along it"},
    {"sums along no axis", 14, "g (float[2,3] x) => (y) <int64 a = {2}> { y = CumSum(x, a) }",
     "shape", "input 1 (axis): axis 2 is out of range for rank 2"},
    {"mean and variance of a sequence", 13,
     "g (float[2,3,4] x) => (y) { y = MeanVarianceNormalization(x) }", "attribute",
     "axis 3 is out of range for rank 3"},
    {"a norm of another order", 22, "g (float[2,4] x) => (y) { y = LpNormalization<p = 3>(x) }",
     "attribute", "attribute 'p' is 3, not 1 or 2"},
    {"a norm along no axis", 22, "g (float[2,4] x) => (y) { y = LpNormalization<axis = 2>(x) }",
     "attribute", "axis 2 is out of range for rank 2"},
    {"RMSNormalization behind the last axis", 23,
     "g (float[2,3] x, float[3] s) => (y) { y = RMSNormalization<axis = 2>(x, s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an axis to scatter along", 21,
     "g (float[2,3] x, int64[2,3] i) => (y) { y = ScatterElements<axis = -3>(x, i, x) }",
     "attribute", "axis -3 is out of range for rank 2"},
    {"a cast that rounds in no known way", 25,
     "g (float[1] x) => (y) { y = Cast<to = 24, round_mode = \"even\">(x) }", "attribute",
     "attribute 'round_mode' is 'even', but must be one of up, down, nearest"},
    {"a perm that is no permutation", 21,
     "g (float[2,3,4] x) => (y) { y = Transpose<perm = [0, 2, 2]>(x) }", "attribute",
     "perm [0,2,2] is not a permutation of 3 dimensions"},
    {"a direction that is none", 21,
     "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 1, scan_input_directions = [2],\n"
     "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }",
     "attribute", "attribute 'scan_input_directions' holds 2, but a direction is 0 or 1"},
    {"more sequences than inputs", 21,
     "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 2,\n"
     "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }",
     "attribute", "attribute 'num_scan_inputs' is 2, but the node has 1 inputs"},

    // attributes that name element types
    {"Cast to nothing", 21, "g (float[2] x) => (y) { y = Cast<to = 0>(x) }", "attribute",
     "attribute 'to' is 0, which is not an element type"},
    {"Cast to a type of no standard", 21, "g (float[2] x) => (y) { y = Cast<to = 99>(x) }",
     "attribute", "attribute 'to' is 99, which is not an element type"},
    {"Bernoulli", 21, "g (float[2] x) => (y) { y = Bernoulli<dtype = -2>(x) }", "attribute",
     "attribute 'dtype' is -2, which is not an element type"},
    {"EyeLike", 21, "g (float[2,2] x) => (y) { y = EyeLike<dtype = 0>(x) }", "attribute",
     "attribute 'dtype' is 0, which is not an element type"},
    {"HannWindow", 21, "g (int64 n) => (y) { y = HannWindow<output_datatype = 77>(n) }",
     "attribute", "attribute 'output_datatype' is 77, which is not an element type"},
    {"Multinomial", 21, "g (float[2,3] x) => (y) { y = Multinomial<dtype = 1000>(x) }", "attribute",
     "attribute 'dtype' is 1000, which is not an element type"},
    {"QuantizeLinear", 21,
     "g (float[2] x, float s) => (y) { y = QuantizeLinear<output_dtype = -1>(x, s) }", "attribute",
     "attribute 'output_dtype' is -1, which is not an element type"},
    {"RandomNormal", 21, "g () => (y) { y = RandomNormal<dtype = 0, shape = [2]>() }", "attribute",
     "attribute 'dtype' is 0, which is not an element type"},
    {"RandomNormalLike", 21, "g (float[2] x) => (y) { y = RandomNormalLike<dtype = 50>(x) }",
     "attribute", "attribute 'dtype' is 50, which is not an element type"},
    {"RandomUniform", 21, "g () => (y) { y = RandomUniform<dtype = -9, shape = [2]>() }",
     "attribute", "attribute 'dtype' is -9, which is not an element type"},
    {"RandomUniformLike", 21, "g (float[2] x) => (y) { y = RandomUniformLike<dtype = 0>(x) }",
     "attribute", "attribute 'dtype' is 0, which is not an element type"},
    {"SequenceEmpty", 21, "g () => (y) { y = SequenceEmpty<dtype = 88>() }", "attribute",
     "attribute 'dtype' is 88, which is not an element type"},
    {"statistics of no type", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = -2>(x, s) }",
     "attribute", "attribute 'stash_type' is -2, which is not an element type"},
    {"statistics that are integers", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = 7>(x, s) }",
     "attribute", "attribute 'stash_type' is i64, but must be f16, bf16, f32 or f64"},
    {"statistics of eight bits", 21,
     "g (float[2,4,3] x, float[4] s) => (y) {\n"
     "y = GroupNormalization<num_groups = 2, stash_type = 17>(x, s, s) }",
     "attribute", "attribute 'stash_type' is f8e4m3fn, but must be f16, bf16, f32 or f64"},

    // values of constant inputs
    {"sizes whose sum overflows, as an input", 13,
     "g (float[6] x) => (a, b) <int64[2] s = {9223372036854775807, 2}> { a, b = Split(x, s) }",
     "shape", "split holds 9.223372036854776e+18, which is out of range"},
    {"sizes below 0", 11,
     "g (float[6] x) => (a) <int64[2] s = {-2, 8}> { a = SplitToSequence(x, s) }", "shape",
     "split holds -2, which is out of range"},
    {"a depth beyond all numbers", 11,
     "g (int64[2] x, float[2] v) => (y) <float d = {1e30}> { y = OneHot(x, d, v) }", "shape",
     "depth holds 1.0000000150474662e+30, which is out of range"},

    // shapes
    {"a shape of 2^31 dimensions: ONNX 1.23 takes all memory", 8,
     "g (float[2] x, int64[2147483647] s) => (y) { y = Expand(x, s) }", "shape",
     "a shape of 2147483647 dimensions is more than is supported"},
    {"a shape of more dimensions than any tensor has", 21,
     "g (float[2] x, int64[65] s) => (y) { y = Reshape(x, s) }", "shape",
     "a shape of 65 dimensions is more than is supported"},
    {"a negative dimension in a shape", 21,
     "g (float[2] x) => (y) <int64[1] s = {-2}> { y = Expand(x, s) }", "shape",
     "shape holds -2, which is out of range"},
};

TEST(InferGuards, Refuse) { expect_refusals(kRefused); }

const RightNode kRight[] = {
    {18, "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = -2>(x, s) }"},
    {18, "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"ij, jk -> ik\">(x, w) }"},
    {18, "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"...j,jk\">(x, w) }"},
    {18, "g (float[2,3] x, int64[2,1] i) => (y) { y = GatherND<batch_dims = 1>(x, i) }"},
    {18, "g (float[7] x) => (a, b) { a, b = Split<num_outputs = 2>(x) }"},
    {18, "g (float[6] x) => (a, b) <int64[2] s = {6, 0}> { a, b = Split(x, s) }"},
    {18, "g (int64[2] x, float[2] v) => (y) <float d = {3}> { y = OneHot(x, d, v) }"},
    {18, "g (float[2] x) => (y) { y = Clip(x, , ) }"},
    {18, "g (float[2] x) => (y) { c = Constant<value_int = 9223372036854775807>()\n y = Relu(x) }"},
    {18, "g (float[2,1] x, int64[N] s) => (y) { y = Expand(x, s) }"},
    {18, "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = 16>(x, s) }"},
    {18, "g (float[2,3] x, int64[2,3] i) => (y) { y = GatherElements<axis = -2>(x, i) }"},
    {18, "g (float[0,4] x) => (y) { y = ArgMax<axis = 1>(x) }"},
    {18, "g (float[0,0] x) => (y) { y = ArgMax<axis = 1>(x) }"},
    {18, "g (float[2,3] x) => (y) <int64 a = {-2}> { y = CumSum(x, a) }"},
    {18,
     "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 1, scan_output_directions = [1],\n"
     "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }"},
};

TEST(InferGuards, LetRightNodesPass) { expect_right(kRight); }

TEST(InferGuards, RefuseCrowdsOfOutputs) {
  Model model;
  model.ir_version = 10;
  Value* x = model.graph->add_input("x", Type::tensor(DType::f32, Shape(64, Dim::known(1))));
  Node* node = model.graph->add_node("Split", {x});
  node->opset = 13;
  for (int i = 0; i < 20000; ++i) node->add_output(fmt::format("y{}", i));
  Problems problems;
  infer_types(model, problems);
  ASSERT_EQ(problems.errors(), 1);
  EXPECT_EQ(problems.list()[0].message, "it has 1 input and 20000 outputs, more than is supported");
}

// All operators in all versions, with whatever a hostile file could hold.
TEST(InferGuards, SurviveRandomNodes) {
  constexpr uint64_t kRounds = 30;
  const auto schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  ASSERT_GT(schemas.size(), 600);
  size_t right = 0, refused = 0;
  for (uint64_t round = 0; round < kRounds; ++round) {
    for (const onnx::OpSchema& schema : schemas) {
      Model model = RandomNode(round).make(schema);
      Problems problems;
      infer_types(model, problems);
      ++(problems.empty() ? right : refused);
      for (const Problem& problem : problems.list()) {
        EXPECT_FALSE(problem.message.empty()) << schema.Name();
      }
    }
  }
  // Both ends are reached: what is made is neither all nonsense nor all harmless.
  EXPECT_GT(right, schemas.size() * kRounds / 5);
  EXPECT_GT(refused, schemas.size() * kRounds / 5);
}

}  // namespace
}  // namespace onward
