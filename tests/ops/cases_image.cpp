#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"DepthToSpace", "y = DepthToSpace<blocksize = 2>(x)", {f64("x", {2, 8, 2, 3})}},
    {"DepthToSpace of columns and rows",
     "y = DepthToSpace<blocksize = 2, mode = \"CRD\">(x)",
     {f64("x", {2, 8, 2, 3})}},
    {"SpaceToDepth", "y = SpaceToDepth<blocksize = 2>(x)", {f64("x", {2, 3, 4, 6})}},
    {"SpaceToDepth of columns and rows",
     "y = SpaceToDepth<blocksize = 2, mode = \"CRD\">(x)",
     {f64("x", {2, 3, 4, 6})}},
    Case{"SpaceToDepth of half a block",
         "y = SpaceToDepth<blocksize = 2>(x)",
         {f64("x", {1, 1, 3, 4})}}
        .refused("not divisible by 2"),

    {"CenterCropPad",
     "y = CenterCropPad(x, shape)",
     {f64("x", {4, 3, 2}), i64("shape", {3, 6, 2})}},
    {"CenterCropPad axes",
     "y = CenterCropPad<axes = [-1, 0]>(x, shape)",
     {f64("x", {4, 3, 5}), i64("shape", {2, 7})}},

    {"MaxUnpool",
     "p, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)\n"
     "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(p, i)",
     {f64("x", {1, 2, 4, 4})}},
    {"MaxUnpool of one dimension",
     "y = MaxUnpool<kernel_shape = [2]>(x, i)",
     {f64("x", {1, 1, 3}), i64("i", {1, 1, 3}, {0, 3, 2})}},
    {"MaxUnpool pads",
     "y = MaxUnpool<kernel_shape = [3], strides = [2], pads = [1, 0]>(x, i)",
     {f64("x", {1, 2, 2}), i64("i", {1, 2, 2}, {0, 3, 5, 6})}},
    {"MaxUnpool to a shape",
     "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i, shape)",
     {f64("x", {1, 1, 2, 2}), i64("i", {1, 1, 2, 2}, {5, 7, 13, 15}), i64("shape", {1, 1, 5, 5})}},
};

}  // namespace

std::span<const Case> image_cases() { return kCases; }

}  // namespace onward
