// Names and numbers as Python's source has them.

#include "emit/python.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

namespace onward::emit {
namespace {

TEST(PythonNumbers, ReadBackAsTheSameDouble) {
  std::mt19937_64 random(1);
  std::vector<double> numbers = {0.1,
                                 1.0 / 3,
                                 1e-300,
                                 5e-324,
                                 1.7976931348623157e308,
                                 -0.0009,
                                 1e22,
                                 123456789.125,
                                 0.30000000000000004};
  while (numbers.size() < 20000) {
    const auto number = std::bit_cast<double>(random());
    if (std::isfinite(number)) numbers.push_back(number);
  }
  for (const double number : numbers) {
    const std::string text = python_float(number);
    EXPECT_EQ(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)),
              std::bit_cast<uint64_t>(number))
        << text;
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(PythonNumbers, OfFloat32ReadBackInEitherType) {
  std::mt19937 random(2);
  std::vector<float> numbers = {0.1F, 1.0F / 3, 1e-45F, 3.4028235e38F, 16777217.0F, 0.9F, 0.999F};
  while (numbers.size() < 20000) {
    const auto number = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(number)) numbers.push_back(number);
  }
  for (const float number : numbers) {
    const std::string single = python_float(number, DType::f32);
    const std::string exact = python_float(number, DType::f64);
    // Python reads a double first.
    EXPECT_EQ(static_cast<float>(std::strtod(single.c_str(), nullptr)), number) << single;
    EXPECT_EQ(std::strtod(exact.c_str(), nullptr), static_cast<double>(number)) << exact;
  }
}

TEST(PythonNumbers, ThatAreNoneOfTheFiniteOnes) {
  EXPECT_EQ(python_float(std::nan("")), "float(\"nan\")");
  EXPECT_EQ(python_float(HUGE_VAL), "float(\"inf\")");
  EXPECT_EQ(python_float(-HUGE_VALF, DType::f32), "float(\"-inf\")");
}

TEST(PythonNames, OfClassesAreNoKeywords) {
  EXPECT_EQ(class_name("mnist-cnn", "Model"), "MnistCnn");
  EXPECT_EQ(class_name("none", "Model"), "NoneModel");
  EXPECT_EQ(class_name("True", "Model"), "TrueModel");
  EXPECT_EQ(class_name("3 layers", "Model"), "Model");
  EXPECT_EQ(class_name("--", "Model"), "Model");
}

TEST(PythonNames, AreDifferentHoweverAlikeTheyWere) {
  PythonNames names;
  std::set<std::string> given;
  for (const char* wanted : {"a.b", "a/b", "a_b", "a b", "None", "1", "_1", "", "é", "ü", "self"}) {
    const std::string name = names.fresh(wanted);
    EXPECT_TRUE(given.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzNone_0123456789"),
              std::string::npos)
        << name;
    EXPECT_FALSE(name == "None" || name == "self") << name;
  }
}

}  // namespace
}  // namespace onward::emit
