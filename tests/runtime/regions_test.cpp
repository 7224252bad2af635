// Steps in which shapes depend on data: a plan up to there, one for what follows.

#include "runtime/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "opset/lift.h"
#include "runtime/program.h"
#include "train/trainer.h"

namespace onward {
namespace {

/// Rows of x w whose sum is positive are what the loss sees; their number depends on the data.
const std::string kChosenRows = R"(
<ir_version: 8, opset_import: ["" : 18, "ai.onnx.preview.training" : 1]>
g (float[N,4] x) => (float[M,3] y) <float[4,3] w = normal(1, 0.5), float[3] b = {-0.1, -0.2, -0.3},
    int64[1] one = {1}, int64[1] flat = {-1}> {
  product = MatMul(x, w)
  h = Add(product, b)
  t = Tanh(h)
  sums = ReduceSum<keepdims = 0>(t, one)
  positive = Relu(sums)
  places = NonZero(positive)
  rows = Reshape(places, flat)
  y = Gather(t, rows)
}
training_info {
  algorithm step () => (float loss, float[4,3] new_w, float[3] new_b, int64 new_n)
      <float rate = {0.1}, int64 n = {0}, int64 next = {1}> {
    square = Mul(y, y)
    loss = ReduceMean<keepdims = 0>(square)
    dw, db = ai.onnx.preview.training.Gradient<xs = ["w", "b"], zs = ["x"], y = "loss">(w, b, x)
    sw = Mul(rate, dw)  new_w = Sub(w, sw)
    sb = Mul(rate, db)  new_b = Sub(b, sb)
    new_n = Add(n, next)
  }
  update_binding { w <- new_w  b <- new_b  n <- new_n }
})";

/// Two levels: what is chosen of the first choice.
const std::string kChosenTwice = R"(
<ir_version: 8, opset_import: ["" : 18, "ai.onnx.preview.training" : 1]>
g (float[N,4] x) => (float[M,4] y) <float[4] w = {1, -1, 0.5, 2}, int64[1] one = {1}, int64[1] flat = {-1}> {
  h = Mul(x, w)
  s = ReduceSum<keepdims = 0>(h, one)
  p = Relu(s)
  places = NonZero(p)
  rows = Reshape(places, flat)
  first = Gather(h, rows)
  e = Exp(first)
  s2 = ReduceMax<keepdims = 0>(first, one)
  below = Less(s2, limit)
  limit_of = Cast<to = 1>(below)
  places2 = NonZero(limit_of)
  rows2 = Reshape(places2, flat)
  y = Gather(e, rows2)
}
training_info {
  algorithm step () => (float loss, float[4] new_w) <float rate = {0.1}> {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    sw = Mul(rate, dw)  new_w = Sub(w, sw)
  }
  update_binding { w <- new_w }
})";

std::string with_limit(std::string text) {
  return text.replace(text.find("int64[1] one"), 0, "float limit = {2}, ");
}

/// Training by the reference interpreter, node by node.
class Interpreted {
 public:
  explicit Interpreted(const Model& model) : step_(join_step(model, 0)), state_(model) {
    replace_gradients(step_);
  }

  TensorMap step(const TensorMap& inputs) {
    eval::Environment environment;
    for (const Value* input : step_.graph->inputs()) {
      environment.emplace(input, inputs.at(input->name()));
    }
    for (const Value* value : step_.graph->initializers()) {
      if (state_.has(value->name())) environment.emplace(value, state_.get(value->name()));
    }
    eval::run_graph(*step_.graph, environment);
    TensorMap outputs;
    for (const Value* output : step_.graph->outputs()) {
      outputs.emplace(output->name(), environment.at(output).tensor());
    }
    for (const Binding& binding : step_.training[0].update_bindings) {
      state_.set(binding.target->name(), environment.at(binding.source).tensor());
    }
    return outputs;
  }

  const State& state() const { return state_; }

 private:
  Model step_;
  State state_;
};

Tensor rows_of(int64_t count, uint64_t seed) {
  std::vector<float> numbers;
  seed *= 0x9E3779B97F4A7C15ULL;
  for (int64_t i = 0; i < count * 4; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    numbers.push_back(
        static_cast<float>(static_cast<double>((seed ^ seed >> 21) >> 33) / (1U << 29) - 2));
  }
  return Tensor::of<float>({count, 4}, numbers);
}

void expect_near(const Tensor& got, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(got.type(), wanted.type()) << what;
  for (int64_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got.number(i), wanted.number(i), 1e-5 * std::max(1.0, std::fabs(wanted.number(i))))
        << what << ", element " << i;
  }
}

class PlansOfRegions : public testing::TestWithParam<std::string> {};

