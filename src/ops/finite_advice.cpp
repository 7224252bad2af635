#include "ops/finite_advice.h"

#include <algorithm>

namespace onward {
namespace {

struct Advice {
  std::string_view op, text;
};

constexpr std::string_view kOverflow =
    "the numbers grow beyond their type: lower the learning rate, clip gradients or scale the data";
constexpr std::string_view kDivision =
    "a division by 0 (or by next to 0), also in the derivative of a root: add a small number to "
    "what it divides by";
constexpr std::string_view kExponential =
    "an exponential overflows (f32 above 88): give logits to a loss that takes them, or lower the "
    "learning rate";

constexpr Advice kAdvice[] = {
    {"Log",
     "a logarithm of 0 or less: add a small number, or give logits to a loss that takes them"},
    {"Sqrt", "a root of a negative number: clip at 0, or add a small number"},
    {"Pow",
     "a power of 0 to a negative exponent, of a negative number to a broken one, or one "
     "beyond the type"},
    {"Div", kDivision},
    {"Reciprocal", kDivision},
    {"Exp", kExponential},
    {"Sinh", kExponential},
    {"Cosh", kExponential},
    {"Asin", "it is only defined from -1 to 1: clip what goes in"},
    {"Acos", "it is only defined from -1 to 1: clip what goes in"},
    {"Atanh", "it is only finite between -1 and 1: clip what goes in"},
    {"Acosh", "it is only defined from 1 on: clip what goes in"},
    {"Cast", "the numbers are beyond the type that they are cast to: keep the larger type there"},
    {"ReduceMean", "a mean over no elements, or of numbers that add up beyond their type"},
};

}  // namespace

std::string_view finite_advice(const Node& node) {
  const auto found = std::ranges::find(kAdvice, node.op, &Advice::op);
  return node.domain.empty() && found != std::end(kAdvice) ? found->text : kOverflow;
}

}  // namespace onward
