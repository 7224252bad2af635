#include "format/load.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "check/check.h"
#include "format/save.h"
#include "onward/error.h"
#include "text/text.h"

namespace onward {
namespace {

std::string problems_of(std::string_view text) {
  Problems problems;
  Model model = parse_text(text, {.problems = &problems});
  check(model, problems);
  std::string listed;
  for (const Problem& problem : problems.list())
    listed += "[" + problem.rule + "] " + to_string(problem) + "\n";
  return listed;
}

std::string graph_text(std::string_view text) { return to_text(*parse_text(text).graph); }

// Functions are gone once a model is loaded: what is left are their nodes.

TEST(Inlining, PutsTheBodyInPlaceOfTheCall) {
  EXPECT_EQ(graph_text(R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y) { [call] y = f.twice_abs(x) }
      <opset_import: ["" : 17], domain: "f"> twice_abs (a) => (b) { c = Abs(a)  b = Add(c, c) }
      )"),
            "m (float[2] x) => (float[2] y) {\n"
            "  \"call/c\" = Abs(x)\n"
            "  y = Add(\"call/c\", \"call/c\")\n"
            "}\n");
}

TEST(Inlining, FollowsCallsInFunctionsAndSubgraphs) {
  const Model model = parse_text(R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (bool c, float[2] x) => (float[2] y) {
        y = If(c) <then_branch = t () => (u) { u = f.outer(x) }, else_branch = e () => (v) { v = Neg(x) }>
      }
      <opset_import: ["" : 17, "f" : 1], domain: "f"> outer (a) => (b) { b = f.inner(a) }
      <opset_import: ["" : 17], domain: "f"> inner (a) => (b) { b = Exp(a) }
      )");
  std::vector<std::string> ops;
  for_each_node(*model.graph, [&](const Node& node) { ops.push_back(node.op); });
  EXPECT_EQ(ops, (std::vector<std::string>{"If", "Exp", "Neg"}));
}

TEST(Inlining, BindsAttributesWithTheirDefaults) {
  EXPECT_EQ(graph_text(R"(
      <ir_version: 10, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y, float[2] z) {
        y = f.leak<slope = 0.5>(x)
        z = f.leak(x)
      }
      <opset_import: ["" : 17], domain: "f">
      leak <slope: float = 0.25> (a) => (b) { b = LeakyRelu<alpha: float = @slope>(a) }
      )"),
            "m (float[2] x) => (float[2] y, float[2] z) {\n"
            "  y = LeakyRelu<alpha = 0.5>(x)\n"
            "  z = LeakyRelu<alpha = 0.25>(x)\n"
            "}\n");
}

TEST(Inlining, KeepsTheOpsetOfTheFunction) {
  const Model model = parse_text(R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y) { y = f.old(x) }
      <opset_import: ["" : 12], domain: "f"> old (a) => (b) { b = Softmax(a) }
      )");
  EXPECT_EQ(model.graph->nodes().front()->opset, 12);
  // Written anew, the old form would be read as another operator.
  EXPECT_THROW(to_bytes(model, {.use_source = false}), Error);
}

TEST(Inlining, GivesAHandedThroughArgumentANodeOfItsOwn) {
  EXPECT_EQ(graph_text(R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y) { y = f.same(x) }
      <opset_import: ["" : 17], domain: "f"> same (a) => (a) { }
      )"),
            "m (float[2] x) => (float[2] y) {\n  y = Identity(x)\n}\n");
}

TEST(Inlining, SavesTheFileAsItWas) {
  const std::string text = R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y) { y = f.twice(x) }
      <opset_import: ["" : 17], domain: "f"> twice (a) => (b) { b = Add(a, a) }
      )";
  onnx::ModelProto saved;
  ASSERT_TRUE(saved.ParseFromString(to_bytes(parse_text(text))));
  EXPECT_EQ(saved.functions_size(), 1);
  EXPECT_EQ(saved.graph().node(0).op_type(), "twice");
}

TEST(Inlining, RefusesFunctionsThatCallThemselves) {
  const std::string problems = problems_of(R"(
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      m (float[2] x) => (float[2] y) { y = f.a(x) }
      <opset_import: ["" : 17, "f" : 1], domain: "f"> a (p) => (q) { q = f.b(p) }
      <opset_import: ["" : 17, "f" : 1], domain: "f"> b (p) => (q) { q = f.a(p) }
      )");
  EXPECT_NE(problems.find("[function-recursion] function 'a' > 'b', node 'q' (a)"),
            std::string::npos)
      << problems;
}

