// Deliberately broken training models: each differs from a good one in one place, and is refused by
// the rule that it breaks, with a message that names what is wrong.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "check/check.h"
#include "format/load.h"

namespace onward {
namespace {

constexpr std::string_view kGood = R"(
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
model (float[N,3] x, float[2] scale) => (float[N,2] y) <
  float[3,2] w = {1, 2, 3, 4, 5, 6},
  float[2] b = {0, 0}
>
{
  xw = MatMul(x, w)
  h = Add(xw, b)
  y = Mul(h, scale)
}
training_info {
  initialization start () => (float[3,2] w0) {
    w0 = RandomNormal<shape = [3, 2]>()
  }
  initialization_binding { w <- w0 }
  algorithm step (float[N,2] label) => (
      float loss, float[3,2] w_new, float[2] b_new, float[3,2] wv_new, float[2] bv_new,
      float[3,2] wh_new, float[2] bh_new, int64 T_new) <
    float R = {0.1}, int64 T = {0}, int64 one = {1},
    float[3,2] wv = {0, 0, 0, 0, 0, 0}, float[2] bv = {0, 0},
    float[3,2] wh = {0, 0, 0, 0, 0, 0}, float[2] bh = {0, 0}
  >
  {
    difference = Sub(y, label)
    square = Mul(difference, difference)
    loss = ReduceMean<keepdims = 0>(square)
    [g] dw, db = ai.onnx.preview.training.Gradient<
        xs = ["w", "b"], zs = ["x", "label", "scale"], y = "loss">(w, b, x, label, scale)
    [adam] w_new, b_new, wv_new, bv_new, wh_new, bh_new = ai.onnx.preview.training.Adam(
        R, T, w, b, dw, db, wv, bv, wh, bh)
    T_new = Add(T, one)
  }
  update_binding { w <- w_new  b <- b_new  wv <- wv_new  bv <- bv_new
                   wh <- wh_new  bh <- bh_new  T <- T_new }
}
)";

/// A second training info, for the rules that span several.
constexpr std::string_view kSecondInfo = R"(
training_info {
  algorithm second () => (float[2] b_new2, int64 count_new) <int64 count = {0}, int64 one2 = {1}> {
    b_new2 = Neg(b)
    count_new = Add(count, one2)
  }
  update_binding { count <- count_new }
}
)";

struct BrokenModel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> replacements;  // in kGood + kSecondInfo
  std::string rule;
  std::string message;  // a part of it
  Severity severity = Severity::error;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the good model does not hold: " + from);
  return text.replace(at, from.size(), to);
}

std::string text_of(const BrokenModel& broken) {
  std::string text = std::string(kGood) + std::string(kSecondInfo);
  for (const auto& [from, to] : broken.replacements) text = replaced(text, from, to);
  return text;
}

Problems check_text(std::string_view text) {
  Problems problems;
  Model model = parse_text(text, {.problems = &problems});
  check(model, problems);
  return problems;
}

std::string listed(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems.list()) {
    text += "[" + problem.rule + "] " + to_string(problem) + "\n";
  }
  return text;
}

