#include "emit/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>

#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward::emit {
namespace {

TEST(Safetensors, ComeBackAsTheyWere) {
  const TemporaryFolder folder;
  const NamedTensors tensors = {
      {"flags",
       Tensor::from_bytes(DType::boolean, {3}, std::make_shared<const std::string>("\1\0\1", 3))},
      {"a.weight", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
      {"step", Tensor::scalar<int64_t>(7)},
      {"empty", Tensor::of<double>({0, 4}, {})},
      {"b", Tensor::of<double>({2}, {0.1, -0.2})},
  };
  write_safetensors(folder.path() / "t", tensors, {{"save", "x"}});
  const Safetensors read = read_safetensors(folder.path() / "t");
  EXPECT_EQ(read.metadata.at("save"), "x");
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& other = read.tensors.at(name);
    EXPECT_EQ(other.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(other.dims(), tensor.dims()) << name;
    EXPECT_TRUE(std::ranges::equal(other.bytes(), tensor.bytes())) << name;
  }
}

TEST(Safetensors, DataIsAligned) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "t", {{"small", Tensor::of<int8_t>({3}, {1, 2, 3})},
                                          {"large", Tensor::of<double>({2}, {1, 2})}});
  const Safetensors read = read_safetensors(folder.path() / "t");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.tensors.at("large").bytes().data()) % 8, 0U);
}

TEST(Safetensors, TypesThatTheFormatLacksAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_safetensors(folder.path() / "t", {{"s", Tensor::of_strings({1}, {"a"})}}),
               Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "t"));
}

TEST(Safetensors, NamesThatTheFormatCanNotKeepApartAreRefused) {
  const TemporaryFolder folder;
  const Tensor one = Tensor::scalar<float>(1);
  EXPECT_THROW(write_safetensors(folder.path() / "t", {{"__metadata__", one}}), Error);
  EXPECT_THROW(write_safetensors(folder.path() / "t", {{"a", one}, {"a", one}}), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "t"));
}

struct Damaged {
  std::string header;
  std::string data;
  std::string words;  // of the refusal
};

class DamagedFile : public testing::TestWithParam<Damaged> {};

TEST_P(DamagedFile, IsRefused) {
  const TemporaryFolder folder;
  const uint64_t length = GetParam().header.size();
  std::ofstream(folder.path() / "t", std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), sizeof length) << GetParam().header
      << GetParam().data;
  try {
    read_safetensors(folder.path() / "t");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().words), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, DamagedFile,
    testing::Values(
        Damaged{"{", "", "header is damaged"}, Damaged{"[1]", "", "header is damaged"},
        Damaged{R"({"a": 3})", "", "header is damaged"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [2]}})", "", "header is damaged"},
        Damaged{R"({"a": {"dtype": "F99", "shape": [], "data_offsets": [0, 4]}})", "1234", "F99"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", "1234", "'a'"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", "1234",
                "outside of the file"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", "1234",
                "outside of the file"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", "1234",
                "takes 8 bytes"},
        Damaged{R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296],
                 "data_offsets": [0, 4]}})",
                "1234", "'a'"}),
    [](const auto& tested) { return std::to_string(tested.index); });

TEST(Safetensors, LengthsBeyondTheFileAreRefused) {
  const TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string("short"), std::string(8, '\xff'), std::string("\x10\0\0\0\0\0\0\0{}", 10)}) {
    std::ofstream(folder.path() / "t", std::ios::binary) << bytes;
    EXPECT_THROW(read_safetensors(folder.path() / "t"), Error);
  }
}

}  // namespace
}  // namespace onward::emit