TEST(Inlining, RefusesFunctionsThatGrowWithoutEnd) {
  // Each calls the one before it ten times: 10^20 nodes in a few hundred bytes.
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  for (const auto& [domain, version] : {std::pair("", 17), std::pair("f", 1)}) {
    auto* import = proto.add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
  const auto call = [](auto* owner, const std::string& op, const std::string& in,
                       const std::string& out) {
    auto* node = owner->add_node();
    node->set_op_type(op);
    node->set_domain("f");
    node->add_input(in);
    node->add_output(out);
  };
  for (int i = 0; i < 20; ++i) {
    auto* function = proto.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("f");
    *function->mutable_opset_import() = proto.opset_import();
    function->add_input("v0");
    function->add_output("v10");
    for (int k = 0; k < 10; ++k) {
      call(function, "f" + std::to_string(i - 1), "v" + std::to_string(k),
           "v" + std::to_string(k + 1));
    }
    if (i > 0) continue;
    for (auto& node : *function->mutable_node()) {
      node.set_op_type("Abs");
      node.set_domain("");
    }
  }
  proto.mutable_graph()->set_name("m");
  call(proto.mutable_graph(), "f19", "x", "y");
  Problems problems;
  build_model(std::move(proto), {.problems = &problems});
  EXPECT_GT(problems.errors(), 0u);
  EXPECT_EQ(problems.list().at(1).rule, "function-size");
}

// What is wrong with a file is said, whatever it is.

TEST(Load, RefusesWhatIsNoModel) {
  EXPECT_THROW(load_bytes(""), Error);
  EXPECT_THROW(load_bytes("not a model"), Error);
  EXPECT_THROW(load_bytes(std::string(1000, '\0')), Error);
  EXPECT_THROW(load("/nonexistent/model.onnx"), Error);
  EXPECT_THROW(load("/"), Error);
}

TEST(Load, RefusesSubgraphsAThousandDeep) {
  // From the inside out, as bytes: building the messages would itself recurse.
  const auto field = [](int number, const std::string& bytes) {
    std::string length;
    for (size_t rest = bytes.size();; rest >>= 7) {
      length.push_back(static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
      if (rest <= 0x7f) break;
    }
    return std::string(1, static_cast<char>(number << 3 | 2)) + length + bytes;
  };
  std::string graph = field(2, "inner");
  for (int i = 0; i < 1000; ++i) {
    const std::string attribute = field(1, "body") + field(6, graph);
    graph = field(2, "g") + field(1, field(4, "Loop") + field(5, attribute));
  }
  EXPECT_THROW(load_bytes(field(7, graph)), Error);
}

struct BadTensor {
  const char* name;
  std::vector<int64_t> dims;
  int type;
  size_t raw_bytes;
  const char* message;
};

class BadInitializer : public testing::TestWithParam<BadTensor> {};

TEST_P(BadInitializer, IsNamedWithItsReason) {
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(17);
  proto.mutable_graph()->set_name("m");
  auto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  for (const int64_t dim : GetParam().dims) tensor->add_dims(dim);
  tensor->set_data_type(GetParam().type);
  if (GetParam().raw_bytes > 0) tensor->set_raw_data(std::string(GetParam().raw_bytes, 'x'));
  Problems problems;
  build_model(std::move(proto), {.problems = &problems});
  ASSERT_EQ(problems.errors(), 1u);
  EXPECT_EQ(to_string(problems.list()[0]), std::string("tensor 'w': ") + GetParam().message);
}

constexpr int kFloat = onnx::TensorProto::FLOAT;
INSTANTIATE_TEST_SUITE_P(
    Kinds, BadInitializer,
    testing::Values(
        BadTensor{"too_few_bytes", {2, 3}, kFloat, 20, "f32[2,3] takes 24 bytes, but 20 are given"},
        BadTensor{"too_many_bytes", {2}, kFloat, 9, "f32[2] takes 8 bytes, but 9 are given"},
        BadTensor{"negative", {2, -3}, kFloat, 24, "dimension -3 is negative in [2,-3]"},
        BadTensor{"overflow",
                  {1LL << 40, 1LL << 40},
                  kFloat,
                  8,
                  "the product of the dimensions [1099511627776,1099511627776] overflows"},
        BadTensor{"huge",
                  {1LL << 61},
                  kFloat,
                  8,
                  "f32[2305843009213693952] takes -1 bytes, but 8 are given"},
        BadTensor{"missing",
                  {1LL << 40},
                  kFloat,
                  0,
                  "float_data has 0 entries, but 1099511627776 are needed"},
        BadTensor{"unknown_type", {1}, 77, 4, "element type 77 is not known to the standard"},
        BadTensor{"no_type", {1}, 0, 4, "its element type is not given"},
        BadTensor{"strings_as_bytes",
                  {1},
                  onnx::TensorProto::STRING,
                  4,
                  "string[1] takes 1 values, but 0 are given"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Load, ReportsNamesThatAreNotUtf8) {
  onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(17);
  proto.mutable_graph()->set_name("m");
  auto* node = proto.mutable_graph()->add_node();
  node->set_op_type("RandomNormal");
  node->add_output("y\xff");
  Problems problems;
  build_model(std::move(proto), {.problems = &problems});
  ASSERT_EQ(problems.errors(), 1u);
  EXPECT_EQ(
      to_string(problems.list()[0]),
      "node 'y\\xff' (RandomNormal), tensor 'y\\xff': the name of an output is not readable UTF-8");
}

}  // namespace
}  // namespace onward
