#include "passes/frozen_prefix.h"

#include <gtest/gtest.h>

#include "passes/frozen_cut.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

struct Network {
  std::string name;
  std::vector<CutVertex> vertices;
  std::optional<std::vector<size_t>> cut;
};

TEST(SmallestCut, TakesTheFewestBytes) {
  const Network networks[] = {
      // The narrowest of a chain, of equal ones the last.
      {"chain", {{400, {}, true, false, 90}, {40, {0}}, {40, {1}}, {80, {2}, false, true}}, {{2}}},
      // A narrow place with most of the work behind it is passed by.
      {"early", {{10, {}, true, false, 10}, {80, {0}, false, true, 90}}, {{1}}},
      // What is needed on the way is kept, whatever comes behind it.
      {"skip", {{100, {}, true, true, 50}, {20, {0}, false, true, 50}}, {{0, 1}}},
      // Two towers that meet: after them, or at the ends of both.
      {"towers",
       {{30, {}, true, false, 50}, {30, {}, true, false, 50}, {50, {0, 1}, false, true}},
       {{2}}},
      {"wide_meeting",
       {{30, {}, true, false, 50}, {30, {}, true, false, 50}, {90, {0, 1}, false, true}},
       {{0, 1}}},
      // What cannot be kept is computed behind the cut.
      {"sizes", {{40, {}, true, false, 9}, {-1, {0}}, {20, {0, 1}, false, true}}, {{2}}},
      {"none", {{-1, {}, true, true, 9}}, std::nullopt},
  };
  for (const Network& network : networks) {
    EXPECT_EQ(smallest_cut(network.vertices), network.cut) << network.name;
  }
}

/// A step with what is trained, `w`, and constants.
Model step_of(const std::string& nodes) {
  return graph_of("(float[N, 3, 40, 40] x, int64[N] label) => (float loss) <float[16, 2] w = {" +
                  std::string("1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, "
                              "1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1") +
                  "}, int64[4] kernel = {16, 3, 3, 3}, float one = {0.5}> " + nodes);
}

FrozenSplit split(const Model& step, int64_t batch = 4) {
  std::vector<BatchTypes> batches;
  for (const int64_t size : {int64_t{1}, batch}) {
    BatchTypes types{.size = size};
    types.inputs["x"] = Type::tensor(DType::f32, std::vector<int64_t>{size, 3, 40, 40});
    types.inputs["label"] = Type::tensor(DType::i64, std::vector<int64_t>{size});
    batches.push_back(types);
  }
  return split_frozen(step, {.trained = {"w"}, .forward = {"loss"}, .batches = batches});
}

TEST(FrozenPrefix, EndsWhereTheFewestBytesAre) {
  const Model step = step_of(R"({
    k = Expand(one, kernel)
    c = Conv<pads = [1, 1, 1, 1]>(x, k)
    r = Relu(c)
    c2 = Conv<pads = [1, 1, 1, 1]>(x, k)
    sum = Add(r, c2)
    pooled = GlobalAveragePool(sum)
    flat = Flatten(pooled)
    scores = MatMul(flat, w)
    loss = SoftmaxCrossEntropyLoss(scores, label)
  })");
  FrozenSplit found = split(step);
  ASSERT_TRUE(found.prefix) << found.reason;
  ASSERT_EQ(found.prefix->cut.size(), 1U);
  EXPECT_EQ(found.prefix->cut[0].name, "flat");
  EXPECT_EQ(found.prefix->cut[0].dims, (std::vector<int64_t>{1, 16}));
  EXPECT_EQ(found.prefix->bytes, 64);
  EXPECT_EQ(found.prefix->nodes, 7U);
  EXPECT_EQ(found.prefix->all_nodes, 9U);
  EXPECT_EQ(found.prefix->multiply_adds, 2 * 16 * 40 * 40 * 27);
  EXPECT_EQ(
      lines_of(found.prefix->rest),
      (std::vector<std::string>{
          "scores = MatMul(flat, w)", "loss = SoftmaxCrossEntropyLoss(scores, label)", "gives loss",
          "w f32[16,2] = 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 1"}));
}

TEST(FrozenPrefix, SaysWhyThereIsNone) {
  struct Refused {
    std::string nodes, reason;
  };
  const Refused rows[] = {
      {"{ a = GlobalAveragePool(x) s = ReduceSum<keepdims = 0>(w) m = Mul(a, s) "
       "loss = ReduceMean<keepdims = 0>(m) }",
       "no products with weights come before"},
      {"{ k = Expand(one, kernel) s = ReduceSum<keepdims = 0>(w) h = Mul(x, s) c = Conv(h, k) loss "
       "= ReduceMean<keepdims = 0>(c) }",
       "no products with weights come before"},
      {"{ k = Expand(one, kernel) noise = RandomNormalLike(x) h = Add(x, noise) c = Conv(h, k) "
       "p = GlobalAveragePool(c) f = Flatten(p) scores = MatMul(f, w) loss = ReduceMean<keepdims = "
       "0>(scores) }",
       "no products with weights come before"},
      {"{ k = Expand(one, kernel) c = Conv<strides = [3, 3]>(x, k) p = GlobalAveragePool(c) f = "
       "Flatten(p) "
       "scores = MatMul(f, w) loss = ReduceMean<keepdims = 0>(scores) }",
       "takes 73008 multiply-adds an example, less than 1.0 million"},
      {"{ k = Expand(one, kernel) c = Conv<pads = [1, 1, 1, 1]>(x, k) d = Conv<pads = [1, 1, 1, "
       "1]>(x, k) a = Add(c, d) "
       "s = ReduceSum<keepdims = 0>(w) m = Mul(a, s) e = Mul(c, m) loss = ReduceMean<keepdims = "
       "0>(e) }",
       "for each of the 204800 bytes of an example that would be kept, less than 100"},
  };
  for (const Refused& row : rows) {
    const FrozenSplit found = split(step_of(row.nodes));
    EXPECT_FALSE(found.prefix) << row.nodes;
    EXPECT_NE(found.reason.find(row.reason), std::string::npos) << found.reason << "\n"
                                                                << row.nodes;
  }
}

}  // namespace
}  // namespace onward