TEST_P(PlansOfRegions, ComputeWhatTheInterpreterDoes) {
  const Model model = parse_text(GetParam());
  Trainer trainer(parse_text(GetParam()));
  Interpreted reference(model);
  const int64_t sizes[] = {7, 7, 12, 7, 9, 30, 30};
  for (uint64_t i = 0; i < std::size(sizes); ++i) {
    const TensorMap inputs = {{"x", rows_of(sizes[i], i + 1)}};
    const TensorMap wanted = reference.step(inputs);
    ASSERT_TRUE(std::isfinite(wanted.at("loss").number(0))) << "step " << i;
    const TensorMap got = trainer.step(inputs);
    for (const char* name : {"loss", "y"}) expect_near(got.at(name), wanted.at(name), name);
    for (const std::string& name : reference.state().names()) {
      expect_near(trainer.state().get(name), reference.state().get(name), name);
    }
  }
  EXPECT_NE(trainer.explain().find("one by one"), std::string::npos) << trainer.explain();
}

INSTANTIATE_TEST_SUITE_P(All, PlansOfRegions,
                         testing::Values(kChosenRows, with_limit(kChosenTwice)));

TEST(GraphsInsideOfNodes, RunOnPlansOfTheirOwn) {
  constexpr const char* kScan = R"(
    <ir_version: 8, opset_import: ["": 18]>
    g (float[T,N] x) => (float[N] last, float[T,N] y) <float[3] first = {0, 0, 0}, float[1] rate = {0.5}> {
      last, y = Scan<num_scan_inputs = 1, body = cell (float[N] s, float[N] x_) => (float[N] s_out, float[N] y_) {
        scaled = Mul(s, rate)
        s_out = Add(scaled, x_)
        y_ = Tanh(s_out)
      }>(first, x)
    })";
  Model model = parse_text(kScan);
  lift(model);
  State state(model);
  Program program(std::move(model));
  const TensorMap got =
      program.run({{"x", Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}}, state);
  for (int64_t i = 0; i < 3; ++i) {
    const double last = (static_cast<double>(i + 1) / 2 + static_cast<double>(i + 4)) / 2 +
                        static_cast<double>(i + 7);
    EXPECT_NEAR(got.at("last").number(i), last, 1e-5);
    EXPECT_NEAR(got.at("y").number(6 + i), std::tanh(last), 1e-5);
  }
  const std::string told = program.explain();
  EXPECT_NE(told.find("the graph 'cell' inside of a node"), std::string::npos) << told;
  EXPECT_NE(told.find("tiles"), std::string::npos) << told;
}

TEST(RegionsOfAStep, AreThree) {
  Model model = parse_text(kChosenRows);
  Model step = join_step(model, 0);
  replace_gradients(step);
  step.graph->inputs()[0]->type = Type::tensor(DType::f32, Shape{Dim::known(5), Dim::known(4)});
  infer_step_types(step);
  ASSERT_FALSE(can_be_planned(*step.graph));
  const auto regions = cut_into_regions(step);
  ASSERT_TRUE(regions);
  EXPECT_TRUE(can_be_planned(*regions->planned.graph));
  ASSERT_EQ(regions->dynamic.graph->nodes().size(), 1U);
  EXPECT_EQ(regions->dynamic.graph->nodes().front()->op, "NonZero");
  EXPECT_EQ(regions->rest.graph->outputs().size(), step.graph->outputs().size());
  const size_t all = regions->planned.graph->nodes().size() +
                     regions->dynamic.graph->nodes().size() + regions->rest.graph->nodes().size();
  EXPECT_EQ(all, step.graph->nodes().size());
}

/// Micro-batches of other sizes, and of other numbers of chosen rows, count by their examples.
TEST(RegionsOfAStep, Accumulate) {
  const Model model = parse_text(kChosenRows);
  const TensorMap batches[] = {
      {{"x", rows_of(6, 1)}}, {{"x", rows_of(2, 5)}}, {{"x", rows_of(6, 9)}}};
  Trainer trainer(parse_text(kChosenRows));
  trainer.step_accumulated(batches);
  const Tensor before = *model.graph->initializers()[0]->tensor();
  std::vector<double> wanted(static_cast<size_t>(before.size()), 0);
  for (const TensorMap& batch : batches) {
    Trainer alone(parse_text(kChosenRows));
    alone.step(batch);
    const double weight = static_cast<double>(batch.at("x").dims()[0]) / 14;
    const Tensor after = alone.state().get("w");
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] += weight * after.number(static_cast<int64_t>(i));
    }
  }
  const Tensor got = trainer.state().get("w");
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(got.number(static_cast<int64_t>(i)), wanted[i], 1e-6);
  }
}

/// A loss that is refused behind the border changes nothing before it either.
TEST(RegionsOfAStep, AreRefusedWhole) {
  Trainer trainer(parse_text(kChosenRows));
  const Tensor before = trainer.state().get("w");
  // No row is positive: the mean over none.
  EXPECT_THROW(trainer.step({{"x", Tensor::of<float>({2, 4}, std::vector<float>(8, 0))}}), Error);
  const Tensor after = trainer.state().get("w");
  EXPECT_EQ(before.bytes().size(), after.bytes().size());
  EXPECT_TRUE(std::ranges::equal(before.bytes(), after.bytes()));
  EXPECT_EQ(trainer.state().get("n").number(0), 0);
}

}  // namespace
}  // namespace onward
