#include "proto/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(model_folder_ / "inner");
    write_file(model_folder_ / "weights.bin", "0123456789");
    write_file(model_folder_ / "inner" / "weights.bin", "abc");
    write_file(folder_.path() / "secret", "secret");
    fs::create_symlink("weights.bin", model_folder_ / "link_inside");
    fs::create_symlink("../secret", model_folder_ / "link_outside");
    fs::create_directory_symlink("..", model_folder_ / "folder_link");
    ::mkfifo((model_folder_ / "pipe").c_str(), 0600);
  }

  std::string read(const std::string& location, int64_t offset, std::optional<int64_t> length) {
    const auto found = ExternalFiles(model_folder_).map(location, offset, length);
    return {reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size()};
  }

  std::string refusal(const std::string& location, int64_t offset = 0,
                      std::optional<int64_t> length = 1) {
    try {
      return "gave '" + read(location, offset, length) + "'";
    } catch (const Error& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
  fs::path model_folder_ = folder_.path() / "model";
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(read("weights.bin", 2, 3), "234");
  EXPECT_EQ(read("weights.bin", 8, std::nullopt), "89");
  EXPECT_EQ(read("weights.bin", 10, 0), "");
  EXPECT_EQ(read("inner/weights.bin", 0, 3), "abc");
  EXPECT_EQ(read("./inner/weights.bin", 0, 3), "abc");
  EXPECT_EQ(read("link_inside", 0, 1), "0");
}

TEST_F(ExternalData, IsConfinedToTheModelsFolder) {
  EXPECT_EQ(refusal("../secret"), "external data '../secret' leaves the model's folder");
  EXPECT_EQ(refusal("inner/../../secret"),
            "external data 'inner/../../secret' leaves the model's folder");
  const std::string absolute = (folder_.path() / "secret").string();
  EXPECT_EQ(refusal(absolute), "external data '" + absolute + "' has an absolute path");
  EXPECT_EQ(refusal("link_outside"),
            "external data 'link_outside' leaves the model's folder through a symbolic link");
  EXPECT_EQ(refusal("folder_link/secret"),
            "external data 'folder_link/secret' leaves the model's folder through a symbolic link");
}

TEST_F(ExternalData, IsRefusedWhereTheRangeLeavesTheFile) {
  EXPECT_EQ(refusal("weights.bin", 8, 3),
            "external data 'weights.bin' has 10 bytes, but 3 from byte 8 are needed");
  EXPECT_NE(refusal("weights.bin", -1).find("from byte -1"), std::string::npos);
  EXPECT_NE(refusal("weights.bin", 0, -5).find("-5 from byte 0"), std::string::npos);
  EXPECT_NE(refusal("weights.bin", INT64_MAX, INT64_MAX).find("are needed"), std::string::npos);
}

TEST_F(ExternalData, IsRefusedWhereItIsNoFile) {
  EXPECT_NE(refusal("nothing").find("No such file"), std::string::npos);
  EXPECT_NE(refusal("inner").find("not a regular file"), std::string::npos);
  EXPECT_NE(refusal("pipe").find("not a regular file"), std::string::npos);  // and does not wait
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal(std::string("weights.bin\0x", 13)).find("null character"), std::string::npos);
}

}  // namespace
}  // namespace onward
