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
    Case{"BatchNormalization frozen Relu",
         "h = BatchNormalization(x, scale, bias, mean, var)\ny = Relu(h)",
         {f64("x", {4, 3, 2, 2}), f64("scale", {3}), f64("bias", {3}), f64("mean", {3}),
          f64("var", {3}, 0.5, 2)},
         {"x", "scale", "bias"}}
        .not_smooth(),
    Case{"BatchNormalization batch Relu",
         "h, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var)\ny = Relu(h)",
         {f64("x", {6, 3, 5, 5}), f64("scale", {3}), f64("bias", {3}), f64("mean", {3}),
          f64("var", {3}, 0.5, 2)},
         {"x", "scale", "bias"}}
        .not_smooth(),
    Case{"BatchNormalization batch Relu of vectors",
         "h, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var)\ny = Relu(h)",
         {f64("x", {40, 7}), f64("scale", {7}), f64("bias", {7}), f64("mean", {7}),
          f64("var", {7}, 0.5, 2)},
         {"x", "scale", "bias"}}
        .not_smooth(),
    // Convolutions hand on images with their channels last.
    Case{"BatchNormalization between convolutions",
         "a = Conv(x, w)\n"
         "h, m, v = BatchNormalization<training_mode = 1>(a, scale, bias, mean, var)\n"
         "r = Relu(h)\ny = Conv(r, w2)",
         {f64("x", {2, 2, 4, 4}), f64("w", {5, 2, 2, 2}), f64("scale", {5}), f64("bias", {5}),
          f64("mean", {5}), f64("var", {5}, 0.5, 2), f64("w2", {2, 5, 2, 2})},
         {"x", "w", "scale", "bias", "w2"}}
        .not_smooth(),
    Case{"BatchNormalization frozen between convolutions",
         "a = Conv(x, w)\nh = BatchNormalization(a, scale, bias, mean, var)\n"
         "r = Relu(h)\ny = Conv(r, w2)",
         {f64("x", {2, 2, 6, 6}), f64("w", {70, 2, 3, 3}), f64("scale", {70}), f64("bias", {70}),
          f64("mean", {70}), f64("var", {70}, 0.5, 2), f64("w2", {2, 70, 3, 3})},
         {"x", "w", "scale", "bias", "w2"}}
        .not_smooth(),
    // The mean's backward is spread over images for the normalization's.
    Case{"BatchNormalization under a mean",
         "a = Conv(x, w)\n"
         "h, m, v = BatchNormalization<training_mode = 1>(a, scale, bias, mean, var)\n"
         "r = Relu(h)\ny = GlobalAveragePool(r)",
         {f64("x", {2, 2, 4, 4}), f64("w", {5, 2, 2, 2}), f64("scale", {5}), f64("bias", {5}),
          f64("mean", {5}), f64("var", {5}, 0.5, 2)},
         {"x", "w", "scale", "bias"}}
        .not_smooth(),
    // More than one tile of a plane.
    {"BatchNormalization of a wide plane",
     "y, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, var)",
     {f64("x", {1, 2, 65, 67}, -1, 3), f64("scale", {2}), f64("bias", {2}), f64("mean", {2}),
      f64("var", {2}, 0.5, 2)},
     {"x", "scale", "bias"}},
    {"GroupNormalization",
     "y = GroupNormalization<num_groups = 2>(x, scale, bias)",
     {f64("x", {2, 4, 3, 2}), f64("scale", {4}), f64("bias", {4})}},
    {"GroupNormalization epsilon",
     "y = GroupNormalization<num_groups = 3, epsilon = 0.25>(x, scale, bias)",
     {f64("x", {2, 6}), f64("scale", {6}), f64("bias", {6})}},
    {"InstanceNormalization",
     "y = InstanceNormalization(x, scale, bias)",
     {f64("x", {2, 3, 4}), f64("scale", {3}), f64("bias", {3})}},
    {"InstanceNormalization epsilon",
     "y = InstanceNormalization<epsilon = 0.25>(x, scale, bias)",
     {f64("x", {2, 3, 2, 3}), f64("scale", {3}), f64("bias", {3})}},
    {"LRN", "y = LRN<size = 3>(x)", {f64("x", {2, 5, 2, 2})}},
    {"LRN of an even size",
     "y = LRN<size = 2, alpha = 0.5, beta = 0.5, bias = 2.0>(x)",
     {f64("x", {2, 4, 3})}},
    {"LpNormalization", "y = LpNormalization(x)", {f64("x", {2, 3, 4})}},
    {"LpNormalization p",
     "y = LpNormalization<p = 1, axis = 1>(x)",
     {f64("x", {2, 3, 4}, 0.25, 2)}},
    {"MeanVarianceNormalization", "y = MeanVarianceNormalization(x)", {f64("x", {2, 3, 2, 2})}},
    {"MeanVarianceNormalization axes",
     "y = MeanVarianceNormalization<axes = [-1, 0]>(x)",
     {f64("x", {2, 3, 4})}},
    {"RMSNormalization",
     "y = RMSNormalization(x, scale)",
     {f64("x", {3, 2, 4}), f64("scale", {4})}},
    {"RMSNormalization axis",
     "y = RMSNormalization<axis = 1, epsilon = 0.25>(x, scale)",
     {f64("x", {3, 2, 4}), f64("scale", {2, 4})}},
    {"LayerNormalization",
     "y = LayerNormalization(x, scale, bias)",
     {f64("x", {3, 5}), f64("scale", {5}), f64("bias", {5})}},
    // Of three dimensions, the last one is not also the second.
    {"LayerNormalization of the axis by default",
     "y = LayerNormalization(x, scale, bias)",
     {f64("x", {3, 2, 4}), f64("scale", {4}), f64("bias", {4})}},
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
