#include "data/npz.h"

#include <gtest/gtest.h>

#include <cstring>

#include "data/deflate.h"
#include "data/zip_format.h"
#include "onward/error.h"
#include "proto/external_data.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

std::string read_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

/// A small archive with the arrays a (deflated or stored) and b.
std::string archive(bool compressed) {
  const TemporaryFolder folder;
  const std::vector<float> zeros(1000, 0.0F);
  write_npz({{"a", Tensor::of<float>({10, 100}, zeros)}, {"b", Tensor::of<int64_t>({2}, {3, 4})}},
            folder.path() / "a.npz", compressed);
  return read_file(folder.path() / "a.npz");
}

Arrays parse(const std::string& file) { return parse_npz(std::as_bytes(std::span(file)), nullptr); }

/// Puts a little-endian number into a record: the `which`th one with that mark.
void put(std::string& file, uint32_t mark, size_t which, size_t offset, uint64_t value,
         size_t width) {
  size_t at = std::string::npos;
  for (size_t i = 0; i <= which; ++i) {
    at = file.find(std::string(reinterpret_cast<const char*>(&mark), 4), i == 0 ? 0 : at + 4);
    ASSERT_NE(at, std::string::npos);
  }
  std::memcpy(file.data() + at + offset, &value, width);
}

TEST(Npz, ComesBack) {
  for (const bool compressed : {false, true}) {
    const Arrays arrays = parse(archive(compressed));
    ASSERT_EQ(arrays.size(), 2U);
    EXPECT_EQ(arrays.at("a").dims(), (std::vector<int64_t>{10, 100}));
    EXPECT_EQ(arrays.at("b").integers(), (std::vector<int64_t>{3, 4}));
  }
  EXPECT_LT(archive(true).size(), archive(false).size() / 4);
}

TEST(Npz, EveryCutIsRefused) {
  for (const bool compressed : {false, true}) {
    const std::string whole = archive(compressed);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
    }
  }
}

TEST(Npz, EveryFlippedByteIsRefusedOrHarmless) {
  const std::string whole = archive(true);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    try {
      parse(damaged);
    } catch (const Error&) {
    }
  }
}

struct Damage {
  std::string name;
  uint32_t mark;
  size_t which, offset;
  uint64_t value;
  size_t width;
  std::string error;
  bool compressed = true;
};

class NpzRefusal : public testing::TestWithParam<Damage> {};

TEST_P(NpzRefusal, SaysWhy) {
  const Damage& damage = GetParam();
  std::string file = archive(damage.compressed);
  put(file, damage.mark, damage.which, damage.offset, damage.value, damage.width);
  try {
    parse(file);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(damage.error), std::string::npos) << error.what();
  }
}

using namespace zip;

INSTANTIATE_TEST_SUITE_P(
    Files, NpzRefusal,
    testing::Values(
        Damage{"checksum", kCentralMark, 0, 16, 1, 4, "checksum does not match"},
        Damage{"claims_terabytes", kCentralMark, 0, 24, 0xfffffffe, 4, "can't hold 4294967294"},
        Damage{"claims_less", kCentralMark, 0, 24, 100, 4, "compressed data is damaged"},
        Damage{"claims_more", kCentralMark, 0, 24, 9000, 4, "compressed data is damaged"},
        Damage{"stored_sizes_differ", kCentralMark, 0, 24, 9000, 4, "not a zip archive, or damaged",
               false},
        Damage{"packed_beyond_end", kCentralMark, 0, 20, 0x7fffffff, 4,
               "not a zip archive, or damaged"},
        Damage{"method", kCentralMark, 0, 10, 12, 2, "compression method 12"},
        Damage{"encrypted", kCentralMark, 0, 8, 1, 2, "is encrypted"},
        Damage{"not_an_array", kCentralMark, 0, kCentralSize + 4, 'x', 1, "not an .npy array"},
        Damage{"same_name", kCentralMark, 0, kCentralSize, 'b', 1, "two arrays have this name"},
        Damage{"same_place", kCentralMark, 1, 42, 0, 4, "overlap"},
        Damage{"local_header", kLocalMark, 0, 0, 0, 4, "not a zip archive, or damaged"},
        Damage{"many_entries", kEndMark, 0, 10, 1000, 2, "not a zip archive, or damaged"},
        Damage{"directory_beyond_end", kEndMark, 0, 16, 0x7fffffff, 4,
               "not a zip archive, or damaged"},
        Damage{"split", kEndMark, 0, 4, 3, 2, "split"}),
    [](const auto& info) { return info.param.name; });

TEST(Gunzip, RefusesWhatIsLargerThanAllowed) {
  const std::string nothing;
  EXPECT_THROW(gunzip(std::as_bytes(std::span(nothing)), 100), Error);
}

TEST(Deflate, ComesBack) {
  std::string bytes;
  for (int64_t i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * i >> 5);
  const std::string packed = deflate_raw(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(inflate_raw(std::as_bytes(std::span(packed)), bytes.size()), bytes);
  EXPECT_THROW(inflate_raw(std::as_bytes(std::span(packed)), bytes.size() - 1), Error);
  EXPECT_THROW(inflate_raw(std::as_bytes(std::span(packed)), bytes.size() + 1), Error);
}

}  // namespace
}  // namespace onward
