#include "text/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "format/load.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr PrintOptions kAll{.max_elements = PrintOptions::kAllElements};

const std::string kHeader = R"(<
  ir_version: 8,
  opset_import: ["" : 17, "ai.onnx.preview.training" : 1]
>
)";

std::string print_all(const Model& model) { return to_text(model, kAll); }

std::vector<std::filesystem::path> example_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("examples/training")) {
    if (entry.path().extension() == ".onnxtxt") files.push_back(entry.path());
  }
  return files;
}

std::string read(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string error_of(const std::string& text) {
  try {
    parse_text(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Written as the printer writes them: the text must come back unchanged.
const std::pair<const char*, const char*> kCanonicalTexts[] = {
    {"types of inputs and outputs",
     R"(g (
    float[N,784] a,
    double b,
    int64[] c,
    float[?,"a b"] d,
    seq(float[2]) e,
    optional(int32) f,
    map(int64, float[]) h,
    sparse_tensor(float[3,4]) i) => (float[N,784] y) {
  y = Identity(a)
}
)"},
    {"initializers of every type",
     R"(g () => (float[2,2] y) <
  float[2,2] f = {1, 2.5, -0.001, 1e+20},
  double d = {0.1},
  int8[2] i8 = {-128, 127},
  uint8[1] u8 = {255},
  int16[1] i16 = {-32768},
  uint16[1] u16 = {65535},
  int32[1] i32 = {-2147483648},
  uint32[1] u32 = {4294967295},
  int64[2] i64 = {-9223372036854775808, 9223372036854775807},
  uint64[1] u64 = {18446744073709551615},
  bool[3] b = {1, 0, 1},
  string[2] s = {"plain", "with \"quotes\" and \\"},
  float16[2] f16 = {15360, 48128},
  bfloat16[1] bf16 = {16256},
  float8e4m3fn[3] f8 = {56, 184, 1},
  float8e5m2fnuz[1] f8z = {64},
  int4[3] i4 = {-8, 7, 1},
  uint4[5] u4 = {15, 0, 3, 9, 1},
  float4e2m1[3] f4 = {1, 15, 7},
  int2[5] i2 = {-2, -1, 0, 1, 1},
  uint2[3] u2 = {3, 0, 2},
  float6e2m3[5] f6 = {63, 0, 33, 1, 2},
  complex64[2] c64 = {1, -2, 0.5, 4},
  complex128 c128 = {1, 2},
  float[0] empty = {},
  float[3] special = {inf, -inf, nan}
>
{
  y = Identity(f)
}
)"},
    {"attributes of every kind",
     R"(g (float[2] x) => (float[2] y) {
  y = Op<i = -3, f = 1.0, tiny = 1e-07, n = nan, m = -inf, s = "a, b", t = float[2] {1, 2}, none: ints = [], no_floats: floats = [], no_strings: strings = [], is = [1, 2], fs = [1.0, 2.5], ss = ["a", "b"], type: type_proto = float[N]>(x)
}
)"},
    {"operators of other domains, and overloads",
     R"(g (float[2] x) => (float y) {
  y = ai.onnx.preview.training.Gradient:one<xs = ["x"], y = "x">(x)
}
)"},
    {"names that are no identifiers, or mean something else",
     R"("main graph" (float[2] "input.1", float[2] "float", float "seq", float "inf") => (float[2] "/out", float "é") {
  ["node 1"] "/out" = Add("input.1", "float")
  "é" = Add("seq", "inf")
}
)"},
    {"optional inputs and outputs left out",
     R"(g (float[2] x) => (float[2] y) {
  y, "", z = Op("", x, "", x)
  [sink]  = Print(z)
}
)"},
    {"defaults of inputs, in place where the types agree",
     R"(g (float[2] a = {1, 2}, float[N] b) => (float[2] y) <
  float[2] b = {3, 4}
>
{
  y = Add(a, b)
}
)"},
    {"declared types of values inside",
     R"(g (float[2] x) => (float[2] z) <
  float[2] y,
  int64[K] n
>
{
  y = Relu(x)
  n = NonZero(y)
  z = Relu(y)
}
)"},
    {"subgraphs",
     R"(g (bool c, float[2] x) => (float[2] y) {
  y = If(c) <
    then_branch = yes () => (float[2] a) <
      float[2] k = {1, 2}
    >
    {
      a = Add(x, k)
    },
    else_branch = no () => (float[2] b) {
      b = If(c) <
        then_branch = _in () => (float[2] d) {
          d = Identity(x)
        },
        else_branch = _out () => (float[2] e) {
          e = Neg(x)
        }>
    }>
}
)"},
    {"a training info with all its parts",
     R"(g (float[N,2] x) => (float[N,1] y) <
  float[2,1] w = {0, 0}
>
{
  y = MatMul(x, w)
}
training_info {
  initialization start () => (float[2,1] w0) {
    w0 = RandomNormal<shape = [2, 1]>()
  }
  initialization_binding {
    w <- w0
  }
  algorithm step (float[N,1] label) => (float loss, float[2,1] "w.new") <
    float R = {0.1}
  >
  {
    e = Sub(label, y)
    loss = ReduceSumSquare<keepdims = 0>(e)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x", "label"], y = "loss">(w, x, label)
    change = Mul(R, dw)
    "w.new" = Sub(w, change)
  }
  update_binding {
    w <- "w.new"
  }
}
training_info {
  algorithm nothing () => () {
  }
}
)"},
};

