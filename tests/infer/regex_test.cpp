#include "infer/regex.h"

#include <gtest/gtest.h>

#include "onward/error.h"

namespace onward {
namespace {

TEST(Regex, MatchesAllOfATextOrNot) {
  const Regex pattern("a|ab");
  EXPECT_TRUE(pattern.matches_all_of("a"));
  EXPECT_TRUE(pattern.matches_all_of("ab"));
  EXPECT_FALSE(pattern.matches_all_of("abc"));
  EXPECT_FALSE(pattern.matches_all_of(""));
}

TEST(Regex, BytesThatAreNoLettersMatchNothing) {
  const std::string broken = "a\xC3";
  EXPECT_FALSE(Regex(".*").matches_all_of(broken));
  EXPECT_FALSE(Regex("a[^b]").matches_all_of(broken));
  EXPECT_TRUE(Regex("a\\C").matches_all_of(broken));
  EXPECT_TRUE(Regex("a.").matches_all_of("a\xC3\xA4"));
  EXPECT_TRUE(Regex("a.b").matches_all_of(std::string("a\0b", 3)));
}

TEST(Regex, SaysWhatIsWrong) {
  EXPECT_EQ(regex_problem("a+"), std::nullopt);
  EXPECT_EQ(regex_problem("a["), "missing ]: [");
  EXPECT_EQ(regex_problem("\xC3"), "invalid UTF-8");
  EXPECT_THROW(Regex("(?=a)"), Error);
}

}  // namespace
}  // namespace onward
