// Whole training steps on the reference kernels: joined, differentiated, run, and written back.

#include "grad/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "onward/error.h"

namespace onward {
namespace {

using Tensors = std::map<std::string, Tensor>;

/// Runs one step and writes its results back, as the bindings say; gives its outputs.
Tensors run_step(Model& step, const Tensors& inputs) {
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    if (const auto given = inputs.find(input->name()); given != inputs.end()) {
      environment.emplace(input, given->second);
    }
  }
  eval::run_graph(*step.graph, environment);
  Tensors outputs;
  for (const Value* output : step.graph->outputs())
    outputs.emplace(output->name(), environment.at(output).tensor());
  for (const Binding& binding : step.training[0].update_bindings) {
    step.graph->set_initializer(binding.target, environment.at(binding.source).tensor());
  }
  return outputs;
}

Model step_of(const Model& model, size_t info) {
  Model step = join_step(model, info);
  replace_gradients(step);
  return step;
}

std::string linear_model(const std::string& optimizer, const std::string& slots,
                         const std::string& results, const std::string& bindings) {
  return R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
linear (double[N,1] x) => (double[N,1] y) <double[1,1] w = {0.25}> { y = MatMul(x, w) }
training_info {
  algorithm step (double[N,1] label) => (double loss, double[1,1] w_new, int64 T_new)" +
         results + ") <double R = {0.03125}, int64 T = {0}, int64 one = {1}" + slots + R"(> {
    difference = Sub(label, y)
    square = Mul(difference, difference)
    loss = ReduceMean<keepdims = 0>(square)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
    )" + optimizer +
         R"(
    T_new = Add(T, one)
  }
  update_binding { w <- w_new  T <- T_new )" +
         bindings + " } }";
}

const Tensors kData = {{"x", Tensor::of<double>({5, 1}, {1, 2, 3, 4, 5})},
                       {"label", Tensor::of<double>({5, 1}, {2, 4, 6, 8, 10})}};

/// For the model y = w x on that data: the loss and its derivative.
double loss_at(double w) {
  double sum = 0;
  for (int i = 1; i <= 5; ++i) sum += (2 * i - w * i) * (2 * i - w * i);
  return sum / 5;
}
double slope_at(double w) {
  double sum = 0;
  for (int i = 1; i <= 5; ++i) sum += -2.0 * i * (2 * i - w * i);
  return sum / 5;
}

/// Ten steps of the file's training against ten steps of `update(w, gradient, step)`.
template <typename Update>
void expect_ten_steps(const std::string& text, Update update) {
  Model step = step_of(parse_text(text), 0);
  double w = 0.25;
  for (int t = 0; t < 10; ++t) {
    const Tensors outputs = run_step(step, kData);
    EXPECT_NEAR(outputs.at("loss").number(0), loss_at(w), 1e-12) << "step " << t;
    w = update(w, slope_at(w), t);
    EXPECT_NEAR(outputs.at("w_new").number(0), w, 1e-12) << "step " << t;
  }
}

TEST(Step, Adagrad) {
  double h = 0;
  expect_ten_steps(
      linear_model(
          "w_new, H_new = ai.onnx.preview.training.Adagrad<decay_factor = 0.5, epsilon = 0.125, "
          "norm_coefficient = 0.25>(R, T, w, dw, H)",
          ", double[1,1] H = {0}", ", double[1,1] H_new", "H <- H_new"),
      [&](double w, double g, int t) {
        g += 0.25 * w;
        h += g * g;
        return w - 0.03125 / (1 + 0.5 * t) * g / (std::sqrt(h) + 0.125);
      });
}

TEST(Step, Adam) {
  double v = 0, h = 0;
  expect_ten_steps(
      linear_model("w_new, V_new, H_new = ai.onnx.preview.training.Adam<alpha = 0.5, beta = 0.75, "
                   "epsilon = 0.125, "
                   "norm_coefficient = 0.25, norm_coefficient_post = 0.0625>(R, T, w, dw, V, H)",
                   ", double[1,1] V = {0}, double[1,1] H = {0}",
                   ", double[1,1] V_new, double[1,1] H_new", "V <- V_new  H <- H_new"),
      [&](double w, double g, int t) {
        g += 0.25 * w;
        v = 0.5 * v + 0.5 * g;
        h = 0.75 * h + 0.25 * g * g;
        const double rate =
            t == 0 ? 0.03125 : 0.03125 * std::sqrt(1 - std::pow(0.75, t)) / (1 - std::pow(0.5, t));
        return (1 - 0.0625) * (w - rate * v / (std::sqrt(h) + 0.125));
      });
}

TEST(Step, MomentumAndNesterov) {
  for (const bool nesterov : {false, true}) {
    double v = 0;
    expect_ten_steps(
        linear_model(
            std::string(
                "w_new, V_new = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 0.25, "
                "norm_coefficient = 0.125, mode = \"") +
                (nesterov ? "nesterov" : "standard") + "\">(R, T, w, dw, V)",
            ", double[1,1] V = {0}", ", double[1,1] V_new", "V <- V_new"),
        [&](double w, double g, int t) {
          g += 0.125 * w;
          v = 0.5 * v + (t == 0 ? 1 : 0.25) * g;
          return w - 0.03125 * (nesterov ? g + 0.5 * v : v);
        });
  }
}

