#include "data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "data/convert.h"
#include "data/idx.h"
#include "data/npy.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor f32(std::vector<int64_t> dims) {
  std::vector<float> values(static_cast<size_t>(checked_element_count(dims)));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::of<float>(std::move(dims), values);
}

TEST(Dataset, ArraysHaveOneLength) {
  EXPECT_EQ(Dataset({{"x", f32({4, 2})}, {"y", f32({4})}, {"rate", f32({})}}).size(), 4);
  EXPECT_EQ(message([] { Dataset({{"x", f32({4, 2})}, {"y", f32({5})}}); }),
            "array 'x' has 4 examples, 'y' has 5");
  EXPECT_EQ(message([] { Dataset({{"x", f32({0, 2})}}); }), "the data has no examples");
  EXPECT_NE(message([] { Dataset({{"x", f32({})}}); }).find("no array whose first dimension"),
            std::string::npos);
}

TEST(Dataset, FingerprintTellsDataApart) {
  const auto print = [](Arrays arrays) { return Dataset(std::move(arrays)).fingerprint(); };
  const uint64_t first = print({{"x", f32({4, 2})}});
  EXPECT_EQ(first, print({{"x", f32({4, 2})}}));
  EXPECT_NE(first, print({{"y", f32({4, 2})}}));
  EXPECT_NE(first, print({{"x", f32({8, 1})}}));
  EXPECT_NE(first, print({{"x", Tensor::of<float>({4, 2}, {0, 1, 2, 3, 4, 5, 7, 6})}}));
  EXPECT_NE(print({{"x", Tensor::of<uint8_t>({11}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}}),
            print({{"x", Tensor::of<uint8_t>({11}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12})}}));
  EXPECT_NE(print({{"x", Tensor::of_strings({2}, {"ab", "c"})}}),
            print({{"x", Tensor::of_strings({2}, {"a", "bc"})}}));
}

TEST(Dataset, AFileThatIsCutIsAnError) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.npy";
  write_npy(f32({3000, 2}), file);
  const Dataset data = open_dataset(file.string());
  const std::vector<int64_t> rows = {0, 2990};
  EXPECT_EQ(take_rows(data.arrays().at("x"), rows).number(2), 5980);
  const uint64_t print = data.fingerprint();
  // Within a page zeros would take the place of what is gone, beyond it the program would end.
  for (const auto left : {std::filesystem::file_size(file) - 100, uintmax_t{200}}) {
    std::filesystem::resize_file(file, left);
    const std::string words = "x.npy' was truncated while in use";
    EXPECT_NE(message([&] { take_rows(data.arrays().at("x"), rows); }).find(words),
              std::string::npos);
    EXPECT_NE(message([&] { data.fingerprint(); }).find(words), std::string::npos);
  }
  write_npy(f32({3000, 2}), file);
  EXPECT_EQ(open_dataset(file.string()).fingerprint(), print);
}

