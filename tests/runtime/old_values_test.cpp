// Whoever reads a state reads what it was when the step began, wherever its new value is computed;
// and a plan that runs again finds its memory, though a larger one moved it.

#include <gtest/gtest.h>

#include "format/load.h"
#include "train/trainer.h"

namespace onward {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Tensor& tensor) {
  Numbers all;
  for (int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.number(i));
  return all;
}

struct Reader {
  const char* name;
  const char* nodes;  // from x = {1, 1} and the states a = {1, 2} and c [2,2] of zeros
  const char* results;
  Numbers a, c;  // after one step
};

const Reader kReaders[] = {
    {"a loop over another shape, later",
     "new_a = Mul(a, two) big = Add(c, ones) new_c = Sub(big, a)",
     "float[2] new_a, float[2,2] new_c",
     {2, 4},
     {0, -1, 0, -1}},
    {"a loop over another shape, that needs the new value too",
     "new_a = Mul(a, two) big = Sub(new_a, c) new_c = Sub(big, a)",
     "float[2] new_a, float[2,2] new_c",
     {2, 4},
     {1, 2, 1, 2}},
    {"a node that is no loop, later",
     "new_a = Mul(a, two) s = ReduceSum<keepdims = 0>(a) new_c = Add(c, s)",
     "float[2] new_a, float[2,2] new_c",
     {2, 4},
     {3, 3, 3, 3}},
    {"a view that is read later",
     "row = Reshape(a, shape) new_a = Mul(a, two) s = MatMul(row, ones) new_c = Add(c, s)",
     "float[2] new_a, float[2,2] new_c",
     {2, 4},
     {3, 3, 3, 3}},
    {"a view that a loop reads later",
     "row = Reshape(a, shape) new_a = Mul(a, two) new_c = Add(c, row)",
     "float[2] new_a, float[2,2] new_c",
     {2, 4},
     {1, 2, 1, 2}},
    {"a sum between the two",
     "s = ReduceSum<keepdims = 0>(a) new_a = Mul(a, s) new_c = Add(c, a)",
     "float[2] new_a, float[2,2] new_c",
     {3, 6},
     {1, 2, 1, 2}},
    {"a product of the old and the new value",
     "new_a = Add(a, x) square = Mul(new_a, a) new_c = Add(c, square)",
     "float[2] new_a, float[2,2] new_c",
     {2, 3},
     {2, 6, 2, 6}},
};

TEST(OldValues, AreWhatEveryReaderGets) {
  for (const Reader& tested : kReaders) {
    Trainer trainer(parse_text(std::string(R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (float[2] x) => (float[2] y) <
    float[2] a = {1, 2}, float[2,2] c = {0, 0, 0, 0}, float two = {2}, float[2,2] ones = {1, 1, 1, 1},
    int64[2] shape = {1, 2}> {
  y = Add(x, a)
}
training_info {
  algorithm step () => ()") + tested.results +
                               ") { " + tested.nodes +
                               " } update_binding { a <- new_a  c <- new_c } }"));
    const TensorMap outputs = trainer.step({{"x", Tensor::of<float>({2}, {1, 1})}});
    EXPECT_EQ(numbers(trainer.state().get("a")), tested.a) << tested.name;
    EXPECT_EQ(numbers(trainer.state().get("c")), tested.c) << tested.name;
    EXPECT_EQ(numbers(outputs.at("y")), (Numbers{2, 3})) << tested.name;
  }
}

const std::string kRunning = R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (double[N] x) => (double[N] y) <double w = {2}, double running = {10}> { y = Mul(x, w) }
training_info {
  algorithm step () => (double loss, double new_w, double new_running) {
    loss = ReduceSum<keepdims = 0>(y)
    new_running = ReduceMax<keepdims = 0>(x)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(dw, running)
    new_w = Sub(w, change)
  }
  update_binding { w <- new_w  running <- new_running }
})";

TEST(OldValues, OfWhatABatchChangesReachTheUpdate) {
  // The gradient is the sum of x; the update scales it by the running value of the step before.
  Trainer trainer(parse_text(kRunning));
  trainer.step({{"x", Tensor::of<double>({2}, {1, 3})}});
  EXPECT_EQ(numbers(trainer.state().get("w")), (Numbers{2 - 4 * 10}));
  EXPECT_EQ(numbers(trainer.state().get("running")), (Numbers{3}));
  trainer.step({{"x", Tensor::of<double>({2}, {1, 1})}});
  EXPECT_EQ(numbers(trainer.state().get("w")), (Numbers{2 - 4 * 10 - 2 * 3}));
}

TEST(OldValues, OfWhatEachMicroBatchChangesReachTheUpdate) {
  Trainer trainer(parse_text(kRunning));
  const TensorMap batches[] = {{{"x", Tensor::of<double>({2}, {1, 3})}},
                               {{"x", Tensor::of<double>({2}, {2, 2})}}};
  trainer.step_accumulated(batches);
  EXPECT_EQ(numbers(trainer.state().get("w")), (Numbers{2 - 4 * 10}));
}

/// Loops over several tiles that write a new value, and read the old one after it.
TEST(OldValues, AreReadAfterTheNewOnesInOneLoop) {
  struct Loop {
    const char* nodes;
    float d;  // where it was 1, and a was 3
  };
  constexpr Loop kLoops[] = {
      {"new_a = Mul(d, two) new_d = Sub(new_a, a)", -1},
      {"new_a = Mul(d, two) half = Div(new_a, two) b = Mul(a, a) new_d = Sub(b, half)", 8},
      {"new_a = Add(a, d) n = Neg(new_a) t = Add(n, two) u = Add(t, a) new_d = Mul(u, a)", 3},
  };
  for (const auto& [nodes, expected] : kLoops) {
    SCOPED_TRACE(nodes);
    Trainer trainer(parse_text(std::string(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[10000] x) => (float[10000] y) <
    float[10000] a = full(3), float[10000] d = full(1), float two = {2}> { y = Add(x, a) }
training_info {
  algorithm step () => (float[10000] new_a, float[10000] new_d) { )") +
                               nodes + " } update_binding { a <- new_a  d <- new_d } }"));
    trainer.step({{"x", Tensor::of<float>({10'000}, std::vector<float>(10'000, 1))}});
    EXPECT_EQ(numbers(trainer.state().get("d")), Numbers(10'000, expected));
  }
}

TEST(Plans, FindTheirMemoryAfterALargerOneMovedIt) {
  Trainer trainer(parse_text(R"(
<ir_version: 8, opset_import: ["" : 17]>
g (double[N] x) => (double[N] y) {
  a = Add(x, x)
  s = ReduceSum<keepdims = 0>(a)
  b = Mul(a, s)
  m = ReduceMax<keepdims = 0>(b)
  y = Sub(b, m)
})"));
  for (const int64_t n : {40'000, 400'000, 40'000, 1'000'000, 400'000, 40'000}) {
    const auto count = static_cast<size_t>(n);
    std::vector<double> x(count, 0);
    x[count / 2] = 1;
    const TensorMap outputs = trainer.infer({{"x", Tensor::of<double>({n}, x)}});
    const auto y = outputs.at("y").data<double>();
    EXPECT_EQ(y[0], -4) << n;
    EXPECT_EQ(y[count / 2], 0) << n;
  }
}

}  // namespace
}  // namespace onward
