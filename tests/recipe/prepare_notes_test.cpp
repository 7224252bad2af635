// What prepare points out of a model.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "format/load.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

/// Convolutions one after the other, with biases; %s is what comes before the names of tensors.
std::string chain(std::string_view producer, std::string_view prefix, int count,
                  std::string_view last = "") {
  std::string tensors, nodes;
  std::string x = "x";
  for (int i = 0; i < count; ++i) {
    tensors +=
        fmt::format("{}double[2,2,1,1] \"{}{}.w\" = normal({}, 1), double[2] \"{}{}.b\" = full(0)",
                    i ? ", " : "", prefix, i, i, prefix, i);
    nodes += fmt::format("c{0} = Conv({1}, \"{2}{0}.w\", \"{2}{0}.b\") r{0} = Relu(c{0}) ", i, x,
                         prefix);
    x = fmt::format("r{}", i);
  }
  return fmt::format(
      "<ir_version: 8, opset_import: [\"\" : 17], producer_name: \"{}\"> g (double[N,2,4,4] x) => "
      "(double[N,2,4,4] y) <{}> {{ {} {} y = Neg({}) }}",
      producer, tensors, nodes, last, x);
}

std::vector<std::string> notes_of(const std::string& text, const Recipe& recipe = {.loss = "mse"}) {
  return prepare_with_reasons(parse_text(text), recipe).notes;
}

bool tells_of_folding(const std::vector<std::string>& notes) {
  return std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("BatchNormalization was folded into the ");
  });
}

TEST(PrepareNotesTest, FoldedNormalizationIsToldWhereNamesTellIt) {
  EXPECT_TRUE(tells_of_folding(notes_of(chain("pytorch", "onnx::Conv_19", 6))));
  EXPECT_TRUE(tells_of_folding(notes_of(chain("tf2onnx", "net/bn_3/FusedBatchNormV3_", 6))));
  EXPECT_TRUE(tells_of_folding(notes_of(chain("", "features.bn", 6))));
  // Convolutions that never had one, too few of them, and names that only look so.
  EXPECT_FALSE(tells_of_folding(notes_of(chain("pytorch", "features.", 6))));
  EXPECT_FALSE(tells_of_folding(notes_of(chain("pytorch", "onnx::Conv_19", 4))));
  EXPECT_FALSE(tells_of_folding(notes_of(chain("", "onnx::Conv_19", 6))));
  EXPECT_FALSE(tells_of_folding(notes_of(chain("", "subnet.", 6))));
}

TEST(PrepareNotesTest, LargeTensorsThatStayUntrained) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]> g (double[N,40] x) => (double[N,40] y) "
      "<double[40,40] w = normal(1, 1), double[40,40] places = normal(2, 1), double[40] few = "
      "full(1)> { m = MatMul(x, w) z = MatMul(m, w) s = ReduceSum<keepdims = 0>(places) a = Mul(z, "
      "few) y = Add(a, s) }";
  const std::string note =
      "'places' f64[40,40] has 49 % of all weights and is not trained: operand of ReduceSum 's', "
      "not a layer's weight; --train 'places' trains it";
  const auto has = [&](const std::vector<std::string>& notes) {
    return std::ranges::find(notes, note) != notes.end();
  };
  EXPECT_TRUE(has(notes_of(text)));
  EXPECT_FALSE(has(notes_of(text, {.loss = "mse", .freeze = {"places"}})));
  EXPECT_FALSE(has(notes_of(text, {.loss = "mse", .train = {"places"}})));
}

}  // namespace
}  // namespace onward
