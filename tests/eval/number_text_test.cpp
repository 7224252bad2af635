// Texts that are numbers, and numbers as texts.

#include "eval/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onward/error.h"

namespace onward::eval {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Read {
  std::string text;
  DType to;
  double number;
};

const Read kRead[] = {
    {"1.5", DType::f32, 1.5},
    {" -2\n", DType::f32, -2},
    {"+1e3", DType::f64, 1000},
    {"1E-3", DType::f64, 0.001},
    {".5", DType::f32, 0.5},
    {"INF", DType::f32, kInfinity},
    {"-inf", DType::f64, -kInfinity},
    {"+Infinity", DType::f16, kInfinity},
    {"nAn", DType::f32, kNaN},
    {"0.1", DType::f32, 0.1F},
    // Halfway between two floats of 16 bits but for the last digits, which float32 would round
    // away.
    {"1.00048828126", DType::f16, 1.0009765625},
    {"70000", DType::f16, kInfinity},
    {"1e-60", DType::f32, 0},
    {"-1e-400", DType::f64, 0},
    {"100.9", DType::i64, 100},
    {"-1.9", DType::i8, -1},
    {"1e3", DType::i32, 1000},
    {"255", DType::u8, 255},
    {"-0", DType::u8, 0},
    {"18446744073709551615", DType::u64, 18446744073709551615.0},
    {"-8", DType::i4, -8},
    {"0.0", DType::boolean, 0},
    {"2", DType::boolean, 1},
};

TEST(NumberText, IsRead) {
  for (const Read& row : kRead) {
    SCOPED_TRACE(row.text + " as " + std::string(name(row.to)));
    const Tensor number = texts_to_numbers(Tensor::of_strings({1, 1}, {row.text}), row.to);
    EXPECT_EQ(number.dims(), (std::vector<int64_t>{1, 1}));
    EXPECT_EQ(number.dtype(), row.to);
    if (std::isnan(row.number)) {
      EXPECT_TRUE(std::isnan(number.number(0)));
    } else {
      EXPECT_EQ(number.number(0), row.number);
    }
  }
  const Tensor large = texts_to_numbers(Tensor::of_strings({1}, {"9007199254740993"}), DType::i64);
  EXPECT_EQ(large.integer(0), 9007199254740993);
}

struct Refused {
  std::string text;
  DType to;
  std::string because;
};

const Refused kRefused[] = {
    {"", DType::f32, "'' is no number"},
    {" ", DType::i32, "' ' is no number"},
    {"abc", DType::f32, "'abc' is no number"},
    {"12abc", DType::i64, "'12abc' is no number"},
    {"1_0", DType::f32, "'1_0' is no number"},
    {"0x10", DType::f32, "'0x10' is no number"},
    {"1 2", DType::f32, "'1 2' is no number"},
    {"+-1", DType::f32, "'+-1' is no number"},
    {"++1", DType::i32, "'++1' is no number"},
    {"True", DType::boolean, "'True' is no number"},
    {"1e400", DType::f64, "'1e400' is beyond the range of f64"},
    {"1e39", DType::f32, "'1e39' is beyond the range of f32"},
    {"300", DType::u8, "'300' is beyond the range of u8"},
    {"-1", DType::u64, "'-1' is beyond the range of u64"},
    {"8", DType::i4, "'8' is beyond the range of i4"},
    {"1e19", DType::i64, "'1e19' is beyond the range of i64"},
    {"9223372036854775808", DType::i64, "'9223372036854775808' is beyond the range of i64"},
    {"inf", DType::i32, "'inf' is beyond the range of i32"},
    {"nan", DType::i64, "'nan' is beyond the range of i64"},
};

TEST(NumberText, IsRefused) {
  for (const Refused& row : kRefused) {
    SCOPED_TRACE(row.text + " as " + std::string(name(row.to)));
    try {
      texts_to_numbers(Tensor::of_strings({2}, {"1", row.text}), row.to);
      ADD_FAILURE() << "it was taken";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), row.because);
    }
  }
}

TEST(NumberText, IsWritten) {
  const auto written = [](const Tensor& numbers) { return numbers_to_texts(numbers).strings(); };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      written(Tensor::of<float>(
          {2, 5}, {1.5F, -3, 0.1F, 1e20F, 100000, 1.0F / 3, -0.0F, NAN, INFINITY, -INFINITY})),
      (Texts{"1.5", "-3", "0.1", "1e+20", "100000", "0.33333334", "-0", "NaN", "INF", "-INF"}));
  EXPECT_EQ(written(Tensor::of<double>({1}, {0.1})), Texts{"0.1"});
  EXPECT_EQ(written(Tensor::of<int64_t>({2}, {-5, INT64_MAX})),
            (Texts{"-5", "9223372036854775807"}));
  EXPECT_EQ(written(Tensor::of<uint8_t>({1}, {200})), Texts{"200"});
  EXPECT_EQ(
      written(Tensor::from_bytes(DType::boolean, {2}, std::make_shared<std::string>("\1\0", 2))),
      (Texts{"1", "0"}));
  EXPECT_EQ(numbers_to_texts(Tensor::of<float>({0, 3}, {})).dims(), (std::vector<int64_t>{0, 3}));
}

}  // namespace
}  // namespace onward::eval
