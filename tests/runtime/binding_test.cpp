// What a run does to the state: bindings all at once, in place where nobody notices, micro-batches,
// and nothing at all where a loss is not finite.

#include <gtest/gtest.h>

#include "format/load.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

Trainer trainer_of(const std::string& text) { return Trainer(parse_text(text)); }

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> all;
  for (int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.number(i));
  return all;
}

using Numbers = std::vector<double>;

const std::string kHeader =
    "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.preview.training\" : 1]>\n";

TEST(BindingTest, TwoStatesSwapTheirValues) {
  Trainer trainer = trainer_of(kHeader + R"(
g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Add(x, a) }
training_info {
  algorithm step () => (float[2] new_a, float[2] new_b) {
    new_a = Identity(b)
    new_b = Identity(a)
  }
  update_binding { a <- new_a  b <- new_b }
})");
  const TensorMap inputs = {{"x", Tensor::of<float>({2}, {0, 0})}};
  const TensorMap outputs = trainer.step(inputs);
  EXPECT_EQ(numbers(trainer.state().get("a")), (Numbers{3, 4}));
  EXPECT_EQ(numbers(trainer.state().get("b")), (Numbers{1, 2}));
  EXPECT_EQ(numbers(outputs.at("y")), (Numbers{1, 2})) << "the inference graph saw the old a";
}

TEST(BindingTest, AStateTakesTheOldValueOfOneThatABatchChanges) {
  Trainer trainer = trainer_of(kHeader + R"(
g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Add(x, a) }
training_info {
  algorithm step () => (float[2] c) { c = Identity(b) }
  update_binding { a <- c  b <- y }
})");
  trainer.step({{"x", Tensor::of<float>({2}, {10, 20})}});
  EXPECT_EQ(numbers(trainer.state().get("a")), (Numbers{3, 4}));
  EXPECT_EQ(numbers(trainer.state().get("b")), (Numbers{11, 22}));
}

TEST(BindingTest, AnOldValueIsReadAfterTheNewOneIsComputed) {
  // c's update needs the old a, after a's own update was computed from it.
  Trainer trainer = trainer_of(kHeader + R"(
g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] c = {0, 0}> { y = Add(x, a) }
training_info {
  algorithm step () => (float[2] new_a, float[2] new_c, float[2] old) <float two = {2}> {
    new_a = Mul(a, two)
    doubled = Mul(new_a, two)
    new_c = Sub(doubled, a)
    old = Identity(a)
  }
  update_binding { a <- new_a  c <- new_c }
})");
  const TensorMap outputs = trainer.step({{"x", Tensor::of<float>({2}, {0, 0})}});
  EXPECT_EQ(numbers(trainer.state().get("a")), (Numbers{2, 4}));
  EXPECT_EQ(numbers(trainer.state().get("c")), (Numbers{3, 6}));
  EXPECT_EQ(numbers(outputs.at("old")), (Numbers{1, 2}));
}

TEST(BindingTest, AReshapedViewOfTheStateKeepsItsOldValue) {
  Trainer trainer = trainer_of(kHeader + R"(
g (float[2] x) => (float[1,2] row) <float[2] a = {1, 2}, int64[2] shape = {1, 2}> {
  row = Reshape(a, shape)
}
training_info {
  algorithm step () => (float[2] new_a) { new_a = Add(a, x) }
  update_binding { a <- new_a }
})");
  const TensorMap outputs = trainer.step({{"x", Tensor::of<float>({2}, {10, 10})}});
  EXPECT_EQ(numbers(outputs.at("row")), (Numbers{1, 2}));
  EXPECT_EQ(numbers(trainer.state().get("a")), (Numbers{11, 12}));
}

