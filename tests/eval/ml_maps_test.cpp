// Operators of ai.onnx.ml that take or give maps.

#include <gtest/gtest.h>

#include <functional>

#include "eval/kernel.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::eval {
namespace {

using Payload = std::variant<int64_t, std::string, std::vector<int64_t>, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, Payload>>;

std::vector<RuntimeValue> run_ml(const std::string& op, const RuntimeValue& x,
                                 const Attributes& attributes) {
  Graph graph;
  Node* node = graph.add_node(op, {graph.add_input("x", x.type())});
  node->domain = "ai.onnx.ml";
  node->opset = 5;
  for (const auto& [name, value] : attributes) {
    std::visit([&](const auto& given) { set_attribute(*node, name, given); }, value);
  }
  node->add_output("y");
  const RuntimeValue* inputs[] = {&x};
  return run_node(*node, inputs, {});
}

RuntimeValue float_map(const std::vector<int64_t>& keys, const std::vector<float>& values) {
  RuntimeMap map{.keys = Tensor::of<int64_t>({static_cast<int64_t>(keys.size())}, keys),
                 .values = {}};
  for (const float value : values) map.values.emplace_back(Tensor::scalar<float>(value));
  return map;
}

RuntimeValue text_map(const std::vector<int64_t>& keys, const std::vector<std::string>& values) {
  RuntimeMap map{.keys = Tensor::of<int64_t>({static_cast<int64_t>(keys.size())}, keys),
                 .values = {}};
  for (const std::string& value : values) map.values.emplace_back(Tensor::of_strings({}, {value}));
  return map;
}

std::vector<double> numbers_of(const RuntimeValue& value) {
  std::vector<double> numbers;
  const Tensor& tensor = value.tensor();
  for (int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(MlMaps, CastMapOrdersByKeys) {
  const RuntimeValue map = float_map({5, 0, 2}, {1.5, 2.5, -3.5});
  const auto dense = run_ml("CastMap", map, {});
  EXPECT_EQ(dense[0].tensor().dims(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(numbers_of(dense[0]), (std::vector<double>{2.5, -3.5, 1.5}));
  const auto sparse = run_ml(
      "CastMap", map, {{"map_form", "SPARSE"}, {"max_map", int64_t{7}}, {"cast_to", "TO_INT64"}});
  EXPECT_EQ(sparse[0].tensor().dtype(), DType::i64);
  EXPECT_EQ(numbers_of(sparse[0]), (std::vector<double>{2, 0, -3, 0, 0, 1, 0}));
  const auto parsed = run_ml("CastMap", text_map({1, 0}, {"0.5", "-2"}), {});
  EXPECT_EQ(numbers_of(parsed[0]), (std::vector<double>{-2, 0.5}));
  const auto written = run_ml("CastMap", map, {{"cast_to", "TO_STRING"}});
  EXPECT_EQ(written[0].tensor().strings(), (std::vector<std::string>{"2.5", "-3.5", "1.5"}));
}

TEST(MlMaps, CastMapRefusesWhatItCannotPlace) {
  const RuntimeValue map = float_map({5}, {1});
  const auto sparse = [&](int64_t length) {
    return refusal([&] { run_ml("CastMap", map, {{"map_form", "SPARSE"}, {"max_map", length}}); });
  };
  EXPECT_NE(sparse(5).find("key 5 is out of range for a map of 5"), std::string::npos);
  EXPECT_NE(sparse(int64_t{1} << 40).find("is out of range"), std::string::npos);
  EXPECT_NE(
      refusal([&] { run_ml("CastMap", text_map({0}, {"one"}), {}); }).find("'one' is no number"),
      std::string::npos);
}

TEST(MlMaps, DictVectorizerPutsValuesWhereTheirWordsAre) {
  const std::vector<int64_t> vocabulary = {4, 2, 9};
  const auto y =
      run_ml("DictVectorizer", float_map({9, 4}, {1.5, 2.5}), {{"int64_vocabulary", vocabulary}});
  EXPECT_EQ(y[0].tensor().dims(), (std::vector<int64_t>{3}));
  EXPECT_EQ(numbers_of(y[0]), (std::vector<double>{2.5, 0, 1.5}));
  EXPECT_NE(refusal([&] {
              run_ml("DictVectorizer", float_map({3}, {1}), {{"int64_vocabulary", vocabulary}});
            }).find("key '3' is not in its vocabulary"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              run_ml("DictVectorizer", float_map({3}, {1}),
                     {{"string_vocabulary", std::vector<std::string>{"a"}}});
            }).find("it has no vocabulary of keys of type i64"),
            std::string::npos);
}

TEST(MlMaps, ZipMapNamesColumns) {
  const Tensor scores = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto y =
      run_ml("ZipMap", scores, {{"classlabels_strings", std::vector<std::string>{"no", "yes"}}});
  const RuntimeSequence& rows = y[0].sequence();
  ASSERT_EQ(rows.values.size(), 2);
  EXPECT_EQ(to_string(y[0].type()), "seq(map(string, f32[]))");
  const RuntimeMap& second = rows.values[1].map();
  EXPECT_EQ(second.keys.strings(), (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(second.values[0].tensor().number(0), 3);
  EXPECT_EQ(second.values[1].tensor().number(0), 4);
  EXPECT_NE(refusal([&] {
              run_ml("ZipMap", scores, {{"classlabels_int64s", std::vector<int64_t>{1, 2, 3}}});
            }).find("3 labels for scores of shape [2,2]"),
            std::string::npos);
}

}  // namespace
}  // namespace onward::eval
