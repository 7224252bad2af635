#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    // Outputs in whole vectors: sums in registers in float32.
    {"Conv of eight outputs",
     "y = Conv<pads = [1, 2, 0, 1], strides = [2, 1]>(x, w)",
     {f64("x", {2, 3, 7, 6}), f64("w", {8, 3, 3, 2})}},
    {"Conv of many outputs",
     "y = Conv<pads = [1, 1, 1, 1]>(x, w, b)",
     {f64("x", {3, 5, 9, 11}), f64("w", {40, 5, 3, 3}), f64("b", {40})}},
    {"Conv strides beyond the kernel",
     "y = Conv<strides = [3, 3]>(x, w)",
     {f64("x", {2, 2, 11, 10}), f64("w", {16, 2, 2, 1})}},
    {"Conv", "y = Conv(x, w)", {f64("x", {2, 3, 5, 5}), f64("w", {4, 3, 3, 3})}},
    {"Conv bias",
     "y = Conv(x, w, b)",
     {f64("x", {2, 3, 5, 5}), f64("w", {4, 3, 3, 3}), f64("b", {4})}},
    {"Conv pads and strides",
     "y = Conv<pads = [1, 0, 2, 1], strides = [2, 1]>(x, w)",
     {f64("x", {1, 2, 5, 6}), f64("w", {3, 2, 3, 2})}},
    {"Conv dilations",
     "y = Conv<dilations = [2, 1], kernel_shape = [2, 3]>(x, w)",
     {f64("x", {1, 2, 5, 5}), f64("w", {3, 2, 2, 3})}},
    {"Conv groups",
     "y = Conv<group = 2>(x, w, b)",
     {f64("x", {1, 4, 4, 4}), f64("w", {6, 2, 2, 2}), f64("b", {6})}},
    {"Conv groups with all that there is",
     "y = Conv<group = 2, dilations = [2, 1], pads = [1, 0, 2, 1], strides = [2, 3]>(x, w)",
     {f64("x", {2, 4, 7, 8}), f64("w", {6, 2, 2, 3})}},
    {"Conv elements that no window reads",
     "y = Conv<group = 2, strides = [3, 4]>(x, w)",
     {f64("x", {2, 2, 7, 9}), f64("w", {2, 1, 2, 2})}},
    {"Conv depthwise",
     "y = Conv<group = 3, pads = [1, 1, 1, 1]>(x, w)",
     {f64("x", {1, 3, 4, 4}), f64("w", {3, 1, 3, 3})}},
    {"Conv 1 dimension",
     "y = Conv<strides = [2]>(x, w)",
     {f64("x", {2, 2, 7}), f64("w", {3, 2, 3})}},
    {"Conv 3 dimensions", "y = Conv(x, w)", {f64("x", {1, 2, 3, 3, 3}), f64("w", {2, 2, 2, 2, 2})}},
    {"Conv same upper",
     "y = Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w)",
     {f64("x", {1, 1, 4, 5}), f64("w", {1, 1, 3, 2})}},
    {"Conv same lower",
     "y = Conv<auto_pad = \"SAME_LOWER\">(x, w)",
     {f64("x", {1, 1, 4, 4}), f64("w", {1, 1, 2, 2})}},
    {"Conv same, strides beyond the window",
     "y = Conv<auto_pad = \"SAME_UPPER\", strides = [3]>(x, w)",
     {f64("x", {1, 2, 6}), f64("w", {2, 2, 1})}},
    {"Conv valid",
     "y = Conv<auto_pad = \"VALID\">(x, w)",
     {f64("x", {1, 1, 4, 4}), f64("w", {1, 1, 3, 3})}},
    Case{"Conv of channels that do not fit",
         "y = Conv(x, w)",
         {f64("x", {1, 3, 4, 4}), f64("w", {1, 2, 3, 3})}}
        .refused("it is for 2 channels in 1 group, but the input has 3 channels"),
};

}  // namespace

std::span<const Case> conv_cases() { return kCases; }

}  // namespace onward
