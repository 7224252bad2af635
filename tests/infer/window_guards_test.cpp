// Windows of convolutions and pools.

#include <gtest/gtest.h>

#include "tests/infer/guard_cases.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
    {"a stride of 0", 21,
     "g (float[1,1,4] x) => (y) { y = MaxPool<kernel_shape = [2], strides = [0]>(x) }", "attribute",
     "attribute 'strides' holds 0, which is out of range"},
    {"a padding below 0", 21,
     "g (float[1,1,4] x, float[1,1,2] w) => (y) { y = Conv<pads = [-1, 0]>(x, w) }", "attribute",
     "attribute 'pads' holds -1, which is out of range"},
    {"a dilation of 2^31", 21,
     "g (float[1,1,4] x, float[1,1,2] w) => (y) { y = Conv<dilations = [2147483648]>(x, w) }",
     "attribute", "attribute 'dilations' holds 2147483648, which is out of range"},
    {"too few strides", 21,
     "g (float[1,1,4,4] x, float[1,1,2,2] w) => (y) { y = Conv<strides = [2]>(x, w) }", "attribute",
     "attribute 'strides' has 1 entries, but 2 are needed"},
    {"another auto_pad", 21,
     "g (float[1,1,4] x) => (y) { y = MaxPool<kernel_shape = [2], auto_pad = \"SAME\">(x) }",
     "attribute", "unknown auto_pad 'SAME'"},
    {"pads beside auto_pad", 21,
     "g (float[1,1,4] x) => (y) {\n"
     "y = MaxPool<kernel_shape = [2], auto_pad = \"VALID\", pads = [0, 1]>(x) }",
     "attribute", "attributes 'auto_pad' (VALID) and 'pads' [0,1] exclude each other"},
    {"pads beside auto_pad, no shape known", 21,
     "g (float[] x, float[] w) => (y) { y = ConvTranspose<auto_pad = \"SAME_LOWER\", pads = "
     "[1]>(x, w) }",
     "attribute", "attributes 'auto_pad' (SAME_LOWER) and 'pads' [1] exclude each other"},
    {"pads beside auto_pad of quantized images", 21,
     "g (uint8[1,1,4] x, float s, uint8 z, uint8[1,1,2] w, float[1] t) => (y) {\n"
     "y = QLinearConv<auto_pad = \"SAME_UPPER\", pads = [1, 0]>(x, s, z, w, t, z, s, z) }",
     "attribute", "attributes 'auto_pad' (SAME_UPPER) and 'pads' [1,0] exclude each other"},
    {"an average over no dimensions", 21, "g (float[2,3] x) => (y) { y = GlobalAveragePool(x) }",
     "shape", "its input has rank 2, and no spatial dimensions"},
    {"padding as large as the window", 21,
     "g (float[1,1,4] x) => (y) { y = AveragePool<kernel_shape = [2], pads = [0, 2]>(x) }",
     "attribute",
     "padding of 2 along spatial dimension 0 is not smaller than the window of 2: a window could "
     "lie in it alone"},
    {"no spatial dimensions", 21, "g (float[1,4] x) => (y) { y = MaxPool<kernel_shape = [2]>(x) }",
     "shape", "its input has rank 2, and no spatial dimensions"},
    {"output_padding beside auto_pad", 21,
     "g (float[1,1,4] x, float[1,1,3] w) => (y) {\n"
     "y = ConvTranspose<auto_pad = \"SAME_UPPER\", strides = [2], output_padding = [1]>(x, w) }",
     "attribute",
     "attribute 'output_padding' together with auto_pad: the standard does not define the size of "
     "the result"},
    {"output_padding of a whole stride", 21,
     "g (float[1,1,4] x, float[1,1,3] w) => (y) {\n"
     "y = ConvTranspose<strides = [2], output_padding = [2]>(x, w) }",
     "attribute",
     "output_padding of 2 along spatial dimension 0 is smaller neither than the stride nor than "
     "the "
     "dilation"},
    {"output_shape below the input", 21,
     "g (float[1,1,4] x, float[1,1,3] w) => (y) {\n"
     "y = ConvTranspose<output_shape = [3]>(x, w) }",
     "attribute", "output_shape of 3 along spatial dimension 0 is smaller than its input, 4"},
    {"no windows of a transposed convolution", 21,
     "g (float[1,1,0] x, float[1,1,2] w) => (y) { y = ConvTranspose(x, w) }", "shape",
     "spatial dimension 0 is empty: there are no windows"},
    {"padding that cuts off all", 21,
     "g (float[1,1,2] x, float[1,1,2] w) => (y) { y = ConvTranspose<pads = [2, 2]>(x, w) }",
     "attribute", "padding of 2 and 2 along spatial dimension 0 is more than 3"},
};

TEST(WindowGuards, Refuse) { expect_refusals(kRefused); }

const RightNode kRight[] = {
    {18,
     "g (float[1,1,4] x, float[1,1,2] w) => (y) {\n"
     "y = ConvTranspose<dilations = [3], output_padding = [2], pads = [1, 2]>(x, w) }"},
    {18,
     "g (float[1,1,4] x, float[1,1,3] w) => (y) {\n"
     "y = ConvTranspose<auto_pad = \"SAME_LOWER\", strides = [2], output_shape = [9]>(x, w) }"},
    {21,
     "g (float[1,1,5] x) => (y) {\n"
     "y = MaxPool<kernel_shape = [3], auto_pad = \"SAME_UPPER\", pads = [0, 0]>(x) }",
     "f32[1,1,5]"},
    {21,
     "g (float[1,1,5] x, float[2,1,3] w) => (y) {\n"
     "y = Conv<auto_pad = \"SAME_LOWER\", strides = [2], pads = [0, 0]>(x, w) }",
     "f32[1,2,3]"},
};

TEST(WindowGuards, LetRightNodesPass) { expect_right(kRight); }

}  // namespace
}  // namespace onward
