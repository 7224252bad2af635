#include "data/base64.h"

#include <gtest/gtest.h>

#include "onward/error.h"

namespace onward {
namespace {

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheStandard) {
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_base64(to_base64(all)), all);
}

TEST(Base64, RefusesOtherTexts) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg==Zg==", "====", "=", "Zh==", "Zm9v\n", "Zm-v", "Zm 9v"}) {
    EXPECT_THROW(from_base64(text), Error) << text;
  }
}

}  // namespace
}  // namespace onward
