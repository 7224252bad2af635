#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"BatchNormalization frozen",
     "y = BatchNormalization(x, scale, bias, mean, var)",
     {f64("x", {4, 3, 2, 2}), f64("scale", {3}), f64("bias", {3}), f64("mean", {3}),
      f64("var", {3}, 0.5, 2)}},
    {"BatchNormalization epsilon",
     "y = BatchNormalization<epsilon = 0.25>(x, scale, bias, mean, var)",
     {f64("x", {4, 3}), f64("scale", {3}), f64("bias", {3}), f64("mean", {3}),
      f64("var", {3}, 0.5, 2)}},
    {"BatchNormalization batch",
     "y, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var)",
     {f64("x", {4, 3, 2, 2}), f64("scale", {3}), f64("bias", {3}), f64("mean", {3}),
      f64("var", {3}, 0.5, 2)},
     {"x", "scale", "bias"}},
    Case{"BatchNormalization running",
         "y, m, v = BatchNormalization<training_mode = 1, momentum = 0.75>(x, scale, bias, mean, "
         "var)",
         {f64("x", {4, 2, 3}), f64("scale", {2}), f64("bias", {2}), f64("mean", {2}),
          f64("var", {2}, 0.5, 2)}}
        .giving({"y", "m", "v"}),
    {"LayerNormalization",
     "y = LayerNormalization(x, scale, bias)",
     {f64("x", {3, 5}), f64("scale", {5}), f64("bias", {5})}},
    {"LayerNormalization axis 1",
     "y = LayerNormalization<axis = 1, epsilon = 0.1>(x, scale)",
     {f64("x", {3, 2, 4}), f64("scale", {2, 4})}},
    {"LayerNormalization axis -2",
     "y = LayerNormalization<axis = -2>(x, scale, bias)",
     {f64("x", {3, 2, 4}), f64("scale", {2, 4}), f64("bias", {4})}},
};

}  // namespace

std::span<const Case> normalization_cases() { return kCases; }

}  // namespace onward
