#include "text/fill.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "format/load.h"

namespace onward {
namespace {

const std::string kHeader = R"(<ir_version: 8, opset_import: ["" : 17]>
)";

struct FillCase {
  const char* type;
  const char* rule;
  std::vector<uint64_t> bits;  // of the first elements, computed with Python's own integers
};

TEST(TextFill, GivesTheSameBitsEverywhere) {
  const FillCase cases[] = {
      {"float[2,2]", "normal(7, 0.5)", {0x3ea4c672, 0x3f70f8f0, 0xbe20737e}},
      {"double[3]",
       "uniform(3, -1, 0.25)",
       {0x3f93a9a01566fc80, 0xbfdd315efe59c476, 0xbfdfef5839b0c6ff}},
      {"float[1]", "full(-2.5)", {0xc0200000}},
      {"int64[2]", "full(-3)", {static_cast<uint64_t>(-3), static_cast<uint64_t>(-3)}},
      {"int32", "full( 7 # seven\n )", {7}},
      {"float[0]", "full(1)", {}},
  };
  for (const FillCase& each : cases) {
    const Model model =
        parse_text(fmt::format("{}g () => () <{} w = {}> {{}}", kHeader, each.type, each.rule));
    const Tensor& tensor = *model.graph->initializers()[0]->tensor();
    const size_t width = static_cast<size_t>(bits(tensor.dtype())) / 8;
    for (size_t i = 0; i < each.bits.size(); ++i) {
      uint64_t found = 0;
      std::memcpy(&found, tensor.bytes().data() + i * width, width);
      EXPECT_EQ(found, each.bits[i]) << each.rule << ", element " << i;
    }
  }
}

TEST(TextFill, HasTheMomentsThatItSays) {
  const Model model = parse_text(
      kHeader +
      "g () => () <double[50000] n = normal(11, 2), double[50000] u = uniform(12, 1, 3)> {}");
  const auto moments = [&](size_t index) {
    const auto data = model.graph->initializers()[index]->tensor()->data<double>();
    const double mean = std::accumulate(data.begin(), data.end(), 0.0) / 50000;
    double variance = 0;
    for (const double x : data) variance += (x - mean) * (x - mean) / 50000;
    return std::pair(mean, variance);
  };
  EXPECT_NEAR(moments(0).first, 0, 0.03);
  EXPECT_NEAR(moments(0).second, 4, 0.1);
  EXPECT_NEAR(moments(1).first, 2, 0.01);
  EXPECT_NEAR(moments(1).second, 1.0 / 3, 0.01);
}

TEST(TextFill, StandsWhereverAnInitializerMay) {
  const Model model = parse_text(kHeader + R"(
    g (bool c, float[2] x = full(1)) => (float y) <float[2] "w.1" = full(2), float[1] listed = {5}> {
      y = If(c) <then_branch = t () => (a) <float[1] k = full(3)> { a = Identity(k) },
                 else_branch = e () => (b) { b = normal(x) }>
      z = full(x, "w.1", listed)
    }
    training_info {
      algorithm a () => () <float[1] s = full(6)> {}
      initialization i () => () <float[1] s = full(7)> {}
    })");
  const auto first = [](const Graph& graph, size_t index) {
    return graph.initializers()[index]->tensor()->number(0);
  };
  EXPECT_EQ(first(*model.graph, 0), 1);
  EXPECT_EQ(first(*model.graph, 1), 2);
  EXPECT_EQ(first(*model.graph, 2), 5);
  EXPECT_EQ(first(*model.graph->nodes().front()->subgraphs()[0], 0), 3);
  EXPECT_EQ(model.graph->nodes().back()->op, "full");
  EXPECT_EQ(first(*model.training[0].algorithm, 0), 6);
  EXPECT_EQ(first(*model.training[0].initialization, 0), 7);
}

}  // namespace
}  // namespace onward
