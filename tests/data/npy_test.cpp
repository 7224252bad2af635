#include "data/npy.h"

#include <gtest/gtest.h>

#include "data/npy_header.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

/// A file of version 1 with that header and those elements.
std::string npy(const std::string& header, const std::string& elements) {
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + elements;
}

std::string dict(const std::string& descr, const std::string& shape, const char* order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

Tensor parse(const std::string& file) { return parse_npy(std::as_bytes(std::span(file))); }

struct Refusal {
  std::string name;
  std::string file;
  std::string error;
};

class NpyRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(NpyRefusal, SaysWhy) {
  try {
    parse(GetParam().file);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().error), std::string::npos) << error.what();
  }
}

const std::string kDamaged = "header is damaged";

INSTANTIATE_TEST_SUITE_P(
    Files, NpyRefusal,
    testing::Values(
        Refusal{"empty", "", "not an .npy array"},
        Refusal{"other", "PK\x03\x04 and more", "not an .npy array"},
        Refusal{"only_magic", "\x93NUMPY\x01", "not an .npy array"},
        Refusal{"version", std::string("\x93NUMPY\x09\0\x02\0{}  ", 14), "version 9"},
        Refusal{"header_beyond_end", std::string("\x93NUMPY\x01\0\xff\xff{}", 12), kDamaged},
        Refusal{"huge_header", std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), kDamaged},
        Refusal{"no_dict", npy("hello", ""), kDamaged},
        Refusal{"open_dict", npy("{'descr': '<f4'", ""), kDamaged},
        Refusal{"open_string", npy("{'descr: ", ""), kDamaged},
        Refusal{"missing_shape", npy("{'descr': '<f4', 'fortran_order': False}", ""), kDamaged},
        Refusal{"twice", npy("{'shape': (1,), 'shape': (1,)}", ""), kDamaged},
        Refusal{"unknown_key", npy("{'descr': '<f4', 'evil': 1}", ""), kDamaged},
        Refusal{"negative_dim", npy(dict("<f4", "(-1,)"), ""), kDamaged},
        Refusal{"dim_too_large", npy(dict("<f4", "(99999999999999999999,)"), ""), kDamaged},
        Refusal{"open_tuple", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2", ""),
                kDamaged},
        Refusal{"product_overflows", npy(dict("<f4", "(4294967296, 4294967296)"), ""),
                "is too large"},
        Refusal{"bytes_overflow", npy(dict("<f8", "(2305843009213693952,)"), ""), "is too large"},
        Refusal{"too_short", npy(dict("<f4", "(3,)"), "12345678"), "8 bytes of elements"},
        Refusal{"too_long", npy(dict("<f4", "(1,)"), "12345678"), "asks for 4"},
        Refusal{"big_endian", npy(dict(">f4", "(1,)"), "1234"), "newbyteorder"},
        Refusal{"objects", npy(dict("|O", "(1,)"), "1234"), "Python objects"},
        Refusal{"fields", npy("{'descr': [('a', '<f4')], 'fortran_order': False}", ""),
                "named fields"},
        Refusal{"unknown_type", npy(dict("<f16", "(1,)"), "1234567890123456"), "'<f16'"},
        Refusal{"dates", npy(dict("<M8[ns]", "(1,)"), "12345678"), "'<M8[ns]'"},
        Refusal{"text_width", npy(dict("<U999999999999", "(1,)"), ""), kDamaged},
        Refusal{"many_empty_texts", npy(dict("|S0", "(1000000000000,)"), ""), "empty strings"},
        Refusal{"bad_bool", npy(dict("|b1", "(2,)"), std::string("\1\2", 2)), "neither 0 nor 1"},
        Refusal{"no_character", npy(dict("<U1", "(1,)"), "\xff\xff\xff\x7f"),
                "which is not a character"}),
    [](const auto& info) { return info.param.name; });

TEST(Npy, ReadsColumnMajorOrder) {
  const std::string elements("\1\4\2\5\3\6", 6);
  const Tensor tensor = parse(npy(dict("|u1", "(2, 3)", "True"), elements));
  EXPECT_EQ(tensor.dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor.integers(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ReadsText) {
  const std::string wide("h\0\0\0\xe9\0\0\0\0\xf6\x01\0", 12);
  EXPECT_EQ(parse(npy(dict("<U3", "(1,)"), wide)).strings(),
            std::vector<std::string>{"h\xc3\xa9\xf0\x9f\x98\x80"});
  EXPECT_EQ(parse(npy(dict("|S3", "(2,)"), std::string("ab\0c\0\0", 6))).strings(),
            (std::vector<std::string>{"ab", "c"}));
}

TEST(Npy, CopiesWhatIsNotAligned) {
  // The header's length decides where elements begin: here at an odd place.
  std::string header = dict("<f8", "(1,)");
  while ((10 + header.size()) % 8 != 3) header += ' ';
  const auto file = std::make_shared<const std::string>(npy(header, std::string(8, '\0')));
  const Tensor tensor = parse_npy(std::as_bytes(std::span(*file)), file);
  EXPECT_EQ(tensor.data<double>()[0], 0.0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % alignof(double), 0U);
}

TEST(Npy, HeaderAlignsElements) {
  for (const auto& dims : std::vector<std::vector<int64_t>>{{}, {5}, {2, 3}, {100000, 1, 28, 28}}) {
    const std::string header = npy_header("<f4", dims);
    EXPECT_EQ(header.size() % 64, 0U);
    const auto parsed = parse_npy_header(std::as_bytes(std::span(header)));
    EXPECT_EQ(parsed.dims, dims);
    EXPECT_EQ(parsed.dtype, DType::f32);
    EXPECT_EQ(parsed.data_offset, header.size());
  }
}

TEST(Npy, WritesTypesThatNumpyLacksAsLargerOnes) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.npy";
  const auto bytes = std::make_shared<const std::string>("\x80\x3f\x00\xc0", 4);
  write_npy(Tensor::from_bytes(DType::bf16, {2}, bytes), file);
  const Tensor read = read_npy(file);
  EXPECT_EQ(read.dtype(), DType::f32);
  EXPECT_EQ(read.number(0), 1);
  EXPECT_EQ(read.number(1), -2);
  write_npy(Tensor::from_bytes(DType::i4, {2}, std::make_shared<const std::string>("\x1f", 1)),
            file);
  EXPECT_EQ(read_npy(file).dtype(), DType::i8);
  EXPECT_EQ(read_npy(file).integers(), (std::vector<int64_t>{-1, 1}));
}

TEST(Npy, NamesTheFile) {
  try {
    read_npy("no/such/file.npy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no/such/file.npy"), std::string::npos);
  }
}

}  // namespace
}  // namespace onward
