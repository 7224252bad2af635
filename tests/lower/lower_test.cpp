// What lowering makes of a step: its inputs and outputs, and what it refuses.

#include "lower/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "eval/interpreter.h"
#include "format/load.h"
#include "format/save.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

std::string signature(const Model& model) {
  std::string text;
  const auto list = [&](std::span<Value* const> values) {
    for (const Value* value : values) {
      text += fmt::format(" {} {}{}", to_string(value->type), value->name(),
                          value->initializer() ? " =" : "");
    }
  };
  list(model.graph->inputs());
  text += " ->";
  list(model.graph->outputs());
  return text.substr(1);
}

std::string header(int opset = 17, int ir_version = 8) {
  return fmt::format(
      "<ir_version: {}, opset_import: [\"\" : {}, \"ai.onnx.preview.training\" : 1]>\n", ir_version,
      opset);
}

/// A step of its own `algorithm` over the inference graph y = x w.
std::string training(const std::string& algorithm, const std::string& bindings) {
  return header() + R"(
model (float[N,2] x) => (float[N,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }
training_info {
  algorithm step )" +
         algorithm + "\n  update_binding { " + bindings + " }\n}";
}

TensorMap run(const Model& model, const TensorMap& inputs) {
  eval::Environment environment;
  for (const Value* input : model.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given != inputs.end()) environment.emplace(input, given->second);
  }
  const auto results = eval::outputs_of(*model.graph, std::move(environment));
  TensorMap outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace(model.graph->outputs()[i]->name(), results[i]);
  }
  return outputs;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.dims(), b.dims());
  for (int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.number(i), b.number(i), tolerance);
}

const char* const kDescent = R"((float[N,3] label) => (float loss, float[2,3] w_new)
  <float R = {0.125}> {
    e = Sub(y, label)
    q = Mul(e, e)
    loss = ReduceMean<keepdims = 0>(q)
    d = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
    s = Mul(R, d)
    w_new = Sub(w, s)
  })";

TEST(LowerStep, GivesStateInAndOut) {
  const Model model = parse_text(training(kDescent, "w <- w_new"));
  const LoweredStep lowered = lower_step(model, 0);
  EXPECT_EQ(signature(lowered.model),
            "f32[N,2] x f32[N,3] label f32[2,3] w = -> f32[] loss f32[N,3] y f32[2,3] w.next");
  EXPECT_EQ(lowered.model.opsets, (std::vector<OpsetImport>{{"", 17}}));
  EXPECT_EQ(lowered.model.ir_version, 8);
  EXPECT_TRUE(lowered.notes.empty());
  EXPECT_TRUE(lowered.model.training.empty());
}

TEST(LowerStep, ComputesWhatTheTrainerDoes) {
  const Model model = parse_text(training(kDescent, "w <- w_new"));
  // As a file, so that what is saved is what is run.
  const Model lowered = load_bytes(to_bytes(lower_step(model, 0).model));
  Trainer trainer(parse_text(training(kDescent, "w <- w_new")));
  TensorMap inputs = {{"x", Tensor::of<float>({2, 2}, {1, -1, 2, 0.5})},
                      {"label", Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})}};
  for (int step = 0; step < 3; ++step) {
    const TensorMap expected = trainer.step(inputs);
    const TensorMap outputs = run(lowered, inputs);
    expect_near(outputs.at("loss"), expected.at("loss"), 1e-5);
    expect_near(outputs.at("w.next"), trainer.state().get("w"), 1e-6);
    inputs.insert_or_assign("w", outputs.at("w.next"));
  }
}

struct StateCase {
  const char* name;
  std::string model;
  const char* signature;
};