TEST(Text, PrintsWhatItReads) {
  for (const auto& [what, body] : kCanonicalTexts) {
    EXPECT_EQ(print_all(parse_text(kHeader + body)), kHeader + body) << what;
  }
}

TEST(Text, ReadsAgainWhatItPrintsOfTheExamples) {
  const auto files = example_files();
  ASSERT_GE(files.size(), 8u);
  for (const auto& file : files) {
    const std::string printed = print_all(parse_text(read(file)));
    EXPECT_EQ(print_all(parse_text(printed)), printed) << file;
  }
}

TEST(Text, PrintsTheHeader) {
  const std::string text = R"(<
  ir_version: 9,
  opset_import: ["" : 18],
  producer_name: "a \"maker\"",
  producer_version: "1.0",
  domain: "org.example",
  model_version: 7
>
g () => () {
}
)";
  const Model model = parse_text(text);
  EXPECT_EQ(model.producer_name, "a \"maker\"");
  EXPECT_EQ(model.version, 7);
  EXPECT_EQ(print_all(model), text);
}

TEST(Text, ShortensLongTensorsAndLists) {
  const Model model = parse_text(kHeader + R"(g () => (float y) <
    float[9] w = {0, 1, 2, 3, 4, 5, 6, 7, 8},
    float[8] v = {0, 1, 2, 3, 4, 5, 6, 7}
  > { y = Op<list = [0, 1, 2, 3, 4, 5, 6, 7, 8]>(w, v) })");
  const std::string text = to_text(model);
  EXPECT_NE(text.find("float[9] w = {0, 1, 2, ...}"), std::string::npos) << text;
  EXPECT_NE(text.find("float[8] v = {0, 1, 2, 3, 4, 5, 6, 7}"), std::string::npos) << text;
  EXPECT_NE(text.find("list = [0, 1, 2, ...]"), std::string::npos) << text;
  EXPECT_NE(to_text(model, {.max_elements = 0}).find("w = {...}"), std::string::npos);
}

TEST(Text, BreaksLongListsOfInputs) {
  std::string inputs;
  for (int i = 0; i < 20; ++i) inputs += fmt::format("{}float[N,100] x{}", i ? ", " : "", i);
  const Model model =
      parse_text(kHeader + "g (" + inputs + ") => (float[N,100] y) { y = Relu(x0) }");
  EXPECT_NE(print_all(model).find("g (\n    float[N,100] x0,\n    float[N,100] x1,"),
            std::string::npos);
}

