#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"CumSum", "y = CumSum(x, axis)", {f64("x", {2, 3, 2}), i64("axis", {}, {1})}},
    {"CumSum exclusive",
     "y = CumSum<exclusive = 1>(x, axis)",
     {f64("x", {2, 3}), i64("axis", {}, {-1})}},
    {"CumSum reverse",
     "y = CumSum<reverse = 1>(x, axis)",
     {f64("x", {3, 2}), i64("axis", {}, {0})}},
    {"CumSum exclusive in reverse",
     "y = CumSum<exclusive = 1, reverse = 1>(x, axis)",
     {f64("x", {2, 4}), i64("axis", {}, {1})}},
    {"CumProd", "y = CumProd(x, axis)", {f64("x", {2, 3, 2}), i64("axis", {}, {1})}},
    {"CumProd exclusive",
     "y = CumProd<exclusive = 1>(x, axis)",
     {f64("x", {2, 3}), i64("axis", {}, {-1})}},
    {"CumProd reverse",
     "y = CumProd<reverse = 1>(x, axis)",
     {f64("x", {3, 2}), i64("axis", {}, {0})}},
    {"CumProd exclusive in reverse",
     "y = CumProd<exclusive = 1, reverse = 1>(x, axis)",
     {f64("x", {2, 4}), i64("axis", {}, {1})}},
    Case{"CumProd with zeros",
         "y = CumProd(x, axis)",
         {{"x", DType::f64, {3, 4}, 0, 0, {2, 0, 3, -1, 0, 2, 0, 3, 1, 2, -3, 0}},
          i64("axis", {}, {1})}}
        .not_smooth(),
    Case{"CumSum along no axis", "y = CumSum(x, axis)", {f64("x", {2, 3}), i64("axis", {}, {2})}}
        .refused("axis 2 is out of range for rank 2"),
};

}  // namespace

std::span<const Case> cumulative_cases() { return kCases; }

}  // namespace onward