const StateCase kStates[] = {
    {"two that change places", header() + R"(
model (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Add(x, a) }
training_info { algorithm step () => (float[2] c) { c = Identity(b) }
  update_binding { a <- c b <- y } })",
     "f32[2] x f32[2] a = f32[2] b = -> f32[2] a.next f32[2] b.next"},
    {"one result for two", header() + R"(
model (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Add(x, a) }
training_info { algorithm step () => (float[2] c) { c = Add(y, b) }
  update_binding { a <- c b <- c } })",
     "f32[2] x f32[2] a = f32[2] b = -> f32[2] y f32[2] a.next f32[2] b.next"},
    {"state that is written but not read", header() + R"(
model (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = Add(x, x) }
training_info { algorithm step () => (float[2] c) { c = Neg(y) } update_binding { a <- c } })",
     "f32[2] x f32[2] a = -> f32[2] y f32[2] a.next"},
    {"state of another info", header() + R"(
model (float[2] x) => (float[2] y)
  <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {5, 6}> { y = Add(x, a) }
training_info { algorithm first () => (float[2] n) { n = Add(y, b) } update_binding { a <- n } }
training_info { algorithm second () => (float[2] m) { m = Add(y, c) } update_binding { b <- m } })",
     "f32[2] x f32[2] a = f32[2] b = -> f32[2] y f32[2] a.next"},
    {"an input that is given its name already inside", header() + R"(
model (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { "a.next" = Neg(x)
  y = Add("a.next", a) }
training_info { algorithm step () => (float[2] c) { c = Neg(y) } update_binding { a <- c } })",
     "f32[2] x f32[2] a = -> f32[2] y f32[2] a.next"},
    {"initializers that IR 3 lists as inputs", header(9, 3) + R"(
model (float[2] x, float[2] k = {5, 6}, float[2] a = {1, 2}) => (float[2] y) {
  z = Mul(x, k)
  y = Add(z, a) }
training_info { algorithm step () => (float[2] c) { c = Neg(y) } update_binding { a <- c } })",
     "f32[2] x f32[2] a = -> f32[2] y f32[2] a.next"},
    {"an input with a default", header() + R"(
model (float[2] x, float[2] k = {5, 6}) => (float[2] y) <float[2] a = {1, 2}> {
  z = Mul(x, k)
  y = Add(z, a) }
training_info { algorithm step () => (float[2] c) { c = Neg(y) } update_binding { a <- c } })",
     "f32[2] x f32[2] k = f32[2] a = -> f32[2] y f32[2] a.next"},
};

TEST(LowerStep, NamesStateByItsRole) {
  for (const StateCase& tested : kStates) {
    Problems ignored;  // IR 3 has no training infos, but files of the draft had
    Model model = parse_text(tested.model, {.problems = &ignored});
    const Model lowered = load_bytes(to_bytes(lower_step(model, 0).model));
    EXPECT_EQ(signature(lowered), tested.signature) << tested.name;
    model.ir_version = 8;
    Trainer trainer(std::move(model));
    const TensorMap inputs = {{"x", Tensor::of<float>({2}, {10, 20})}};
    const TensorMap expected = trainer.step(inputs, 0);
    for (const auto& [name, tensor] : run(lowered, inputs)) {
      const bool is_state = name.ends_with(".next");
      expect_near(
          tensor,
          is_state ? trainer.state().get(name.substr(0, name.size() - 5)) : expected.at(name), 0);
    }
  }
}

TEST(LowerStep, SaysWhereRandomNumbersDiffer) {
  struct Drawing {
    const char* op;
    const char* node;
    size_t notes;
  };
  for (const Drawing& tested :
       {Drawing{"RandomNormalLike", "n = RandomNormalLike<seed = 3.0>(w)", 1},
        Drawing{"Dropout", "n = Dropout(w, half, on)", 1},
        Drawing{"Dropout", "n = Dropout(w, half)", 0}}) {
    const Model model = parse_text(
        training(std::string("() => (float[2,3] w_new) <float half = {0.5}, bool on = {1}> { ") +
                     tested.node + " w_new = Add(w, n) }",
                 "w <- w_new"));
    const LoweredStep lowered = lower_step(model, 0);
    ASSERT_EQ(lowered.notes.size(), tested.notes) << tested.node;
    if (tested.notes == 0) continue;
    EXPECT_EQ(
        lowered.notes[0],
        fmt::format("node 'n' ({}) uses the runtime's random numbers, which differ from Onward's",
                    tested.op));
  }
}

struct RefusalCase {
  const char* name;
  std::string model;
  LowerOptions options;
  const char* words;
};

