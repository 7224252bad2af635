#include "ir/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace onward {
namespace {

const std::vector<std::string> kNames = {"adam", "adamw", "adagrad", "sgd",
                                         "softmax_cross_entropy"};

struct Slip {
  const char* given;
  const char* meant;  // empty: nothing is suggested
};

constexpr Slip kSlips[] = {
    {"Adam", "adam"},
    {"adma", "adam"},
    {"adagard", "adagrad"},
    {"softmax_crossentropy", "softmax_cross_entropy"},
    {"sdg", "sgd"},
    {"rmsprop", ""},
    {"x", ""},
    {"", ""},
};

TEST(Suggestion, IsTheNearestNameThatASlipLeadsTo) {
  for (const auto& [given, meant] : kSlips) {
    const std::string expected = *meant ? std::string("did you mean '") + meant + "'?" : "";
    EXPECT_EQ(did_you_mean(given, kNames), expected) << given;
  }
}

}  // namespace
}  // namespace onward
