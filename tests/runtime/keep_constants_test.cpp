// What follows from constants alone is computed once, and nothing else is.

#include <gtest/gtest.h>

#include "format/load.h"
#include "opset/lift.h"
#include "runtime/program.h"

namespace onward {
namespace {

struct Kept {
  const char* name;
  const char* text;  // of a graph that reads x
  bool is_kept;
};

const Kept kKept[] = {
    {"weights in a layout",
     "(float[1,1,3,3] x) => (y) <float[1,1,2,2] w = {1, 2, 3, 4}> { y = Conv(x, w) }", true},
    {"random numbers of a constant's shape",
     "(float[1,1,3,3] x) => (y) <float[3] w = {1, 2, 3}> {\n"
     "r = RandomNormalLike(w) y = Add(x, r) }",
     false},
    {"a tensor much larger than what it follows from",
     "(float[1,1,3,3] x) => (y) <float[1] w = {2}, int64[2] s = {2048, 2048}> {\n"
     "l = Expand(w, s) m = ReduceMax<keepdims = 0>(l) y = Add(x, m) }",
     false},
};

Model model_of(const std::string& text) {
  Problems ignored;  // results need no types here
  Model model =
      parse_text("<ir_version: 8, opset_import: [\"\" : 17]> g " + text, {.problems = &ignored});
  lift(model);
  return model;
}

TEST(KeepConstants, ARunAfterTheFirstComputesTheRest) {
  for (const Kept& tested : kKept) {
    Program program(model_of(tested.text));
    State state{Model()};
    const Tensor x = Tensor::of<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const Tensor twice = Tensor::of<float>({1, 1, 3, 3}, {2, 4, 6, 8, 10, 12, 14, 16, 18});
    const Tensor first = program.run({{"x", x}}, state).at("y");
    const Tensor other = program.run({{"x", twice}}, state).at("y");
    const Tensor again = program.run({{"x", x}}, state).at("y");
    EXPECT_NE(first.number(0), other.number(0)) << tested.name;
    EXPECT_EQ(first.bytes().size(), again.bytes().size()) << tested.name;
    for (int64_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first.number(i), again.number(i)) << tested.name;
    }
    const std::string told = program.explain();
    EXPECT_EQ(told.find("once") != std::string::npos, tested.is_kept) << tested.name << told;
  }
}

TEST(KeepConstants, RandomNumbersAreDrawnAgain) {
  Program program(model_of(kKept[1].text));
  State state{Model()};
  const Tensor x = Tensor::of<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor first = program.run({{"x", x}}, state, {.step = 1}).at("y");
  const Tensor second = program.run({{"x", x}}, state, {.step = 2}).at("y");
  EXPECT_NE(first.number(0), second.number(0));
}

}  // namespace
}  // namespace onward
