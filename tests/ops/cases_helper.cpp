#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kHelperCases[] = {
    {"Equal", "c = Equal(a, b)\n  y = Cast<to = 11>(c)", {f64("a", {3}), f64("b", {3})}},
    {"GatherElements", "y = GatherElements(x, i)", {f64("x", {3}), i64("i", {2, 0, 2})}},
    {"GatherElements axis 1",
     "y = GatherElements<axis = 1>(x, i)",
     {f64("x", {2, 3}), i64("i", {2, 1}, {2, 0})}},
    {"NonZero", "i = NonZero(x)\n  y = Cast<to = 11>(i)", {f64("x", {3})}},
    {"ScatterElements",
     "y = ScatterElements<reduction = \"add\">(x, i, u)",
     {f64("x", {3}), i64("i", {2, 2}), f64("u", {2})}},
    {"ScatterElements axis 1",
     "y = ScatterElements<axis = 1, reduction = \"add\">(x, i, u)",
     {f64("x", {2, 3}), i64("i", {2, 1}, {2, 0}), f64("u", {2, 1})}},
    {"Sign", "y = Sign(x)", {f64("x", {3})}},
    {"Size", "n = Size(x)\n  y = Cast<to = 11>(n)", {f64("x", {3})}},
    {"OneHot of floats",
     "y = OneHot(i, depth, values)",
     {f64("i", {2}, 1.25, 1.25), f64("depth", {}, 3.25, 3.25), f64("values", {2})}},
    {"Range",
     "y = Range(start, limit, delta)",
     {f64("start", {}, 0.5, 0.5), f64("limit", {}, 3, 3), f64("delta", {}, 0.7, 0.7)}},
};

}  // namespace

std::span<const Case> helper_cases() { return kHelperCases; }

}  // namespace onward
