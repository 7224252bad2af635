// The files of a log, piece by piece.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "onward/error.h"
#include "tests/temporary_folder.h"
#include "train/csv_log.h"
#include "train/event_file.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(EventFile, HasChecksumsOfCastagnoli) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(EventFile, ComesAfterThoseThatAreThere) {
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) EventFile(folder.path()).add(1, {{"a", i}});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  ASSERT_EQ(names.size(), 3U);
  // The last number of its only record stands before the checksum.
  for (int i = 0; i < 3; ++i) {
    const std::string text = text_of(folder.path() / names[static_cast<size_t>(i)]);
    float value = -1;
    std::memcpy(&value, text.data() + text.size() - 8, 4);
    EXPECT_EQ(value, static_cast<float>(i)) << names[static_cast<size_t>(i)];
  }
}

TEST(CsvLog, TakesColumnsThatComeLater) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "steps.csv";
  CsvLog log(file, "step");
  EXPECT_FALSE(log.has_rows());
  log.append(1, {{"loss", "0.5"}});
  EXPECT_EQ(text_of(file), "step,loss\n1,0.5\n");
  log.append(2, {{"a \"b\", c", "7"}, {"loss", "0.25"}});
  log.append(3, {{"a \"b\", c", "8"}});
  EXPECT_EQ(text_of(file), "step,loss,\"a \"\"b\"\", c\"\n1,0.5,\n2,0.25,7\n3,,8\n");
  EXPECT_TRUE(log.has_rows());
}

TEST(CsvLog, GoesOnAfterARow) {
  struct Row {
    const char* before;
    uint64_t last;
    const char* after;  // with the row 9 added
  };
  const Row rows[] = {
      {"", 3, "step,loss\n9,1\n"},
      {"step,loss\n", 3, "step,loss\n9,1\n"},
      {"step,lo", 3, "step,loss\n9,1\n"},  // killed in its first line
      {"step,loss\n1,0.5\n2,0.25\n", 0, "step,loss\n9,1\n"},
      {"step,loss\n1,0.5\n2,0.25\n", 1, "step,loss\n1,0.5\n9,1\n"},
      {"step,loss\n1,0.5\n2,0.25\n3,0.1", 3, "step,loss\n1,0.5\n2,0.25\n9,1\n"},
      {"step,loss\n1,0.5\n10,0.25\n", 9, "step,loss\n1,0.5\n9,1\n"},
      {"step,a,loss\n1,2,3\n", 1, "step,a,loss\n1,2,3\n9,,1\n"},
  };
  for (const Row& row : rows) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "steps.csv";
    std::ofstream(file) << row.before;
    CsvLog log(file, "step");
    log.keep(row.last);
    log.append(9, {{"loss", "1"}});
    EXPECT_EQ(text_of(file), row.after) << row.before;
  }
}

TEST(CsvLog, LeavesOtherFilesAlone) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "steps.csv";
  std::ofstream(file) << "steps,loss\n1,2\n";
  EXPECT_THROW(CsvLog(file, "step").has_rows(), Error);
}

}  // namespace
}  // namespace onward
