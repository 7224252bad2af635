#include "tests/ops/case.h"

namespace onward {
namespace {

// Away from kinks, where no derivative exists; second derivatives jump at some more.
const Case kCases[] = {
    {"Celu", "y = Celu(x)", {f64("x", {2, 3}, -3, -0.25)}},
    {"Celu alpha", "y = Celu<alpha = 1.75>(x)", {f64("x", {4, 5}, -3, -0.25)}},
    {"Celu of a negative alpha", "y = Celu<alpha = -0.5>(x)", {f64("x", {2, 3}, 0.25, 2)}},
    {"Elu on", "y = Elu(x)", {f64("x", {2, 3}, 0.25, 2)}},
    {"Elu off", "y = Elu<alpha = 0.75>(x)", {f64("x", {2, 3}, -3, -0.25)}},
    {"HardSigmoid", "y = HardSigmoid(x)", {f64("x", {2, 3}, -2.25, 2.25)}},
    {"HardSigmoid alpha and beta",
     "y = HardSigmoid<alpha = 0.25, beta = 0.625>(x)",
     {f64("x", {2, 3}, -2.25, 1.25)}},
    {"HardSigmoid at its ends",
     "y = HardSigmoid<alpha = 0.5, beta = 0.25>(x)",
     {{"x", DType::f64, {2, 2}, 0, 0, {-3, -1, 2, 4}}}},
    {"Mish", "y = Mish(x)", {f64("x", {2, 3}, -4, 4)}},
    {"PRelu", "y = PRelu(x, slope)", {f64("x", {2, 3, 4}), f64("slope", {2, 3, 4})}},
    {"PRelu for each channel",
     "y = PRelu(x, slope)",
     {f64("x", {2, 3, 2, 2}, -2, -0.25), f64("slope", {3, 1, 1})}},
    {"PRelu of one slope", "y = PRelu(x, slope)", {f64("x", {2, 3}), f64("slope", {1})}},
    {"Selu on", "y = Selu(x)", {f64("x", {2, 3}, 0.25, 2)}},
    {"Selu off", "y = Selu(x)", {f64("x", {2, 3}, -3, -0.25)}},
    {"Selu alpha and gamma",
     "y = Selu<alpha = 1.25, gamma = 1.5>(x)",
     {f64("x", {2, 3}, -3, -0.25)}},
    {"Shrink", "y = Shrink(x)", {f64("x", {4, 5})}},
    {"Shrink softly", "y = Shrink<lambd = 0.75, bias = 0.75>(x)", {f64("x", {4, 5})}},
    {"Softsign on", "y = Softsign(x)", {f64("x", {2, 3}, 0.25, 2)}},
    {"Softsign off", "y = Softsign(x)", {f64("x", {2, 3}, -2, -0.25)}},
    {"SwiGLU", "y = SwiGLU(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"SwiGLU alpha", "y = SwiGLU<alpha = 1.5>(a, b)", {f64("a", {2, 3}), f64("b", {2, 3})}},
    {"Swish", "y = Swish(x)", {f64("x", {2, 3})}},
    {"Swish alpha", "y = Swish<alpha = -1.5>(x)", {f64("x", {2, 3})}},
    {"ThresholdedRelu", "y = ThresholdedRelu(x)", {f64("x", {4, 5})}},
    {"ThresholdedRelu alpha", "y = ThresholdedRelu<alpha = -0.25>(x)", {f64("x", {4, 5})}},
};

}  // namespace

std::span<const Case> activation_cases() { return kCases; }

}  // namespace onward
