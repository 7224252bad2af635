// What lifting refuses, because the newest form can't say the same.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "format/load.h"
#include "onward/error.h"
#include "opset/lift.h"

namespace onward {
namespace {

struct RefusalCase {
  const char* name;
  int opset;
  const char* signature;
  const char* node;
  const char* reason;
};

constexpr const char* kNormalizationInputs =
    "(float[N,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y)";

constexpr RefusalCase kRefusals[] = {
    {"axis of an unknown rank", 6, "(float[] a, float[3] b) => (y)",
     "y = Add<broadcast = 1, axis = 1>(a, b)",
     "Add of opset 6 cannot be upgraded: axis is 1, and the rank of 'a' is not known"},
    {"axis beyond the rank", 6, "(float[2,3] a, float[3] b) => (y)",
     "y = Add<broadcast = 1, axis = 2>(a, b)",
     "Add of opset 6 cannot be upgraded: axis 2 leaves no room for rank 1 below rank 2"},
    {"negative axis", 6, "(float[2,3] a, float[3] b) => (y)",
     "y = Add<broadcast = 1, axis = -1>(a, b)",
     "Add of opset 6 cannot be upgraded: a negative axis (-1) has no meaning there"},
    {"slope of an unknown rank", 6, "(float[] x, float[3] s) => (y)", "y = PRelu(x, s)",
     "PRelu of opset 6 cannot be upgraded: the channels of 'x' (f32[...]) can't be matched with "
     "'s' "
     "(f32[3])"},
    {"type name", 1, "(float[N] x) => (y)", "y = Cast<to = \"FLOAT99\">(x)",
     "Cast of opset 1 cannot be upgraded: 'FLOAT99' is not the name of an element type"},
    {"infinity in a small float", 19, "(float[N] x) => (y)", "y = Cast<to = 18>(x)",
     "Cast of opset 19 cannot be upgraded: what infinity becomes in float8e4m3fnuz has changed "
     "since"},
    {"integers in Erf", 9, "(int32[N] x) => (y)", "y = Erf(x)",
     "Erf of opset 9 cannot be upgraded: 'x' is of type int32, which is no longer allowed"},
    {"integers in ReduceLogSum", 18, "(int64[N] x) => (y)", "y = ReduceLogSum(x)",
     "ReduceLogSum of opset 18 cannot be upgraded: 'x' is of type int64, which is no longer "
     "allowed"},
    {"order of paddings", 1, "(float[3,2] x) => (y)", "y = Pad<paddings = [0, 0, 2, 0]>(x)",
     "Pad of opset 1 cannot be upgraded: the standard is ambiguous about the order of paddings "
     "[0,0,2,0]"},
    {"Split without axis", 1, "(float[4] x) => (a, b)", "a, b = Split(x)",
     "Split of opset 1 cannot be upgraded: it has no axis, and the standard defines no default"},
    {"Reshape without shape", 1, "(float[4] x) => (y)", "y = Reshape(x)",
     "Reshape of opset 1 cannot be upgraded: it has no shape"},
    {"computed padding", 10, "(float[1,1,4] x, float[1,1,3] w) => (y)",
     "y = ConvTranspose<output_shape = [5]>(x, w)",
     "ConvTranspose of opset 10 cannot be upgraded: an odd padding that is computed goes to the "
     "other "
     "side since"},
    {"BatchNormalization that trains by its attribute", 6, kNormalizationInputs,
     "y = BatchNormalization(x, s, b, m, v)",
     "BatchNormalization of opset 6 cannot be upgraded: is_test is 0, and its training mode does "
     "not "
     "say how the running variance is computed"},
    {"BatchNormalization that trains by its outputs", 9, kNormalizationInputs,
     "y, m1, v1 = BatchNormalization(x, s, b, m, v)",
     "BatchNormalization of opset 9 cannot be upgraded: its training mode does not say how the "
     "running "
     "variance is computed"},
    {"BatchNormalization by activation that trains", 7, kNormalizationInputs,
     "y, m1, v1 = BatchNormalization<spatial = 0>(x, s, b, m, v)",
     "BatchNormalization of opset 7 cannot be upgraded: its training mode does not say how the "
     "running variance is computed"},
    {"mask of floats", 7, "(float[N] x) => (y, mask)", "y, mask = Dropout(x)",
     "Dropout of opset 7 cannot be upgraded: what its mask 'mask' holds is not defined"},
    {"mask of bools", 10, "(float[N] x) => (y, mask)", "y, mask = Dropout(x)",
     "Dropout of opset 10 cannot be upgraded: what its mask 'mask' holds is not defined"},
    {"fractional p", 1, "(float[1,1,4] x) => (y)", "y = GlobalLpPool<p = 2.5>(x)",
     "GlobalLpPool of opset 1 cannot be upgraded: p is 2.5, which is not an integer"},
    {"scales of a vector of unknown size", 19, "(uint8[N] x, float[2] s) => (y)",
     "y = DequantizeLinear<axis = 0>(x, s)",
     "DequantizeLinear of opset 19 cannot be upgraded: what a scale f32[2] means for 'x' u8[N] has "
     "changed since"},
    {"scales along an axis that a vector does not have", 19, "(uint8[2] x, float[2] s) => (y)",
     "y = DequantizeLinear(x, s)",
     "DequantizeLinear of opset 19 cannot be upgraded: what a scale f32[2] means for 'x' u8[2] has "
     "changed since"},
    {"Scan of more than there is", 8, "(float[1,4] x) => (y)",
     "y = Scan<num_scan_inputs = 2, body = b (float e) => (float s) { s = Neg(e) }>(\"\", x)",
     "Scan of opset 8 cannot be upgraded: num_scan_inputs is 2, and it has 1 inputs and 1 outputs"},
    {"Resize by scales that are not known", 10, "(float[4] x, float[1] s) => (y)",
     "y = Resize(x, s)",
     "Resize of opset 10 cannot be upgraded: whether it samples up or down is known only when it "
     "runs"},
    {"withdrawn operator", 11, "(float[4] x, int64[2] i, float[2] u) => (y)",
     "y = Scatter(x, i, u)",
     "Scatter of opset 11 has been withdrawn: ScatterElements has replaced it"},
    {"unknown operator", 7, "(float[N] x) => (y)", "y = Nonsense(x)",
     "Nonsense of opset 7 does not exist"},
    {"operator of a later version", 7, "(float[N] x) => (y)", "y = Gelu(x)",
     "Gelu of opset 7 does not exist"},
    {"opset of the future", 99, "(float[N] x) => (y)", "y = Relu(x)",
     "Relu of opset 99 is newer than opset 28"},
    {"stray attribute with a later meaning", 1, "(float[1,1,4] x) => (y)",
     "y = AveragePool<kernel_shape = [2], count_include_pad = 1>(x)",
     "AveragePool of opset 1 cannot be upgraded: it has an attribute 'count_include_pad' that this "
     "version does not have"},
    {"attribute of the wrong kind", 6, "(float[N] x) => (y)", "y = Clip<min = 1>(x)",
     "Clip of opset 6 cannot be upgraded: its attribute 'min' has the wrong type"},
    {"missing attribute", 6, "(float[N] x) => (y)", "y = Unsqueeze(x)",
     "Unsqueeze of opset 6 cannot be upgraded: it has no attribute 'axes'"},
    {"missing input", 6, "(float[N] x) => (y)", "y = Add(x)",
     "Add of opset 6 cannot be upgraded: it has 1 inputs"},
    {"input left out", 6, "(float[N] x) => (y)", "y = Add(\"\", x)",
     "Add of opset 6 cannot be upgraded: its input 0 is left out"},
};

/// Results need no types here.
Model read(const std::string& text) {
  Problems ignored;
  return parse_text(text, {.problems = &ignored});
}

Model model_of(int64_t opset, const std::string& signature, const std::string& nodes) {
  return read(fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> g {} {{ {} }}", opset,
                          signature, nodes));
}

class LiftRefusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(LiftRefusal, IsExplained) {
  const RefusalCase& given = GetParam();
  Model model = model_of(given.opset, given.signature, given.node);
  const auto refused = lift_where_possible(model);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].reason, given.reason);
  EXPECT_EQ(refused[0].node, model.graph->nodes().front().get());
  EXPECT_EQ(model.opset(""), given.opset);
  EXPECT_EQ(model.graph->nodes().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, LiftRefusal, testing::ValuesIn(kRefusals), [](const auto& each) {
  std::string name = each.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(LiftRefusal, NamesEveryNodeAtOnce) {
  Model model = model_of(6, "(float[1,1,4] x, float[1,1,3] w) => (y)", R"(
      [up1] a = ConvTranspose<output_shape = [5]>(x, w)
      b = ConvTranspose<output_shape = [6]>(a, w)
      c = Relu(b)
      y, m = Dropout(c)
      w = Mul(m, m))");
  try {
    lift(model);
    FAIL() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "some operators cannot be upgraded to the latest opset:\n"
                 "  ConvTranspose of opset 6 cannot be upgraded: an odd padding that is computed "
                 "goes to the other side since (node 'up1', 'b')\n"
                 "  Dropout of opset 6 cannot be upgraded: what its mask 'm' holds is not defined "
                 "(node 'y')");
  }
}

TEST(LiftRefusal, LeavesTheImportsAndLiftsTheOthers) {
  Model model = model_of(6, "(float[1,1,4] x, float[1,1,3] w) => (y)",
                         R"(a = ConvTranspose<output_shape = [5]>(x, w)
                            y = Relu(a))");
  EXPECT_EQ(lift_where_possible(model).size(), 1u);
  EXPECT_EQ(model.opset(""), 6);
  EXPECT_EQ(model.graph->nodes().front()->opset, 6);
  EXPECT_EQ(model.graph->nodes().back()->opset, newest_opset(""));
}

}  // namespace
}  // namespace onward