TEST(Text, PrintsOneNodeInOneLine) {
  const Model model =
      parse_text(kHeader + "g (float x) => (float y) { [n] y = LeakyRelu<alpha = 0.2>(x) }");
  EXPECT_EQ(to_text(*model.graph->nodes().front()), "[n] y = LeakyRelu<alpha = 0.2>(x)");
  EXPECT_EQ(to_text(*model.graph),
            "g (float x) => (float y) {\n  [n] y = LeakyRelu<alpha = 0.2>(x)\n}\n");
}

TEST(Text, ShowsControlCharactersAndDamagedStringsVisibly) {
  const Model model =
      parse_text(kHeader + "g (float x) => (float y) { y = Op<s = \"two\nlines\x1b\xff\">(x) }");
  EXPECT_EQ(to_text(*model.graph->nodes().front()), R"(y = Op<s = "two\\nlines\\x1b\\xff">(x))");
}

TEST(Text, GivesSubgraphsNamesThatCanBeRead) {
  const Model model = parse_text(kHeader + R"(g (bool c, float x) => (float y) {
    y = If(c) <then_branch = t () => (float a) { a = Abs(x) }, else_branch = e () => (float b) { b = Neg(x) }>
  })");
  const auto branches = model.graph->nodes().front()->subgraphs();
  branches[0]->name = "then:0";
  branches[1]->name = "nan";
  const std::string text = print_all(model);
  EXPECT_NE(text.find("then_branch = then_0 ()"), std::string::npos) << text;
  EXPECT_NE(text.find("else_branch = _nan ()"), std::string::npos) << text;
  EXPECT_EQ(print_all(parse_text(text)), text);
}

TEST(Text, PrintsSparseInitializers) {
  Model model;
  SparseTensor linear{.dims = {3, 4},
                      .values = Tensor::of<float>({2}, {1.5F, 2}),
                      .indices = Tensor::of<int64_t>({2}, {0, 7})};
  SparseTensor by_axis = linear;
  by_axis.indices = Tensor::of<int64_t>({2, 2}, {0, 0, 1, 3});
  model.graph->add_initializer("a", Initializer{.data = linear, .doc = {}, .metadata = {}});
  model.graph->add_initializer("b", Initializer{.data = by_axis, .doc = {}, .metadata = {}});
  const std::string text = to_text(*model.graph);
  EXPECT_NE(text.find("sparse_tensor(float[3,4]) a = {0: 1.5, 7: 2}"), std::string::npos) << text;
  EXPECT_NE(text.find("b = {(0, 0): 1.5, (1, 3): 2}"), std::string::npos) << text;
}

TEST(Text, InlinesFunctions) {
  const Model model = parse_text(kHeader + R"(
    g (float[2] x) => (float[2] y) { y = own.Twice(x) }
    training_info { algorithm a () => (float[2] z) { z = own.Twice(y) } }
    <domain: "own", opset_import: ["" : 17]>
    Twice (a) => (b) { b = Add(a, a) })");
  ASSERT_EQ(model.training.size(), 1u);
  EXPECT_EQ(model.graph->nodes().front()->op, "Add");
  EXPECT_EQ(model.training[0].algorithm->nodes().front()->op, "Add");
}