TEST(Dataset, RowsAreTaken) {
  const std::vector<int64_t> rows = {2, 0};
  EXPECT_EQ(take_rows(Tensor::of<int16_t>({3, 2}, {1, 2, 3, 4, 5, 6}), rows).integers(),
            (std::vector<int64_t>{5, 6, 1, 2}));
  EXPECT_EQ(take_rows(Tensor::of_strings({3}, {"a", "b", "c"}), rows).strings(),
            (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(take_rows(Tensor::scalar<float>(7), rows).number(0), 7);
}

TEST(Order, IsAPermutationThatDependsOnSeedAndEpoch) {
  const auto order = shuffled_order(1000, 1, 2);
  auto sorted = order;
  std::ranges::sort(sorted);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[static_cast<size_t>(i)], i);
  EXPECT_EQ(order, shuffled_order(1000, 1, 2));
  EXPECT_NE(order, shuffled_order(1000, 1, 3));
  EXPECT_NE(order, shuffled_order(1000, 2, 2));
}

TEST(Order, IsTheSameOnEveryMachine) {
  EXPECT_EQ(shuffled_order(8, 0, 0), (std::vector<int64_t>{2, 1, 4, 3, 5, 7, 0, 6}));
}

TEST(Order, MovesEveryExampleEverywhere) {
  // Each of 6 places is as likely for each example: 600 expected, 5 deviations are 112.
  std::vector<int> counts(36, 0);
  for (uint64_t epoch = 0; epoch < 3600; ++epoch) {
    const auto order = shuffled_order(6, 7, epoch);
    for (size_t place = 0; place < 6; ++place)
      ++counts[place * 6 + static_cast<size_t>(order[place])];
  }
  for (const int count : counts) EXPECT_NEAR(count, 600, 112);
}

TEST(Convert, OnlyWhatIsExact) {
  const DType exact[][2] = {
      {DType::u8, DType::f32},      {DType::u8, DType::i64},   {DType::i8, DType::i16},
      {DType::i32, DType::i64},     {DType::u16, DType::f32},  {DType::f32, DType::f64},
      {DType::f16, DType::f32},     {DType::bf16, DType::f32}, {DType::i32, DType::f64},
      {DType::boolean, DType::f32}, {DType::u32, DType::i64},  {DType::string, DType::string}};
  for (const auto& [from, to] : exact) {
    EXPECT_TRUE(converts_exactly(from, to)) << name(from) << " " << name(to);
  }
  const DType refused[][2] = {
      {DType::f64, DType::f32}, {DType::i64, DType::i32},    {DType::i64, DType::f64},
      {DType::i32, DType::f32}, {DType::i8, DType::u8},      {DType::i8, DType::u64},
      {DType::f32, DType::i64}, {DType::u8, DType::boolean}, {DType::u8, DType::string},
      {DType::c64, DType::f64}, {DType::f32, DType::f16},    {DType::u64, DType::i64},
      {DType::bf16, DType::f16}};
  for (const auto& [from, to] : refused) {
    EXPECT_FALSE(converts_exactly(from, to)) << name(from) << " " << name(to);
  }
  EXPECT_EQ(converted(Tensor::of<int8_t>({2}, {-128, 127}), DType::f32).number(0), -128);
  EXPECT_EQ(converted(Tensor::of<uint32_t>({1}, {4294967295U}), DType::i64).integer(0), 4294967295);
}

struct Loss {
  Tensor tensor;
  DType to;
  std::string problem;  // empty where it converts
};

TEST(Convert, KeepsIntegersAndRoundsFloats) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto doubles = [](const std::vector<double>& values) {
    return Tensor::of<double>({static_cast<int64_t>(values.size())}, values);
  };
  const auto integers = [](const std::vector<int64_t>& values) {
    return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
  };
  const Loss cases[] = {
      {doubles({0.1, inf, -1e38}), DType::f32, ""},
      {doubles({0, 1e39}), DType::f32, "element 1 is 1e+39, which f32 cannot represent"},
      {doubles({7e4}), DType::f16, "element 0 is 70000, which f16 cannot represent"},
      {doubles({7e4}), DType::bf16, ""},
      {doubles({0, 2, -3}), DType::i64, ""},
      {doubles({0, 0.5}), DType::i64,
       "element 1 is 0.5, which i64 cannot represent: pass integers"},
      {doubles({-1}), DType::u8, "element 0 is -1"},
      {doubles({1e19}), DType::i64, "element 0 is 1e+19"},
      {doubles({1e19}), DType::u64, ""},
      {doubles({inf}), DType::i64, "element 0 is inf"},
      {integers({1 << 24}), DType::f32, ""},
      {integers({(1 << 24) + 1}), DType::f32, "pass floats to allow rounding"},
      {integers({1LL << 40}), DType::f32, ""},
      {integers({(1LL << 53) + 1}), DType::f64, "element 0 is 9007199254740993"},
      {integers({127, -128}), DType::i8, ""},
      {integers({128}), DType::i8, "element 0 is 128, which i8 cannot represent"},
      {integers({-1}), DType::u64, "element 0 is -1"},
      {Tensor::of<uint64_t>({1}, {1ULL << 63}), DType::i64, "which i64 cannot represent"},
      {Tensor::of<uint64_t>({1}, {1ULL << 63}), DType::f64, "which f64 cannot represent"},
      {integers({1}), DType::boolean, "i64 is not converted to bool: pass an array of bool"},
      {Tensor::of_strings({1}, {"a"}), DType::f32, "string is not converted to f32"},
  };
  for (const Loss& each : cases) {
    const auto problem = conversion_problem(each.tensor, each.to);
    EXPECT_EQ(problem.has_value(), !each.problem.empty()) << problem.value_or(name(each.to).data());
    EXPECT_NE(problem.value_or("").find(each.problem), std::string::npos) << problem.value_or("");
    if (problem) continue;
    const Tensor result = converted(each.tensor, each.to);
    ASSERT_EQ(result.dtype(), each.to);
    for (int64_t i = 0; i < result.size(); ++i) {
      const double value = each.tensor.number(i);
      if (is_float(each.to) && std::isfinite(value)) {
        EXPECT_NEAR(result.number(i), value, std::abs(value) / 100);
      } else {
        EXPECT_EQ(result.number(i), value);
      }
    }
  }
}

