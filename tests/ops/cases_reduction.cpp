#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"ReduceMax", "y = ReduceMax(x, axes)", {f64("x", {2, 3, 4}), i64("axes", {1})}},
    {"ReduceMax without dims",
     "y = ReduceMax<keepdims = 0>(x, axes)",
     {f64("x", {2, 3, 4}), i64("axes", {-1, 0})}},
    {"ReduceMax of all", "y = ReduceMax(x)", {f64("x", {2, 3})}},
    {"ReduceMax of nothing", "y = ReduceMax<noop_with_empty_axes = 1>(x)", {f64("x", {2, 3})}},
    {"ReduceMean", "y = ReduceMean(x, axes)", {f64("x", {2, 3, 4}), i64("axes", {1})}},
    {"ReduceMean without dims",
     "y = ReduceMean<keepdims = 0>(x, axes)",
     {f64("x", {2, 3, 4}), i64("axes", {0, -1})}},
    {"ReduceMean of all", "y = ReduceMean<keepdims = 0>(x)", {f64("x", {2, 3})}},
    {"ReduceMean of nothing", "y = ReduceMean<noop_with_empty_axes = 1>(x)", {f64("x", {2, 3})}},
    {"ReduceSum", "y = ReduceSum(x, axes)", {f64("x", {2, 3, 4}), i64("axes", {1})}},
    {"ReduceSum without dims",
     "y = ReduceSum<keepdims = 0>(x, axes)",
     {f64("x", {2, 3, 4}), i64("axes", {0, -1})}},
    {"ReduceSum of all", "y = ReduceSum(x)", {f64("x", {2, 3})}},
    {"ReduceSum of nothing",
     "y = ReduceSum<noop_with_empty_axes = 1>(x, axes)",
     {f64("x", {2, 3}), i64("axes", {})}},
};

}  // namespace

std::span<const Case> reduction_cases() { return kCases; }

}  // namespace onward
