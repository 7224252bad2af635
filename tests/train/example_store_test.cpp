#include "train/example_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "tests/temporary_folder.h"

namespace onward {
namespace {

constexpr int64_t kBytes = 1000;

std::vector<std::byte> record(int64_t example) {
  std::vector<std::byte> bytes(kBytes);
  for (int64_t i = 0; i < kBytes; ++i) bytes[static_cast<size_t>(i)] = std::byte(example + i);
  return bytes;
}

bool is_there(ExampleStore& store, int64_t example) {
  std::vector<std::byte> bytes(kBytes);
  return store.read(example, bytes) && bytes == record(example);
}

TEST(ExampleStore, GoesOnOnTheDiskAndEndsThere) {
  const TemporaryFolder folder;
  StoreRoom room{.memory = 5 * kBytes + 1, .disk = 3 * kBytes, .folder = folder.path()};
  ExampleStore store(12, kBytes, room);
  EXPECT_EQ(store.capacity(), 8);
  EXPECT_EQ(room.memory, 1);
  EXPECT_EQ(room.disk, 0);
  for (int64_t example = 11; example >= 0; --example) {
    EXPECT_FALSE(store.has(example));
    store.write(example, record(example));
  }
  for (int64_t example = 0; example < 12; ++example) {
    EXPECT_EQ(store.has(example), example >= 4) << example;
    EXPECT_EQ(is_there(store, example), example >= 4) << example;
  }
  EXPECT_EQ(store.take_failure(), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // the file has no name
}

TEST(ExampleStore, TakesMemoryByTheChunk) {
  StoreRoom room{.memory = 9000 * kBytes};
  ExampleStore store(10000, kBytes, room);
  for (int64_t example = 0; example < 10000; ++example) store.write(example, record(example));
  for (int64_t example = 0; example < 10000; ++example) {
    ASSERT_EQ(is_there(store, example), example < 9000) << example;
  }
}

TEST(ExampleStore, KeepsWhatItHasWhereTheDiskRefuses) {
  const TemporaryFolder folder;
  StoreRoom room{.memory = kBytes, .disk = 10 * kBytes, .folder = folder.path()};
  ExampleStore store(10, kBytes, room);
  // A file may grow to two and a half records.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit less{.rlim_cur = 5 * kBytes / 2, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  for (int64_t example = 0; example < 10; ++example) store.write(example, record(example));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  for (int64_t example = 0; example < 10; ++example) {
    EXPECT_EQ(is_there(store, example), example < 3) << example;
  }
  EXPECT_EQ(store.take_failure(),
            "a temporary file cannot grow in '" + folder.path().string() + "': File too large");
  EXPECT_EQ(store.take_failure(), "");
}

TEST(ExampleStore, DoesWithoutAFolder) {
  StoreRoom room{.memory = kBytes, .disk = 10 * kBytes, .folder = "/nowhere/at/all"};
  ExampleStore store(10, kBytes, room);
  for (int64_t example = 0; example < 10; ++example) store.write(example, record(example));
  EXPECT_TRUE(is_there(store, 0));
  EXPECT_FALSE(store.has(1));
  EXPECT_NE(store.take_failure().find("in '/nowhere/at/all': No such file"), std::string::npos);
}

}  // namespace
}  // namespace onward
