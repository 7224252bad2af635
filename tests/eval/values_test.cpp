// Values that are no tensors, and graphs inside of nodes.

#include <gtest/gtest.h>

#include "eval/interpreter.h"
#include "format/load.h"
#include "ir/memory_limit.h"
#include "onward/error.h"

namespace onward::eval {
namespace {

Model read(const std::string& signature, const std::string& nodes) {
  return parse_text("<ir_version: 10, opset_import: [\"\" : 21]> g " + signature + " {" + nodes +
                    "}");
}

TEST(RuntimeValue, SaysWhatItIs) {
  const RuntimeValue tensor = Tensor::scalar<float>(1);
  const RuntimeValue sequence =
      RuntimeSequence{.element = Type::tensor(DType::f32), .values = {tensor, tensor}};
  const RuntimeValue nothing = RuntimeOptional{.element = sequence.type(), .value = {}};
  const RuntimeValue map = RuntimeMap{.keys = Tensor::of<int64_t>({1}, {7}), .values = {tensor}};
  EXPECT_EQ(to_string(tensor.type()), "f32[]");
  EXPECT_EQ(to_string(sequence.type()), "seq(f32[...])");
  EXPECT_EQ(to_string(nothing.type()), to_string(Type::optional(sequence.type())));
  EXPECT_EQ(to_string(map.type()), "map(i64, f32[])");
  EXPECT_EQ(sequence.sequence().values.size(), 2U);
  try {
    sequence.tensor();
    FAIL() << "a sequence was taken for a tensor";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "a value is seq(f32[...]), not a tensor");
  }
}

/// Runs no graph, but says what it was asked for.
class Recorder final : public SubgraphRunner {
 public:
  std::vector<RuntimeValue> run(const Call& call) const override {
    asked.push_back(call.graph.name);
    iterations.push_back(call.random.iterations);
    captured.push_back(call.captured(*call.graph.inside()->inputs()[0])->tensor().number(0));
    std::vector<RuntimeValue> results(call.arguments.begin() + 1, call.arguments.end());
    return results;
  }

  mutable std::vector<std::string> asked;
  mutable std::vector<uint64_t> iterations;
  mutable std::vector<double> captured;
};

TEST(Subgraphs, AreRunByTheRunnerThatIsGiven) {
  const Model model =
      read("(float x, int64 m) => (float y)",
           "y = Loop<body = step (int64 i, bool go, float s) => (bool on, float t) {"
           " on = Identity(go)  t = Add(s, x) }>(m, , x)");
  Environment environment;
  environment.emplace(model.graph->inputs()[0], Tensor::scalar<float>(3));
  environment.emplace(model.graph->inputs()[1], Tensor::scalar<int64_t>(2));
  const Recorder recorder;
  run_graph(*model.graph, environment, {.random = {.seed = 1}, .subgraphs = &recorder});
  EXPECT_EQ(recorder.asked, (std::vector<std::string>{"step", "step"}));
  EXPECT_EQ(recorder.captured, (std::vector<double>{3, 3}));
  EXPECT_NE(recorder.iterations[0], recorder.iterations[1]);
  EXPECT_NE(recorder.iterations[0], 0U);
  EXPECT_EQ(environment.at(model.graph->outputs()[0]).tensor().number(0), 3);
}

TEST(Subgraphs, GiveAllThatTheMemoryHoldsAndNoMore) {
  const Model model =
      read("(float[1000] x, int64 m) => (float[] y)",
           "s, y = Loop<body = step (int64 i, bool go, float[1000] s) => (bool on, float[1000] t, "
           "float[1000] u) { on = Identity(go)  t = Neg(s)  u = Identity(t) }>(m, , x)");
  Environment environment;
  environment.emplace(model.graph->inputs()[0],
                      Tensor::of<float>({1000}, std::vector<float>(1000, 1)));
  environment.emplace(model.graph->inputs()[1], Tensor::scalar<int64_t>(INT64_MAX));
  const int64_t before = memory_limit();
  set_memory_limit(1 << 20);
  EXPECT_THROW(run_graph(*model.graph, environment), Error);
  set_memory_limit(before);
}

TEST(Subgraphs, TellWhereTheyFail) {
  const Model model = read("(float[2] x, bool c) => (float[] y)",
                           "y = If<then_branch = t () => (float[] a) { s = Constant<value = "
                           "int64[1] {3}>()  a = Reshape(x, s) },"
                           " else_branch = e () => (float[] b) { b = Neg(x) }>(c)");
  Environment environment;
  environment.emplace(model.graph->inputs()[0], Tensor::of<float>({2}, {1, 2}));
  environment.emplace(model.graph->inputs()[1],
                      Tensor::from_bytes(DType::boolean, {}, std::make_shared<std::string>(1, 1)));
  try {
    run_graph(*model.graph, environment);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("in node 'a' (Reshape) of f32[2], i64[1]"), std::string::npos)
        << message;
    EXPECT_NE(message.find("in node 'y' (If) of bool[]"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace onward::eval
