#include "data/feeds.h"

#include <gtest/gtest.h>

#include "onward/error.h"

namespace onward {
namespace {

InputSlot slot(const std::string& name, DType dtype, Shape shape, bool optional = false) {
  return {.name = name, .type = Type::tensor(dtype, std::move(shape)), .optional = optional};
}

const Dim kBatch = Dim::named("N");

Dataset images() {
  return Dataset({{"image", Tensor::of<uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6})},
                  {"label", Tensor::of<int64_t>({3}, {7, 8, 9})}});
}

struct Case {
  std::string name;
  std::vector<InputSlot> slots;
  ArrayNames names;
  std::string error;  // empty where it fits
};

class FeedsTest : public testing::TestWithParam<Case> {};

TEST_P(FeedsTest, FitOrSayWhy) {
  const Case& c = GetParam();
  try {
    const Feeds feeds(images(), c.slots, c.names);
    EXPECT_EQ(c.error, "");
  } catch (const Error& error) {
    ASSERT_NE(c.error, "") << error.what();
    EXPECT_NE(std::string(error.what()).find(c.error), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("the data has image u8[3,2], label i64[3]"),
              std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, FeedsTest,
    testing::Values(
        Case{"exact", {slot("image", DType::u8, {kBatch, Dim::known(2)})}, {}, ""},
        Case{"converted", {slot("image", DType::f32, {kBatch, Dim::known(2)})}, {}, ""},
        Case{"renamed", {slot("x", DType::f32, {kBatch, Dim{}})}, {{"x", "image"}}, ""},
        Case{"left_out", {slot("rate", DType::f32, {}, true)}, {}, ""},
        Case{"missing", {slot("x", DType::f32, {kBatch})}, {}, "no array 'x' for input 'x' f32[N]"},
        Case{"missing_renamed",
             {slot("image", DType::f32, {kBatch}, true)},
             {{"image", "picture"}},
             "no array 'picture'"},
        Case{"unknown_input", {}, {{"z", "image"}}, "no input 'z'"},
        Case{"narrower", {slot("label", DType::i32, {kBatch})}, {}, ""},
        Case{"float_labels", {slot("label", DType::f32, {kBatch})}, {}, ""},
        Case{"column", {slot("label", DType::i64, {kBatch, Dim::known(1)})}, {}, ""},
        Case{"type",
             {slot("label", DType::boolean, {kBatch})},
             {},
             "array 'label' is i64, but input 'label' takes bool: i64 is not converted to bool: "
             "pass an array of bool"},
        Case{"range", {slot("label", DType::u2, {kBatch})}, {}, "i64 is not converted to u2"},
        Case{"rank", {slot("label", DType::i64, {kBatch, Dim::known(2)})}, {}, "does not fit"},
        Case{"width", {slot("image", DType::f32, {kBatch, Dim::known(4)})}, {}, "does not fit"},
        Case{"two_batches",
             {slot("image", DType::f32, {Dim::known(2), Dim{}}),
              slot("label", DType::i64, {Dim::known(3)})},
             {},
             "has a fixed batch size of 3"}),
    [](const auto& info) { return info.param.name; });

TEST(Feeds, CutsBatches) {
  const Feeds feeds(
      images(), {slot("image", DType::f32, {kBatch, Dim{}}), slot("label", DType::i64, {kBatch})});
  EXPECT_FALSE(feeds.fixed_batch());
  const Arrays batch = feeds.batch(std::vector<int64_t>{2, 0});
  EXPECT_EQ(to_string(batch.at("image").type()), "f32[2,2]");
  EXPECT_EQ(batch.at("image").number(0), 5);
  EXPECT_EQ(batch.at("label").integers(), (std::vector<int64_t>{9, 7}));
}

TEST(Feeds, KnowsAFixedBatch) {
  EXPECT_EQ(Feeds(images(), {slot("image", DType::f32, {Dim::known(4), Dim{}})}).fixed_batch(), 4);
}

}  // namespace
}  // namespace onward