const std::string kLinear = kHeader + R"(
linear (double[N,1] x) => (double[N,1] y) <double[1,1] w = {0.25}> { y = MatMul(x, w) }
training_info {
  algorithm step (double[N,1] label) => (double loss, double[1,1] w_new, int64 T_new) <
      double rate = {0.03125}, int64 T = {0}, int64 one = {1}> {
    difference = Sub(label, y)
    square = Mul(difference, difference)
    loss = ReduceMean<keepdims = 0>(square)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
    change = Mul(rate, dw)
    w_new = Sub(w, change)
    T_new = Add(T, one)
  }
  update_binding { w <- w_new  T <- T_new }
})";

TensorMap batch(const std::vector<double>& x, const std::vector<double>& label) {
  const auto n = static_cast<int64_t>(x.size());
  return {{"x", Tensor::of<double>({n, 1}, x)}, {"label", Tensor::of<double>({n, 1}, label)}};
}

TEST(BindingTest, MicroBatchesAddUpToOneBatch) {
  Trainer whole = trainer_of(kLinear), parts = trainer_of(kLinear);
  whole.step(batch({1, 2, 3, 4}, {2, 4, 6, 8}));
  const std::vector<TensorMap> micro = {batch({1, 2}, {2, 4}), batch({3, 4}, {6, 8})};
  parts.step_accumulated(micro);
  EXPECT_NEAR(parts.state().get("w").number(0), whole.state().get("w").number(0), 1e-15);
  EXPECT_EQ(parts.state().get("T").integer(0), 1) << "one update, one step";
}

TEST(BindingTest, ALossThatIsNotFiniteChangesNothing) {
  Trainer trainer = trainer_of(kLinear);
  trainer.step(batch({1}, {2}));
  const double before = trainer.state().get("w").number(0);
  try {
    trainer.step(batch({1}, {std::numeric_limits<double>::infinity()}));
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'loss' became inf"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(trainer.state().get("w").number(0), before);
  EXPECT_EQ(trainer.state().get("T").integer(0), 1);
}

TEST(BindingTest, BatchesOfOtherShapesGetTheirOwnPlans) {
  Trainer trainer = trainer_of(kLinear);
  for (const size_t n : {3U, 1U, 3U, 2U}) {
    const double w = trainer.state().get("w").number(0);
    const Numbers x(n, 1.0), label(n, 2.0);
    const TensorMap outputs = trainer.step(batch(x, label));
    EXPECT_NEAR(outputs.at("loss").number(0), (2 - w) * (2 - w), 1e-15);
  }
  EXPECT_EQ(trainer.state().get("T").integer(0), 4);
}

// A new value is computed in place only where nobody reads the old one afterwards.
struct OldValue {
  std::string name, algorithm;
  Numbers a, c;
};

TEST(BindingTest, WhoeverReadsAnOldValueLaterGetsIt) {
  const OldValue kReaders[] = {
      {"in the same tile",
       R"(
algorithm step () => (float[2] new_a, float[2] new_c) <float two = {2}, float[2] c = {0, 0}> {
  new_a = Mul(a, two)
  doubled = Mul(new_a, two)
  new_c = Sub(doubled, a)
})",
       {2, 4},
       {3, 6}},
      {"a node outside of the loop",
       R"(
algorithm step () => (float[2] new_a, float[1] new_c) <float two = {2}, float[1] c = {0}> {
  new_a = Mul(a, two)
  new_c = ReduceMean<axes = [0]>(a)
})",
       {2, 4},
       {1.5}},
      {"by way of a view",
       R"(
algorithm step () => (float[2] new_a, float[1,1] new_c)
    <float two = {2}, float[2,1] ones = {1, 1}, int64[2] shape = {1, 2}, float[1,1] c = {0}> {
  row = Reshape(a, shape)
  new_a = Mul(a, two)
  new_c = MatMul(row, ones)
})",
       {2, 4},
       {3}},
      {"a view that is bound itself",
       R"(
algorithm step () => (float[2] new_a, float[1,2] new_c)
    <float two = {2}, int64[2] shape = {1, 2}, float[1,2] c = {0, 0}> {
  new_a = Mul(a, two)
  new_c = Reshape(a, shape)
})",
       {2, 4},
       {1, 2}},
      {"a second binding of the new value",
       R"(
algorithm step () => (float[2] new_a, float[2] new_c) <float two = {2}, float[2] c = {0, 0}> {
  new_a = Mul(a, two)
  new_c = Identity(new_a)
})",
       {2, 4},
       {2, 4}},
  };
  for (const OldValue& reader : kReaders) {
    Trainer trainer = trainer_of(kHeader + R"(
g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = Add(x, x) }
training_info {)" + reader.algorithm +
                                 "\nupdate_binding { a <- new_a  c <- new_c } }");
    trainer.step({{"x", Tensor::of<float>({2}, {0, 0})}});
    EXPECT_EQ(numbers(trainer.state().get("a")), reader.a) << reader.name;
    EXPECT_EQ(numbers(trainer.state().get("c")), reader.c) << reader.name;
  }
}

