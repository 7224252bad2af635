#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Gemm", "y = Gemm(a, b, d)", {f64("a", {2, 3}), f64("b", {3, 4}), f64("d", {2, 4})}},
    {"Gemm without C", "y = Gemm(a, b)", {f64("a", {2, 3}), f64("b", {3, 4})}},
    {"Gemm transA",
     "y = Gemm<transA = 1>(a, b, d)",
     {f64("a", {3, 2}), f64("b", {3, 4}), f64("d", {4})}},
    {"Gemm transB",
     "y = Gemm<transB = 1>(a, b, d)",
     {f64("a", {2, 3}), f64("b", {4, 3}), f64("d", {2, 1})}},
    {"Gemm both",
     "y = Gemm<transA = 1, transB = 1, alpha = 0.5, beta = 0.25>(a, b, d)",
     {f64("a", {3, 2}), f64("b", {4, 3}), f64("d", {})}},
    {"MatMul", "y = MatMul(a, b)", {f64("a", {2, 3}), f64("b", {3, 4})}},
    {"MatMul of stacks", "y = MatMul(a, b)", {f64("a", {5, 2, 3}), f64("b", {5, 3, 4})}},
    {"MatMul of many rows", "y = MatMul(a, b)", {f64("a", {130, 2, 3}), f64("b", {3, 8})}},
    {"MatMul broadcast", "y = MatMul(a, b)", {f64("a", {5, 1, 2, 3}), f64("b", {2, 3, 4})}},
    {"MatMul of vectors", "y = MatMul(a, b)", {f64("a", {3}), f64("b", {3})}},
    {"MatMul vector left", "y = MatMul(a, b)", {f64("a", {3}), f64("b", {2, 3, 4})}},
    {"MatMul vector right", "y = MatMul(a, b)", {f64("a", {2, 4, 3}), f64("b", {3})}},
    Case{"MatMul inner dimensions", "y = MatMul(a, b)", {f64("a", {2, 3}), f64("b", {4, 3})}}
        .refused("inner dimensions differ: 3 and 4"),
};

}  // namespace

std::span<const Case> matmul_cases() { return kCases; }

}  // namespace onward
