// What an exported source says, word by word, where a wrong word would still run.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "emit/export.h"
#include "format/load.h"
#include "infer/infer.h"
#include "onward/error.h"
#include "recipe/recipe.h"
#include "tests/temporary_folder.h"

namespace onward::emit {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string source(const Model& model, const ExportOptions& options) {
  const TemporaryFolder folder;
  export_model(model, folder.path() / "out", options);
  return read(folder.path() / "out" / "model.py");
}

Model model_of(const std::string& graph) {
  Problems ignored;  // results need no types here
  Model model =
      parse_text("<ir_version: 8, opset_import: [\"\" : 17]> g " + graph, {.problems = &ignored});
  infer_types(model, ignored);
  return model;
}

struct Said {
  const char* name;
  const char* graph;
  const char* torch;  // a part of what each says; "" where it is not looked at
  const char* keras;
  const char* never = "\n\n\n\n";  // what neither may say
};

const Said kSaid[] = {
    {"momentum, of the old or of the new statistics",
     "(float[N,2] x) => (float[N,2] y) <float[2] s = {1, 1}, float[2] b = {0, 0}, float[2] m = {0, "
     "0}, "
     "float[2] v = {1, 1}> { y = BatchNormalization<momentum = 0.7>(x, s, b, m, v) }",
     "momentum=0.3)", "momentum=0.7,"},
    {"all digits of an attribute", "(float[N,2] x) => (y) { y = LeakyRelu<alpha = 0.12345678>(x) }",
     "0.12345678)", "0.12345678)"},
    {"all digits of an attribute for doubles",
     "(double[N,2] x) => (y) { y = LeakyRelu<alpha = 0.1>(x) }", "0.10000000149011612)",
     "0.10000000149011612)"},
    {"all digits of a number",
     "(double[N,2] x) => (y) <double c = {0.12345678901234567}> { y = Mul(x, c) }",
     "0.12345678901234566", "0.12345678901234566"},
    {"no layer for a product with a factor",
     "(float[N,2] x) => (y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}> "
     "{ y = Gemm<alpha = 0.5>(x, w, b) }",
     "0.5", "0.5", "nn.Linear"},
    {"no layer for a bias with a factor",
     "(float[N,2] x) => (y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}> "
     "{ y = Gemm<beta = 0.5>(x, w, b) }",
     "0.5", "0.5", "Dense("},
    {"a comparison of weights, which may be trained there",
     "(float[N,2] x) => (y) <float[2] w = {1, -2}, float c = {0.5}> "
     "{ m = Less(w, c) y = Where(m, x, w) }",
     "self.w < 0.5", "less(self.w, 0.5)"},
    {"two layers where one kernel is used in two ways",
     "(float[N,1,5,5] x) => (y, z) <float[1,1,2,2] w = {1, 2, 3, 4}> "
     "{ y = Conv(x, w) z = Conv<strides = [2, 2]>(x, w) }",
     "stride=2", "strides=2"},
    {"a Dropout that always drops is no layer",
     "(float[N,2] x) => (y) <float r = {0.25}, bool on = {1}> { y = Dropout(x, r, on) }",
     "F.dropout", "", "nn.Dropout"},
    {"pads, the last dimension first",
     "(float[N,1,5,5] x) => (y) <float[1,1,2,2] w = {1, 2, 3, 4}> { y = Conv<pads = [0, 1, 3, "
     "2]>(x, w) }",
     "ZeroPad2d((1, 2, 0, 3))", "ZeroPadding2D(((0, 3), (1, 2)))"},
    {"the last axis, which nobody names",
     "(float[2,3,4] x, float[4] s) => (y) { y = LayerNormalization(x, s) }", "x.shape[2:]", "(2,)"},
    {"the first axis, which nobody names", "(float[4,6] x) => (y, z) { y, z = Split(x) }", "dim=0",
     "axis=0"},
    {"the axis of channels, which come last in Keras",
     "(float[N,1,5,5] x) => (y) <float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> "
     "{ c = Conv(x, w) r = Relu(c) y = Concat<axis = 1>(r, c) }",
     "dim=1", "axis=3"},
    {"a Clip, which has a gradient on its limits",
     "(float[N,2] x) => (y) <float low = {-1}, float high = {1}> { y = Clip(x, low, high) }",
     "clip(x, min=-1.0, max=1.0)", "ops.minimum(ops.maximum(x, -1.0), 1.0)", "torch.clamp("},
    {"a clamp of PyTorch, which has none",
     "(float[N,2] x) => (y) <float low = {-1}, float high = {1}> { c = Clip(x, low, high) "
     "on = Equal(x, low) h = Where(on, low, c) off = Equal(x, high) y = Where(off, high, h) }",
     "return torch.clamp(x, min=-1.0, max=1.0)", "", "torch.where"},
    {"one limit of two, which is no clamp of PyTorch",
     "(float[N,2] x) => (y) <float low = {-1}, float high = {1}> { c = Clip(x, low, high) "
     "on = Equal(x, low) y = Where(on, low, c) }",
     "torch.where(x == -1.0, -1.0, clip(x, min=-1.0, max=1.0))", "", "torch.clamp("},
    {"the second of two equal tensors",
     "(float[N,2] x) => (y, z) <float[2,2] v = {1, 2, 3, 4}, float[2,2] w = {1, 2, 3, 4}> "
     "{ y = MatMul(x, v) z = MatMul(x, w) }",
     "self.v(x), self.w(x)", "self.v(x), self.w(x)"},
};

TEST(Words, OfAModel) {
  for (const Said& tested : kSaid) {
    const Model model = model_of(tested.graph);
    const std::string torch = source(model, {.to = "torch"});
    EXPECT_NE(torch.find(tested.torch), std::string::npos) << tested.name << "\n" << torch;
    EXPECT_EQ(torch.find(tested.never), std::string::npos) << tested.name << "\n" << torch;
    if (std::string(tested.keras).empty()) continue;
    const std::string keras = source(model, {.to = "keras"});
    EXPECT_NE(keras.find(tested.keras), std::string::npos) << tested.name << "\n" << keras;
    EXPECT_EQ(keras.find(tested.never), std::string::npos) << tested.name << "\n" << keras;
  }
}

TEST(Words, OfImagesWithoutARankAreNone) {
  const Model model = model_of(
      "(float[N,C,H,W] x, float[M,C,K,L] w) => (y) { c = Conv(x, w) y = Concat<axis = 1>(c, c) }");
  try {
    source(model, {.to = "keras"});
    FAIL() << "the order of dimensions depends on the rank";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the rank of 'c' is not known"), std::string::npos)
        << error.what();
  }
}

TEST(Words, OfTwoTensorsOfOneNameAreNone) {
  try {
    parse_text(
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,2] x) => (float[N,2] y) "
        "<float[2] w = {1, 2}, float[2] w = {3, 4}> { y = Mul(x, w) }");
    FAIL() << "which of the two is meant?";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("two initializers have this name"), std::string::npos)
        << error.what();
  }
}