struct Rank {
  std::vector<int64_t> given;
  Shape wanted;
  std::string result;  // or the problem
};

TEST(Convert, AddsOrDropsALastDimensionOfOne) {
  const Dim n = Dim::named("N"), one = Dim::known(1), two = Dim::known(2);
  const Rank cases[] = {
      {{2}, {n, one}, "f32[2,1]"},
      {{2, 1}, {n}, "f32[2]"},
      {{}, {one}, "f32[1]"},
      {{1}, {}, "f32[]"},
      {{2, 1}, {n, one}, "f32[2,1]"},
      {{2, 2}, {n, two}, "f32[2,2]"},
      {{2}, {n, n}, "f32[2] does not fit f32[N,N]: rank 2 and rank 1"},
      {{2}, {one, n}, "f32[2] does not fit f32[1,N]: rank 2 and rank 1"},
      {{2}, {n, one, one}, "f32[2] does not fit f32[N,1,1]: rank 3 and rank 1"},
      {{2, 2}, {n}, "f32[2,2] does not fit f32[N]: rank 1 and rank 2"},
      {{1, 2}, {n}, "f32[1,2] does not fit f32[N]: rank 1 and rank 2"},
  };
  for (const Rank& each : cases) {
    int64_t count = 1;
    for (const int64_t dim : each.given) count *= dim;
    const auto array =
        Tensor::of<float>(each.given, std::vector<float>(static_cast<size_t>(count)));
    std::string result;
    try {
      result = to_string(fitted(array, Type::tensor(DType::f32, each.wanted)).type());
    } catch (const Error& error) {
      result = error.what();
    }
    EXPECT_EQ(result, each.result);
  }
}

std::string idx(const std::string& dims, const std::string& data) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(dims.size() / 4);
  return file + dims + data;
}

TEST(Idx, RefusesHostileFiles) {
  const auto parse = [](const std::string& file) {
    return message([&] { parse_idx(std::as_bytes(std::span(file))); });
  };
  EXPECT_EQ(parse(""), "it is not an IDX file");
  EXPECT_EQ(parse("PK\x03\x04"), "it is not an IDX file");
  EXPECT_NE(parse(std::string("\0\0\x0d\1\0\0\0\1", 8)).find("element type 13"), std::string::npos);
  EXPECT_EQ(parse(std::string("\0\0\x08\xff\0\0", 6)), "it is truncated");
  EXPECT_NE(parse(idx(std::string("\1\2\3\4", 4), "x")).find("announces [16909060]"),
            std::string::npos);
  const std::string four_gigabytes("\xff\xff\xff\xff", 4);
  EXPECT_NE(parse(idx(four_gigabytes, "x")).find("holds 1 bytes"), std::string::npos);
  EXPECT_NE(parse(idx(four_gigabytes + four_gigabytes + four_gigabytes, "")).find("overflows"),
            std::string::npos);
}

TEST(Idx, ReadsMnist) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  };
  const std::string two_images("\0\0\0\2\0\0\0\1\0\0\0\2", 12);
  write("train-images-idx3-ubyte", idx(two_images, std::string("\0\xff\x33\0", 4)));
  write("train-labels.idx1-ubyte", idx(std::string("\0\0\0\2", 4), std::string("\7\0", 2)));
  const Dataset data = open_dataset("mnist:" + folder.path().string());
  EXPECT_EQ(data.description(), "image f32[2,1,1,2], label i64[2]");
  EXPECT_EQ(data.arrays().at("image").number(1), 1);
  EXPECT_EQ(data.arrays().at("image").data<float>()[2], 0.2F);
  EXPECT_EQ(data.arrays().at("label").integers(), (std::vector<int64_t>{7, 0}));
  EXPECT_NE(message([&] {
              open_dataset("mnist-test:" + folder.path().string());
            }).find("t10k-images-idx3-ubyte, t10k-images-idx3-ubyte.gz"),
            std::string::npos);
}

TEST(OpenDataset, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& name) {
    return message([&] { open_dataset((folder.path() / name).string()); });
  };
  EXPECT_NE(open("missing.npz").find("there is no file or folder"), std::string::npos);
  EXPECT_NE(open("").find("has no .npy files"), std::string::npos);
  std::ofstream(folder.path() / "table.txt") << "1,2\n";
  EXPECT_NE(open("table.txt").find("is not in a supported format"), std::string::npos);
  std::ofstream(folder.path() / "bad.npz") << "1,2\n";
  EXPECT_NE(open("bad.npz").find("bad.npz"), std::string::npos);
}

}  // namespace
}  // namespace onward
