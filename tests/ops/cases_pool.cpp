#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"MaxPool", "y = MaxPool<kernel_shape = [2, 2]>(x)", {f64("x", {2, 3, 4, 4})}},
    {"MaxPool overlapping",
     "y = MaxPool<kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1]>(x)",
     {f64("x", {1, 2, 5, 5})}},
    {"MaxPool dilations",
     "y = MaxPool<kernel_shape = [2, 2], dilations = [2, 1]>(x)",
     {f64("x", {1, 1, 4, 4})}},
    {"MaxPool ceil",
     "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x)",
     {f64("x", {1, 1, 5, 5})}},
    {"MaxPool same",
     "y = MaxPool<kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\">(x)",
     {f64("x", {1, 1, 3, 3})}},
    {"MaxPool same, strides beyond the window",
     "y = MaxPool<kernel_shape = [1], strides = [3], auto_pad = \"SAME_LOWER\">(x)",
     {f64("x", {1, 2, 6})}},
    {"MaxPool column order",
     "y = MaxPool<kernel_shape = [2, 2], storage_order = 1>(x)",
     {f64("x", {1, 2, 4, 4})}},
    {"MaxPool 1 dimension", "y = MaxPool<kernel_shape = [3]>(x)", {f64("x", {1, 2, 6})}},
    {"AveragePool", "y = AveragePool<kernel_shape = [2, 2]>(x)", {f64("x", {2, 3, 4, 4})}},
    {"AveragePool pads",
     "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)",
     {f64("x", {1, 2, 5, 5})}},
    {"AveragePool counting pads",
     "y = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)",
     {f64("x", {1, 2, 4, 4})}},
    {"AveragePool ceil",
     "y = AveragePool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1, count_include_pad = "
     "1>(x)",
     {f64("x", {1, 1, 5, 5})}},
    {"AveragePool ceil and pads",
     "y = AveragePool<kernel_shape = [3, 2], strides = [2, 3], ceil_mode = 1, pads = [1, 0, 1, "
     "1]>(x)",
     {f64("x", {2, 2, 6, 6})}},
    {"AveragePool elements that no window reads",
     "y = AveragePool<kernel_shape = [2], strides = [4]>(x)",
     {f64("x", {2, 2, 9})}},
    {"AveragePool 3 dimensions",
     "y = AveragePool<kernel_shape = [2, 1, 2], count_include_pad = 1, pads = [1, 0, 0, 0, 0, "
     "1]>(x)",
     {f64("x", {1, 2, 3, 2, 3})}},
    {"AveragePool dilations",
     "y = AveragePool<kernel_shape = [2, 2], dilations = [2, 2]>(x)",
     {f64("x", {1, 1, 4, 4})}},
    {"AveragePool same",
     "y = AveragePool<kernel_shape = [2, 2], auto_pad = \"SAME_LOWER\">(x)",
     {f64("x", {1, 1, 3, 3})}},
    {"AveragePool same, strides beyond the window",
     "y = AveragePool<kernel_shape = [1, 2], strides = [3, 4], auto_pad = \"SAME_UPPER\">(x)",
     {f64("x", {1, 1, 6, 7})}},
    {"GlobalAveragePool", "y = GlobalAveragePool(x)", {f64("x", {2, 3, 4, 5})}},
};

}  // namespace

std::span<const Case> pool_cases() { return kCases; }

}  // namespace onward