TEST(BindingTest, ACounterThatTheForwardPassReadsCountsSteps) {
  Trainer trainer = trainer_of(kHeader + R"(
g (float[N] x) => (float[N] y) <float w = {1}> { y = Mul(x, w) }
training_info {
  algorithm step () => (float loss, float new_w, float new_T) <float T = {0}, float one = {1}> {
    new_T = Add(T, one)
    scaled = Mul(y, new_T)
    loss = ReduceMean<keepdims = 0>(scaled)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "T"], y = "loss">(w, x, T)
    new_w = Sub(w, dw)
  }
  update_binding { w <- new_w  T <- new_T }
})");
  const TensorMap batch = {{"x", Tensor::of<float>({2}, {1, 1})}};
  const std::vector<TensorMap> batches(3, batch);
  trainer.step_accumulated(batches);
  EXPECT_EQ(trainer.state().get("T").number(0), 1);
  EXPECT_EQ(trainer.state().get("w").number(0), 0);
}

TEST(BindingTest, RandomNumbersDifferFromNodeToNodeAndFromStepToStep) {
  Trainer trainer = trainer_of(kHeader + R"(
g (float[64] x) => (float[64] y, float[64] z) <float half = {0.5}, bool on = {1}, float[2] a = {0, 0}> {
  y = Dropout(x, half, on)
  z = Dropout(x, half, on)
}
training_info {
  algorithm step () => (float[2] new_a) { new_a = RandomNormal<shape = [2]>() }
  update_binding { a <- new_a }
})");
  const TensorMap batch = {{"x", Tensor::of<float>({64}, std::vector<float>(64, 1.0F))}};
  const TensorMap outputs = trainer.step(batch);
  EXPECT_NE(numbers(outputs.at("y")), numbers(outputs.at("z")));
  const Numbers first = numbers(trainer.state().get("a"));
  const TensorMap next = trainer.step(batch);
  EXPECT_NE(numbers(trainer.state().get("a")), first);
  EXPECT_NE(numbers(next.at("y")), numbers(outputs.at("y")));
}

struct Refusal {
  std::string name;
  TensorMap inputs;
  std::string words;
};

TEST(BindingTest, InputsThatDoNotFitAreRefused) {
  const Refusal kRefusals[] = {
      {"missing", {{"x", Tensor::of<double>({1, 1}, {1})}}, "missing inputs: 'label'"},
      {"another type",
       {{"x", Tensor::of<float>({1, 1}, {1})}, {"label", Tensor::of<double>({1, 1}, {1})}},
       "input 'x' is f64[N,1], not f32[1,1]"},
      {"another shape",
       {{"x", Tensor::of<double>({1, 2}, {1, 2})}, {"label", Tensor::of<double>({1, 1}, {1})}},
       "input 'x' is f64[N,1], not f64[1,2]"},
  };
  for (const Refusal& refusal : kRefusals) {
    Trainer trainer = trainer_of(kLinear);
    try {
      trainer.step(refusal.inputs);
      FAIL() << refusal.name << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(refusal.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace onward
