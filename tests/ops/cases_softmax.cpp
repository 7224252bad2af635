#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Softmax", "y = Softmax(x)", {f64("x", {4, 5})}},
    {"Softmax axis 0", "y = Softmax<axis = 0>(x)", {f64("x", {4, 5})}},
    {"Softmax axis 1 of 3", "y = Softmax<axis = 1>(x)", {f64("x", {2, 3, 4})}},
    Case{"Softmax bad axis", "y = Softmax<axis = 7>(x)", {f64("x", {4, 5})}}.refused(
        "axis 7 is out of range for rank 2"),
    {"Softmax of the axis by default", "y = Softmax(x)", {f64("x", {2, 3, 4})}},
    {"LogSoftmax", "y = LogSoftmax(x)", {f64("x", {4, 5})}},
    {"LogSoftmax of the axis by default", "y = LogSoftmax(x)", {f64("x", {2, 3, 4})}},
    Case{"Hardmax", "y = Hardmax(x)", {f64("x", {2, 3, 4})}}.without_gradient(),
    Case{"Hardmax of ties",
         "h = Cast<to = 11>(x)\n y = Hardmax<axis = 0>(h)",
         {i64("x", {3, 2}, {1, 2, 3, 2, 3, 1})}}
        .without_gradient(),
    {"LogSoftmax axis 0", "y = LogSoftmax<axis = 0>(x)", {f64("x", {4, 5})}},
};

}  // namespace

std::span<const Case> softmax_cases() { return kCases; }

}  // namespace onward