const RefusalCase kRefusals[] = {
    {"an old opset",
     training(kDescent, "w <- w_new"),
     {.opset = 12},
     "opset 12 is not supported: choose 13 to "},
    {"an operator of nobody",
     header() + R"(
model (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = mine.Odd(x) }
training_info { algorithm step () => (float[2] c) { c = Neg(y) } update_binding { a <- c } })",
     {},
     "mine.Odd"},
    {"an output of the name of state's next",
     header() + R"(
model (float[2] x) => (float[2] "a.next") <float[2] a = {1, 2}> { "a.next" = Neg(x) }
training_info { algorithm step () => (float[2] c) { c = Neg("a.next") } update_binding { a <- c } })",
     {},
     "two values would be called 'a.next'"},
    {"unknown ranks",
     header() + R"(
model (float[] x) => (float[] y) <float[2,3,3] w = normal(1, 1)> { y = MatMul(x, w) }
training_info { algorithm step () => (float loss, float[2,3,3] c) {
  loss = ReduceSum<keepdims = 0>(y)
  d = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
  c = Sub(w, d) } update_binding { w <- c } })",
     {},
     "the rank of 'x' must be known\n"
     "declare the shapes of the model's inputs, with names for sizes that are open"},
    {"an operator that is younger",
     header(20) + R"(
model (string[2] x) => (string[2] y) <float[1] a = {1}> { y = StringConcat(x, x) }
training_info { algorithm step () => (float[1] c) { c = Neg(a) } update_binding { a <- c } })",
     {.opset = 15},
     "the step cannot be written in opset 15:\n"
     "  node 'y' (StringConcat): it was added in opset 20\n"
     "opset 20 can express it"},
};

TEST(LowerStep, RefusesWithAReason) {
  for (const RefusalCase& tested : kRefusals) {
    try {
      Problems ignored;
      lower_step(parse_text(tested.model, {.problems = &ignored}), 0, tested.options);
      ADD_FAILURE() << tested.name << " was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(tested.words), std::string::npos)
          << tested.name << ": " << error.what();
    }
  }
}

struct SameCase {
  const char* size;  // of the image
  const char* attributes;
  const char* pads;  // what is written, or the refusal
};

const SameCase kSame[] = {
    {"6", "kernel_shape = [1], strides = [3]", "0,0"},
    {"6", "kernel_shape = [2], strides = [2]", "0,0"},
    {"7", "kernel_shape = [2], strides = [2]", "0,1"},
    {"6", "kernel_shape = [2], dilations = [3]", "1,2"},
    {"S", "kernel_shape = [2], strides = [2]", "left to the runtime"},
    {"S", "kernel_shape = [2], dilations = [3]", "the size of 'x' must be known"},
    {"S", "kernel_shape = [1], strides = [3]", "the size of 'x' must be known"},
};

TEST(Lower, SaysPaddingThatRuntimesReadInSeveralWays) {
  for (const auto& [size, attributes, pads] : kSame) {
    const Model model = parse_text(header() + fmt::format(R"(
model (float[N,1,{}] x) => (float[] y) <float w = {{1}}>
{{ p = MaxPool<auto_pad = "SAME_UPPER", {}>(x)  y = Mul(p, w) }}
training_info {{
  algorithm step () => (float w_new) {{
    loss = ReduceSum<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    w_new = Sub(w, dw) }}
  update_binding {{ w <- w_new }}
}})",
                                                          size, attributes));
    std::string written;
    try {
      const LoweredStep lowered = lower_step(model, 0, {});
      for (const auto& node : lowered.model.graph->nodes()) {
        if (node->op != "MaxPool") continue;
        const auto* list = node->get<std::vector<int64_t>>("pads");
        const bool left = node->string_or("auto_pad", "NOTSET") == "SAME_UPPER";
        written = left ? "left to the runtime" : fmt::format("{}", fmt::join(*list, ","));
      }
    } catch (const Error& error) {
      written = error.what();
    }
    EXPECT_NE(written.find(pads), std::string::npos)
        << size << ", " << attributes << ": " << written;
  }
}

}  // namespace
}  // namespace onward