struct SaidJob {
  const char* name;
  const char* to;
  void (*change)(Recipe&);
  const char* words;
};

const SaidJob kJobs[] = {
    {"AdamW without decay, where torch has a default", "torch",
     [](Recipe& recipe) {
       recipe.optimizer = default_settings("adamw", Formula::torch);
       recipe.optimizer.set("weight_decay", 0);
     },
     "weight_decay=0.0"},
    {"a rate that decays from the second step on", "keras",
     [](Recipe& recipe) {
       recipe.optimizer = default_settings("adagrad", Formula::torch);
       recipe.optimizer.set("rate_decay", 0.1);
     },
     "lr / (1.0 + t * 0.1)"},
    {"a difference that is added", "torch",
     [](Recipe& recipe) { recipe.optimizer = default_settings("nesterov", Formula::keras); },
     "+ (new_momentum * 0.9 - part)"},
    {"the standard's numbers, which are of float32", "torch",
     [](Recipe& recipe) { recipe.optimizer = default_settings("nesterov", Formula::onnx); },
     "new_V = 0.9 * V + g\n"},
    {"a count that only the first step needs", "keras",
     [](Recipe& recipe) {
       recipe.optimizer = default_settings("momentum", Formula::torch);
       recipe.optimizer.set("dampening", 0.25);
     },
     "ops.where(t == 0, g, 0.9 * momentum_buffer + 0.75 * g)"},
    {"statistics that stay", "keras", [](Recipe&) {}, "(self.w(x), training=False)"},
    {"statistics that change", "keras",
     [](Recipe& recipe) { recipe.batch_norm = BatchNormMode::batch; },
     "def call(self, x, training=False)"},
    {"the part of the new statistics", "torch",
     [](Recipe& recipe) {
       recipe.batch_norm = BatchNormMode::batch;
       recipe.batch_momentum = 0.75;
     },
     "momentum=0.25"},
};

TEST(Words, OfAJob) {
  for (const SaidJob& tested : kJobs) {
    Recipe recipe{.loss = "mse"};
    tested.change(recipe);
    const Model job = prepare(
        model_of(
            "(float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 1}, "
            "float[2] b = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1}> "
            "{ h = MatMul(x, w) y = BatchNormalization(h, s, b, m, v) }"),
        recipe);
    const std::string text = source(job, {.to = tested.to, .info = 0});
    EXPECT_NE(text.find(tested.words), std::string::npos) << tested.name << "\n" << text;
  }
}

}  // namespace
}  // namespace onward::emit
