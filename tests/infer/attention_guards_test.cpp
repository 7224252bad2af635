// Quantization and attention.

#include <gtest/gtest.h>

#include "tests/infer/guard_cases.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
    // quantization
    {"scales that do not fit", 23,
     "g (float[2,3] x, float[2] s) => (y) { y = QuantizeLinear(x, s) }", "shape",
     "input 1 (scale): it has 2 elements for 3 places along the axis"},
    {"a zero point of another shape", 23,
     "g (float[2,3] x, float[3] s, int8[2] z) => (y) { y = QuantizeLinear(x, s, z) }", "shape",
     "input 2 (zero_point): its shape [2] is not that of the scale, [3]"},
    {"a zero point of several elements for one scale", 23,
     "g (int8[N] x, float s, int8[2] z) => (y) { y = DequantizeLinear(x, s, z) }", "shape",
     "input 2 (zero_point): its shape [2] is not that of the scale, []"},
    {"blocks that do not fit", 23,
     "g (int8[2,5] x, float[2,2] s) => (y) { y = DequantizeLinear<block_size = 2>(x, s) }", "shape",
     "input 1 (scale): its shape [2,2] is not that of [2,5] in blocks of 2 along axis 1"},
    {"an axis to quantize behind the last", 23,
     "g (int8[2,5] x, float[2] s) => (y) { y = DequantizeLinear<axis = 2>(x, s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"blocks of nothing", 23,
     "g (int8[2,5] x, float[2,5] s) => (y) { y = DequantizeLinear<block_size = -1>(x, s) }",
     "attribute", "attribute 'block_size' is -1, which is out of range"},
    {"zero points of other rows", 23,
     "g (uint8[2,3] a, uint8[3,4] b, uint8[3] z) => (y) { y = MatMulInteger(a, b, z) }", "shape",
     "input 2 (a_zero_point): it has 3 elements for 2 rows"},
    {"scales of other outputs", 23,
     "g (uint8[1,1,4] x, float s, uint8 z, uint8[2,1,2] w, float[3] t) => (y) {\n"
     "y = QLinearConv(x, s, z, w, t, z, s, z) }",
     "shape", "input 4 (w_scale): it has 3 elements for 2 outputs"},

    // attention
    {"heads that do not divide", 24,
     "g (float[2,3,8] q) => (y) { y = Attention<q_num_heads = 3, kv_num_heads = 3>(q, q, q) }",
     "shape", "input 0: 8 elements cannot be divided among 3 heads"},
    {"no heads", 24,
     "g (float[2,3,8] q) => (y) { y = Attention<q_num_heads = 0, kv_num_heads = 1>(q, q, q) }",
     "attribute", "attribute 'q_num_heads' is 0, but must be positive"},
    {"a mode of products that there is not", 24,
     "g (float[1,2,3,4] q) => (y) { y = Attention<qk_matmul_output_mode = 4>(q, q, q) }",
     "attribute", "attribute 'qk_matmul_output_mode' is 4, but must be 0, 1, 2 or 3"},
    {"a mask that is too long", 24,
     "g (float[1,2,3,4] q, bool[3,5] m) => (y) { y = Attention(q, q, q, m) }", "shape",
     "input 3: a mask of shape [3,5] does not go with scores of 3 keys"},
    {"lengths beyond the keys", 24,
     "g (float[1,2,3,4] q) => (y) <int64[1] n = {4}> { y = Attention(q, q, q, , , , n) }", "shape",
     "input 6: a sequence of 4 elements, of 3"},
    {"heads of an odd size", 24,
     "g (float[1,2,3,5] x, float[1,3,2] c) => (y) { y = RotaryEmbedding(x, c, c) }", "shape",
     "input 0: a head's size of 5 is not even"},
    {"a cache that is written along its batch", 24,
     "g (float[2,3] x) => (y) { y = TensorScatter<axis = 0>(x, x) }", "attribute",
     "axis 0 is out of range for rank 2"},
    {"what does not fit into a cache", 24,
     "g (float[2,3,4] x, float[2,5,4] u) => (y) { y = TensorScatter(x, u) }", "shape",
     "input 1: it writes 5 elements, of 3"},
};

TEST(AttentionGuards, Refuse) { expect_refusals(kRefused); }

const RightNode kRight[] = {
    {18, "g (int8[N] x, float s, int8[M] z) => (y) { y = DequantizeLinear(x, s, z) }"},
    {18, "g (int8[N] x, float s, int8[1] z) => (y) { y = DequantizeLinear(x, s, z) }"},
    {23, "g (float[2,5] x, float[2,3] s) => (y) { y = QuantizeLinear<block_size = 2>(x, s) }",
     "u8[2,5]"},
    {23, "g (float[3] x, float[1] s) => (y) { y = QuantizeLinear<axis = 7>(x, s) }", "u8[3]"},
    {24, "g (float[1,2,3,4] q, bool[3,2] m) => (y) { y = Attention(q, q, q, m) }", "f32[1,2,3,4]"},
    {24, "g (float[2,3,4] x, float[2,3,4] u) => (y) { y = TensorScatter(x, u) }", "f32[2,3,4]"},
};

TEST(AttentionGuards, LetRightNodesPass) { expect_right(kRight); }

}  // namespace
}  // namespace onward