TEST(TextErrors, NameThePlaceAndTheReason) {
  const std::string deep(100, '(');
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "line 1, column 1: identifier expected but not found"},
      {"\n\ng (x) = (y) {}", "line 3, column 8"},
      {"g (x) => (y) {\n  y = Relu(x\n}", "line 3, column 1: expected character ) not found"},
      {"g (x) => (y) {\n  y = Relu(x)\n", "line 3, column 1"},
      {"g (x) => (y) { y = Op<i = 99999999999999999999>(x) }", "this number is too large"},
      {"g (x) => (y) { y = Op<f = 1e999>(x) }", "Failed to parse float from string: 1e999"},
      {"g (x) => (y) { y = Op<i = - 5>(x) }", "this is not a number"},
      {"g (x) => (y) { y = Op<s = \"open>(x) }", "column 27: this string is not closed"},
      {"g (x) => (y) { y = Op<l = [1, 2.5]>(x) }", "mismatch between expected type INT"},
      {"g (x) => (y) { y = Op<l = [float {1}]>(x) }", "not tensors, graphs or types"},
      {"g () => (" + deep, "brackets are nested more than 64 deep"},
      {"g () => () {} training_info {", "column 15: this training_info is not closed"},
      {"g () => () {} training_info { algorith a () => () {} }",
       "column 31: expected initialization, initialization_binding, algorithm or update_binding"},
      {"g () => () {}\ntraining_info { algorithm a () => () {} algorithm b () => () {} }",
       "line 2, column 41: a second algorithm"},
      {"g () => () {}\ntraining_info { update_binding { w = v } }",
       "line 2, column 36: expected character < not found"},
      {"g () => () {}\ntraining_info { algorithm a () => (y) { y = Relu(x } }",
       "line 2, column 52: expected character ) not found"},
      {"g () => () <float[2] w = normal(1)> {}", "column 26: expected normal(seed, stddev)"},
      {"g () => () <float[2] w = normal(1, x)> {}", "expected a number for normal(seed, stddev)"},
      {"g () => () <float[2] w = normal(-1, 1)> {}", "the seed -1 is not an integer"},
      {"g () => () <int64[2] w = normal(1, 1)> {}", "generates float or double, not integers"},
      {"g () => () <int32 w = full(3000000000)> {}", "is not an integer in the type's range"},
      {"g () => () <string w = full(3)> {}", "cannot generate elements of type string"},
      {"g () => () <float[99999,99999] w = full(3)> {}", "more than rules may fill"},
      {"g () => () <float[20000000] v = full(3), float[20000000] w = full(3)> {}",
       "more than rules may fill"},
      {"g () => () <float[99999999999,99999999999] w = full(3)> {}", "overflows"},
      {"g (x) => (y) { y = Constant<value = float[2] w = full(1)>() }",
       "only a graph initializer can have a generator"},
      {"g () => () <float[2] w = > {}", "tensor 'w'"},
  };
  for (const auto& [text, message] : cases) {
    // Without the header's lines where a case counts its own.
    const std::string error = error_of(message.starts_with("line") ? text : kHeader + text);
    EXPECT_NE(error.find(message), std::string::npos) << text << "\ngave: " << error;
  }
}

TEST(TextErrors, ShowTheLine) {
  EXPECT_EQ(error_of("g (x) => (y) {\n  y = Relu(x\n  z = Relu(y)\n}"),
            "line 3, column 3: expected character ) not found\n  in: z = Relu(y)");
}

TEST(TextErrors, NothingMoreThanAnErrorComesOfDamagedText) {
  std::mt19937 random(1);
  const std::string marks = "{}[]()<>=,:\"\\#@-?.0123456789eaN \n";
  for (const auto& file : example_files()) {
    if (file.stem() == "cnn") continue;  // large, and like the others
    const std::string text = read(file);
    for (int round = 0; round < 150; ++round) {
      std::string damaged = text;
      for (int i = 0; i < 3; ++i) {
        const size_t at = random() % damaged.size();
        switch (random() % 4) {
          case 0:
            damaged[at] = marks[random() % marks.size()];
            break;
          case 1:
            damaged.erase(at, random() % 20);
            break;
          case 2:
            damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 50));
            break;
          default:
            damaged.insert(at, 1, marks[random() % marks.size()]);
            break;
        }
      }
      try {
        const Model model = parse_text(damaged);
        EXPECT_FALSE(to_text(model).empty());
      } catch (const Error& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

}  // namespace
}  // namespace onward
