// Operands that ONNX's own inference believes, whatever their shapes: each is refused where its
// shape is known, and left to the run where it is not.

#include "infer/operand_shapes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "format/load.h"
#include "infer/infer.h"

namespace onward {
namespace {

struct OperandCase {
  const char* name;
  const char* inputs;
  const char* node;
  const char* message;
};

const OperandCase kCases[] = {
    {"Conv bias", "float[2,3,8,8] x, float[16,3,3,3] w, float[5] b", "y = Conv(x, w, b)",
     "input 2 (B): it has 5 elements for 16 outputs"},
    {"Conv bias of rank 2", "float[2,3,8,8] x, float[16,3,3,3] w, float[16,1] b",
     "y = Conv(x, w, b)", "input 2 (B): it has rank 2, not 1"},
    {"Conv channels", "float[2,8,8,8] x, float[16,1,3,3] w", "y = Conv(x, w)",
     "input 1 (W): it is for 1 channels in 1 group, but the input has 8 channels"},
    {"Conv groups that do not divide", "float[2,3,8,8] x, float[4,1,3,3] w",
     "y = Conv<group = 3>(x, w)", "input 1 (W): its dimension 0, 4, is not divisible by 3 groups"},
    {"Conv of no groups", "float[2,3,8,8] x, float[4,3,3,3] w", "y = Conv<group = 0>(x, w)",
     "input 1 (W): attribute 'group' is 0, but must be positive"},
    {"Conv weights of another rank", "float[2,1,8,8] x, float[16] w",
     "y = Conv<kernel_shape = [3, 3]>(x, w)",
     "input 1 (W): it has rank 1, but the input has rank 4"},
    {"Conv kernel_shape", "float[2,3,8,8] x, float[4,3,3,3] w",
     "y = Conv<kernel_shape = [3, 2]>(x, w)",
     "input 1 (W): its shape [4,3,3,3] contradicts kernel_shape [3,2]"},
    {"Conv kernel of nothing", "float[2,1,8,8] x, float[4,1,3,0] w", "y = Conv(x, w)",
     "input 1 (W): its kernel is empty"},
    {"Gemm bias", "float[2,8] x, float[64,8] w, float[5] b", "y = Gemm<transB = 1>(x, w, b)",
     "input 2 (C): its shape [5] can't be broadcast to [2,64]"},
    {"Gemm bias of rank 3", "float[2,8] x, float[8,4] w, float[1,2,4] b", "y = Gemm(x, w, b)",
     "input 2 (C): its shape [1,2,4] can't be broadcast to [2,4]"},
    {"LayerNormalization scale", "float[2,8] x, float[3] s", "y = LayerNormalization(x, s)",
     "input 1 (Scale): its shape [3] can't be broadcast to [2,8]"},
    {"LayerNormalization scale of nothing", "float[2,8] x, float[0] s",
     "y = LayerNormalization(x, s)", "input 1 (Scale): its shape [0] can't be broadcast to [2,8]"},
    {"LayerNormalization bias", "float[2,8] x, float[8] s, float[2,2,8] b",
     "y = LayerNormalization(x, s, b)",
     "input 2 (B): its shape [2,2,8] can't be broadcast to [2,8]"},
    {"InstanceNormalization scale", "float[2,3,8,8] x, float[1] s, float[1] b",
     "y = InstanceNormalization(x, s, b)", "input 1 (scale): it has 1 elements for 3 channels"},
    {"BatchNormalization variance",
     "float[2,3,8] x, float[3] s, float[3] b, float[3] m, float[2] v",
     "y = BatchNormalization(x, s, b, m, v)",
     "input 4 (input_var): it has 2 elements for 3 channels"},
    {"PRelu slope", "float[2,8] x, float[3] s", "y = PRelu(x, s)",
     "input 1 (slope): its shape [3] can't be broadcast to [2,8]"},
    {"labels", "float[2,4,5] x, int64[2,4] l", "y = SoftmaxCrossEntropyLoss(x, l)",
     "input 1 (labels): labels of shape [2,4] do not fit scores of shape [2,4,5]"},
    {"weights of classes", "float[2,4] x, int64[2] l, float[5] w",
     "y = NegativeLogLikelihoodLoss(x, l, w)", "input 2 (weight): it has 5 elements for 4 classes"},
    {"indices beside the data", "float[2,3] x, int64[3,3] i", "y = GatherElements<axis = 1>(x, i)",
     "input 1 (indices): its dimension 0 is 3, but that of the data only 2"},
    {"an index that is not there", "float[2,3] x",
     "i = Constant<value_ints = [0, -4]>() y = Gather<axis = 1>(x, i)",
     "input 1 (indices): index -4 is out of range for a dimension of 3"},
    {"a shape of more elements", "float[2,3] x",
     "s = Constant<value_ints = [3, 3]>() y = Reshape(x, s)",
     "input 1 (shape): 6 elements cannot be reshaped to [3,3]"},
    {"repeats", "float[2,3] x, int64[3] r", "y = Tile(x, r)",
     "input 1 (repeats): it has 3 elements for 2 dimensions"},
    {"updates", "float[2,3] x, int64[1,3] i, float[1,2] u", "y = ScatterElements(x, i, u)",
     "input 2 (updates): its shape [1,2] is not that of 'i', [1,3]"},
    {"pads", "float[2,3] x, int64[3] p", "y = Pad(x, p)",
     "input 1 (pads): it has 3 elements for 4 pads"},
    {"values of OneHot", "int64[2] x, int64 d, float[3] v", "y = OneHot(x, d, v)",
     "input 2 (values): it has 3 elements for 2 values"},
    {"a ratio of two numbers", "float[2] x, float[2] r", "y = Dropout(x, r)",
     "input 1 (ratio): it has 2 elements, not one"},
    {"a range of many starts", "int64[2] x, int64 l, int64 d", "y = Range(x, l, d)",
     "input 0 (start): it has 2 elements, not one"},
    {"more starts than dimensions", "float[2] x, int64[2] s, int64[2] e", "y = Slice(x, s, e)",
     "input 1 (starts): it has 2 elements for rank 1"},
    {"sizes of parts", "float[6] x, int64[3] s", "y, z = Split(x, s)",
     "input 1 (split): it has 3 elements for 2 outputs"},
    {"an axis given twice", "float[2,3] x",
     "a = Constant<value_ints = [1, -1]>() y = ReduceSum(x, a)",
     "input 1 (axes): axis -1 is given twice"},
    {"an axis that is not there", "float[2,3] x",
     "a = Constant<value_ints = [2]>() y = ReduceMax(x, a)",
     "input 1 (axes): axis 2 is out of range for rank 2"},
};

Problems inferred(const std::string& inputs, const char* node) {
  Problems ignored, problems;
  Model model =
      parse_text(fmt::format("<ir_version: 10, opset_import: [\"\" : 21]>\ng ({}) => (y) {{ {} }}",
                             inputs, node),
                 {.problems = &ignored});
  infer_types(model, problems);
  return problems;
}

/// "float[2,3] x" with nothing said of its shape.
std::string without_sizes(std::string inputs) {
  for (size_t open = inputs.find('['); open != std::string::npos;
       open = inputs.find('[', open + 2)) {
    inputs.erase(open + 1, inputs.find(']', open) - open - 1);
  }
  return inputs;
}

TEST(OperandShapes, AreRefusedWhereTheyDoNotFit) {
  for (const OperandCase& test : kCases) {
    SCOPED_TRACE(test.name);
    const Problems problems = inferred(test.inputs, test.node);
    ASSERT_EQ(problems.errors(), 1);
    EXPECT_EQ(problems.list()[0].message, test.message);
    EXPECT_EQ(problems.list()[0].rule, "shape");
  }
}

TEST(OperandShapes, AreLeftOpenWhereTheyAreUnknown) {
  for (const OperandCase& test : kCases) {
    const std::string node = test.node;
    if (node.find("group = 0") != std::string::npos) continue;  // wrong for every shape
    SCOPED_TRACE(test.name);
    EXPECT_EQ(inferred(without_sizes(test.inputs), test.node).errors(), 0);
  }
}

TEST(OperandShapes, OfOptimizersAreThoseOfTheParameters) {
  Problems ignored, problems;
  Model model = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : 1]>\n"
      "g (float r, int64 t, float[2] x, float[3] gx, float[2] v) => (y, w) {\n"
      "y, w = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 1.0, mode = \"standard\",\n"
      "norm_coefficient = 0.0>(r, t, x, gx, v) }",
      {.problems = &ignored});
  infer_types(model, problems);
  ASSERT_EQ(problems.errors(), 1);
  EXPECT_EQ(problems.list()[0].message, "input 3 (inputs): its shape [3] is not that of 'x', [2]");
}

}  // namespace
}  // namespace onward