const std::vector<BrokenModel> kBroken = {
    // What bindings name.
    {"key is nothing",
     {{"{ count <- count_new }", "{ nothing <- count_new }"}},
     "binding-key",
     "update_binding, tensor 'nothing': a binding writes it, but there is no such initializer"},
    {"key is computed",
     {{"{ count <- count_new }", "{ h <- count_new }"}},
     "binding-key",
     "it is computed by a node"},
    {"key is an input without default",
     {{"{ count <- count_new }", "{ scale <- b_new2 }"}},
     "binding-key",
     "it is an input without a default"},
    {"key belongs to another algorithm",
     {{"{ count <- count_new }", "{ bv <- b_new2 }"}},
     "binding-key",
     "tensor 'bv': a binding writes it, but there is no such initializer"},
    {"update value is no output",
     {{"T <- T_new", "T <- square"}},
     "binding-value",
     "tensor 'square': a binding reads it, but it is not an output of the algorithm"},
    {"initialization value is no output",
     {{"w <- w0 }", "w <- w1 }"}},
     "binding-value",
     "tensor 'w1': a binding reads it, but it is not an output of the initialization"},
    {"two bindings in one info",
     {{"T <- T_new }", "T <- T_new  b <- b_new }"}},
     "binding-twice",
     "training info 0, update_binding, tensor 'b': two bindings"},
    {"two infos write one tensor",
     {{"{ count <- count_new }", "{ b <- b_new2 }"}},
     "binding-twice",
     "training info 1, update_binding, tensor 'b': two bindings"},
    {"element types differ",
     {{"b_new2 = Neg(b)", "b_new2 = Cast<to = 11>(b)"},
      {"(float[2] b_new2", "(double[2] b_new2"},
      {"b <- b_new  ", ""},
      {"{ count <- count_new }", "{ b <- b_new2 }"}},
     "binding-type",
     "it is f32[2], but the bound 'b_new2' is f64[2]: f32 and f64"},
    {"shapes differ",
     {{"w <- w_new", "w <- b_new"}, {"b <- b_new ", ""}},
     "binding-type",
     "it is f32[3,2], but the bound 'b_new' is f32[2]"},
    // The initialization graph.
    {"initialization takes an input",
     {{"start ()", "start (float[1] seed)"}},
     "initialization-inputs",
     "tensor 'seed': an initialization graph must not have inputs"},
    {"initialization is missing",
     {{"initialization start () => (float[3,2] w0) {\n    w0 = RandomNormal<shape = [3, 2]>()\n  }",
       ""}},
     "initialization-missing",
     "no initialization graph"},
    // Graph and algorithm are one graph.
    {"a node repeats a name of the inference graph",
     {{"square = Mul", "h = Mul"},
      {"ReduceMean<keepdims = 0>(square)", "ReduceMean<keepdims = 0>(h)"}},
     "defined-twice",
     "training info 0, algorithm, node 'h' (Mul), tensor 'h'"},
    {"an input repeats a name of the inference graph",
     {{"step (float[N,2] label)", "step (float[N,2] label, float[N,3] x)"}},
     "defined-twice",
     "tensor 'x': this input has the name of a value of the inference graph"},
    {"an initializer repeats a name of the inference graph",
     {{"int64 one = {1}", "int64 one = {1}, float[2] b = {0, 0}"}},
     "defined-twice",
     "tensor 'b': this initializer has the name"},
    {"an initializer of the inference graph is given twice",
     {{"float[2] b = {0, 0}", "float[2] b = {0, 0}, float[2] b = {1, 1}"}},
     "defined-twice",
     "tensor 'b': two initializers have this name"},
    {"an initializer of the algorithm is given twice",
     {{"int64 one = {1}", "int64 one = {1}, int64 one = {2}"}},
     "defined-twice",
     "tensor 'one': two initializers have this name"},
    {"the default of an input is given twice",
     {{"float[2] scale)", "float[2] scale = {1, 1})"},
      {"float[2] b = {0, 0}", "float[2] b = {0, 0}, float[2] scale = {2, 2}"}},
     "defined-twice",
     "tensor 'scale': two initializers have this name"},
    {"a name is defined twice in the algorithm",
     {{"T_new = Add(T, one)", "T_new = Add(T, one)\n loss = Neg(square)"}},
     "defined-twice",
     "node 'loss' (Neg), tensor 'loss'"},
    {"nodes are out of order",
     {{"difference = Sub(y, label)\n    square = Mul(difference, difference)",
       "square = Mul(difference, difference)\n    difference = Sub(y, label)"}},
     "undefined",
     "tensor 'difference': it is read before the node that computes it"},
    {"a value is not defined",
     {{"Sub(y, label)", "Sub(y, target)"}},
     "undefined",
     "tensor 'target': nothing of this name is defined"},
    {"a subgraph hides a value",
     {{"T_new = Add(T, one)", R"(T_new = Add(T, one)
        yes = Constant<value = bool {1}>()
        chosen = If(yes) <then_branch = t () => (float[2] b) { b = Neg(bv) },
                          else_branch = e () => (float[2] e0) { e0 = Neg(bv) }>)"}},
     "defined-twice",
     "node 'b' (Neg), tensor 'b': a value of this name is already defined"},
    {"the inference graph reads the algorithm",
     {{"xw = MatMul(x, w)", "xw = MatMul(x, wv)"}},
     "inference-uses-training",
     "it belongs to the algorithm of training info 0"},
    // Gradient.
    {"xs names nothing",
     {{"xs = [\"w\", \"b\"]", "xs = [\"w\", \"bias\"]"}},
     "gradient-name",
     "node 'g' (Gradient), tensor 'bias': 'xs' names a value that is not defined"},
    {"zs names nothing",
     {{"\"scale\"], y", "\"mask\"], y"}},
     "gradient-name",
     "tensor 'mask': 'zs' names a value"},
    {"y names nothing",
     {{"y = \"loss\"", "y = \"cost\""}},
     "gradient-name",
     "tensor 'cost': 'y' names a value"},
    {"y does not depend on x",
     {{"Sub(y, label)", "Sub(xw, label)"}},
     "gradient-dependency",
     "tensor 'b': 'loss' does not depend on it"},
    {"no gradient on the way",
     {{"Sub(y, label)", "Sub(rounded, label)"},
      {"difference = ", "rounded = Round(y)\n difference = "}},
     "gradient-path",
     "'loss' depends on it only through operators without a gradient: Round (node 'rounded')"},
    {"what is differentiated by follows from the rest",
     {{"xs = [\"w\", \"b\"]", "xs = [\"w\", \"xw\"]"},
      {"(w, b, x, label, scale)", "(w, xw, x, label, scale)"}},
     "gradient-independence",
     "tensor 'xw': xs and zs must be independent, but it is computed from 'w'"},
    {"x is an integer",
     {{"xs = [\"w\", \"b\"]", "xs = [\"w\", \"T\"]"},
      {"(w, b, x, label, scale)", "(w, T, x, label, scale)"}},
     "gradient-type",
     "xs is i64[], but only floating-point tensors have gradients"},
    {"inputs do not match xs and zs",
     {{"(w, b, x, label, scale)", "(w, b, x, label)"}},
     "gradient-inputs",
     "it has 4 inputs, but names 5 values in xs and zs"},
    {"an input that does not fit the name it stands for",
     {{"(w, b, x, label, scale)", "(w, w, x, label, scale)"}},
     "gradient-inputs",
     "it stands for 'b', which is f32[2], but is f32[3,2]"},
    {"an input of a gradient left out",
     {{"(w, b, x, label, scale)", "(w, , x, label, scale)"}},
     "arity",
     "input 1 (Inputs) is required"},
    {"an input of an optimizer left out",
     {{"dw, db, wv", "dw, , wv"}},
     "arity",
     "input 5 (inputs) is required"},
    {"more gradients than xs",
     {{"xs = [\"w\", \"b\"]", "xs = [\"w\"]"}, {"(w, b, x, label, scale)", "(w, x, label, scale)"}},
     "gradient-outputs",
     "it has 2 outputs for 1 values in xs"},
    // Operators and versions.
    {"the training operators are not imported",
     {{", \"ai.onnx.preview.training\" : 1", ""}},
     "opset",
     "no opset import for domain 'ai.onnx.preview.training'"},
    {"the IR version is too old",
     {{"ir_version: 8", "ir_version: 6"}},
     "ir-version",
     "training infos need IR version 7, the model has 6"},
    {"an operator that is not there",
     {{"loss = ReduceMean<keepdims = 0>(square)", "loss = MSE(square)"}},
     "operator",
     "ai.onnx has no operator 'MSE'"},
    {"an attribute of the wrong type", {{"keepdims = 0", "keepdims = 0.5"}}, "schema", "keepdims"},
    {"an optimizer's slot of the wrong shape",
     {{"float[2] bh = {0, 0}", "float[3] bh = {0, 0, 0}"}},
     "binding-type",
     "it is f32[3], but the bound 'bh_new' is f32[2]"},
    // Legal, but hardly what was meant.
    {"the step count stands still",
     {{"T <- T_new", "T <- T_same"},
      {"int64 T_new)", "int64 T_new, int64 T_same)"},
      {"T_new = Add(T, one)", "T_new = Add(T, one)\n T_same = Identity(one)"}},
     "step-counter",
     "the step counter never changes",
     Severity::warning},
    {"the step count is bound to itself",
     {{"T <- T_new", "T <- T"}, {"int64 T_new)", "int64 T_new, int64 T)"}},
     "step-counter",
     "the step counter never changes",
     Severity::warning},
};

class BrokenTraining : public testing::TestWithParam<BrokenModel> {};

TEST_P(BrokenTraining, IsRefusedByItsRule) {
  const Problems problems = check_text(text_of(GetParam()));
  bool found = false;
  for (const Problem& problem : problems.list()) {
    found = found || (problem.rule == GetParam().rule && problem.severity == GetParam().severity &&
                      to_string(problem).find(GetParam().message) != std::string::npos);
  }
  EXPECT_TRUE(found) << "wanted [" << GetParam().rule << "] " << GetParam().message << "\ngot:\n"
                     << listed(problems);
}

std::string test_name(const testing::TestParamInfo<BrokenModel>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenTraining, testing::ValuesIn(kBroken), test_name);

TEST(CheckTraining, AcceptsTheGoodModel) {
  const Problems problems = check_text(std::string(kGood) + std::string(kSecondInfo));
  EXPECT_TRUE(problems.empty()) << listed(problems);
}

TEST(CheckTraining, GathersAllProblems) {
  std::string text = std::string(kGood) + std::string(kSecondInfo);
  text = replaced(text, "T <- T_new", "T <- square");
  text = replaced(text, "y = \"loss\"", "y = \"cost\"");
  text = replaced(text, "{ count <- count_new }", "{ nothing <- count_new }");
  EXPECT_EQ(check_text(text).errors(), 3u) << listed(check_text(text));
}

}  // namespace
}  // namespace onward