std::string example(const std::string& name) {
  std::ifstream file("examples/training/" + name + ".onnxtxt");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Step, TheLinearExampleLearns) {
  Model step = step_of(parse_text(example("linear")), 0);
  const Tensors data = {{"x", Tensor::of<float>({5, 1}, {1, 2, 3, 4, 5})},
                        {"label", Tensor::of<float>({5, 1}, {2, 4, 6, 8, 10})}};
  const double first = run_step(step, data).at("loss").number(0);
  double last = first;
  for (int i = 0; i < 200; ++i) last = run_step(step, data).at("loss").number(0);
  EXPECT_EQ(first, 44);
  EXPECT_LT(last, first / 100);
}

TEST(Step, ASecondTrainingInfoIsAStepOfItsOwn) {
  const Model model = parse_text(example("gan"));
  ASSERT_EQ(model.training.size(), 2u);
  for (size_t info = 0; info < 2; ++info) {
    const Model step = step_of(model, info);
    EXPECT_EQ(step.training[0].update_bindings.size(), model.training[info].update_bindings.size());
  }
  EXPECT_THROW(join_step(model, 2), Error);
}

TEST(Step, GradientsAreTakenAtTheValuesGiven) {
  // d (a^3) at a = 2 b, though a itself is an input.
  Model step = step_of(parse_text(R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
cube (double a) => (double y) { s = Mul(a, a)  y = Mul(s, a) }
training_info {
  algorithm slope (double b) => (double d) {
    c = Add(b, b)
    d = ai.onnx.preview.training.Gradient<xs = ["a"], y = "y">(c)
  }
}
)"),
                       0);
  const Tensors outputs =
      run_step(step, {{"a", Tensor::scalar<double>(1)}, {"b", Tensor::scalar<double>(1.5)}});
  EXPECT_EQ(outputs.at("y").number(0), 1);
  EXPECT_EQ(outputs.at("d").number(0), 27);
}

TEST(Step, IsLiftedToTheNewestForms) {
  // Axes are an attribute in opset 17, an input since 18; rules and kernels know the newest form.
  Model step = step_of(parse_text(R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
rows (double[2,2] x) => (double[2] y) { m = ReduceMean<axes = [1], keepdims = 0>(x)  y = Mul(m, m) }
training_info {
  algorithm slope () => (double[2,2] d) {
    d = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x)
  }
}
)"),
                       0);
  const Tensors outputs = run_step(step, {{"x", Tensor::of<double>({2, 2}, {1, 3, 5, 7})}});
  ASSERT_EQ(outputs.at("y").dims(), std::vector<int64_t>{2});
  EXPECT_EQ(outputs.at("y").number(1), 36);
  EXPECT_EQ(outputs.at("d").number(0), 2);
  EXPECT_EQ(outputs.at("d").number(3), 6);
}

TEST(Step, BindsAGradientAsItIs) {
  Model step = step_of(parse_text(R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
square (double[2] x) => (double[2] y) <double[2] slope = {0, 0}> { y = Mul(x, x) }
training_info {
  algorithm step () => (double[2] d) {
    d = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x)
  }
  update_binding { slope <- d }
}
)"),
                       0);
  ASSERT_EQ(step.training[0].update_bindings.size(), 1U);
  EXPECT_EQ(step.training[0].update_bindings[0].source, step.graph->outputs()[0]);
  run_step(step, {{"x", Tensor::of<double>({2}, {3, -1})}});
  EXPECT_EQ(step.training[0].update_bindings[0].target->tensor()->number(0), 6);
}

TEST(Step, GivesEachValueOnce) {
  // y is an output of the inference graph, of the algorithm, and the source of a binding.
  const Model step = step_of(parse_text(R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
m (double[2] x) => (double[2] y) <double[2] a = {0, 0}> { y = Add(x, a) }
training_info { algorithm step () => (double[2] y, double[2] z) { z = Neg(y) } update_binding { a <- y } }
)"),
                             0);
  std::vector<std::string> names;
  for (const Value* output : step.graph->outputs()) names.push_back(output->name());
  EXPECT_EQ(names, (std::vector<std::string>{"y", "z"}));
}

TEST(Step, NamesAllOperatorsWithoutAGradient) {
  const Model model = parse_text(R"(
<ir_version: 9, opset_import: ["" : 20, "com.example" : 1, "ai.onnx.preview.training" : 1]>
m (float[4,2] x) => (float[4,2] y) {
  s = com.example.Pool(x)
  y = com.example.Fold(s)
}
training_info {
  algorithm slope () => (float[4,2] d) {
    d = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x)
  }
}
)");
  try {
    step_of(model, 0);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "no gradient is known for com.example.Fold (node 'y'), com.example.Pool (node 's')\n"
        "  in node 'd' (Gradient)");
  }
}

}  // namespace
}  // namespace onward
