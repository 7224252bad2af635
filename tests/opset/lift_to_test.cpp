// Lifting to an opset that is not the newest: forms stop there, and what it can't say is refused.

#include <gtest/gtest.h>

#include "format/load.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "text/text.h"

namespace onward {
namespace {

std::string lifted(int64_t from, int64_t to, const std::string& graph) {
  Problems ignored;
  Model model =
      parse_text("<ir_version: 8, opset_import: [\"\" : " + std::to_string(from) + "]> " + graph,
                 {.problems = &ignored});
  lift_to(model, to);
  EXPECT_EQ(model.opset(""), to);
  std::string text;
  for (const auto& node : model.graph->nodes()) {
    EXPECT_EQ(node->opset, to) << node->op;
    text += to_text(*node) + "\n";
  }
  return text;
}

struct LiftToCase {
  int64_t from, to;
  const char* graph;
  const char* nodes;
};

constexpr LiftToCase kCases[] = {
    // Axes became an input of ReduceSum with opset 13, and of ReduceMean with 18.
    {9, 17,
     "g (float[2,3] x) => (y) { a = ReduceSum<axes = [1]>(x) y = ReduceMean<axes = [0]>(a) }",
     "a_axes = Constant<value = int64[1] {1}>()\n"
     "a = ReduceSum(x, a_axes)\n"
     "y = ReduceMean<axes = [0]>(a)\n"},
    {9, 18, "g (float[2,3] x) => (y) { y = ReduceMean<axes = [0]>(x) }",
     "y_axes = Constant<value = int64[1] {0}>()\ny = ReduceMean(x, y_axes)\n"},
    {10, 17, "g (float[2] x) => (y) { y = Clip<min = 0.0>(x) }",
     "y_min = Constant<value = float {0}>()\ny_max = Constant<value = float {3.4028235e+38}>()\n"
     "y = Clip(x, y_min, y_max)\n"},
    {17, 17, "g (float[2] x) => (y) { y = Relu(x) }", "y = Relu(x)\n"},
};

TEST(LiftTo, StopsAtTheOpset) {
  for (const LiftToCase& each : kCases) {
    EXPECT_EQ(lifted(each.from, each.to, each.graph), each.nodes);
  }
}

TEST(LiftTo, RefusesWhatIsNewer) {
  try {
    lifted(20, 17, "g (float[2] x) => (y) { y = Gelu(x) }");
    FAIL() << "it was lifted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Gelu of opset 20 is newer than opset 17 (node 'y')"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace onward
