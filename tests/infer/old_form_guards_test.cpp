// Forms of operators that later opsets replaced.

#include <gtest/gtest.h>

#include "tests/infer/guard_cases.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
    {"Squeeze of a later axis", 10, "g (float[2,3] x) => (y) { y = Squeeze<axes = [2]>(x) }",
     "attribute", "axis 2 is out of range for rank 2"},
    {"Unsqueeze twice", 10, "g (float[2,3] x) => (y) { y = Unsqueeze<axes = [0, 0]>(x) }",
     "attribute", "axis 0 is given twice"},
    {"Unsqueeze of a later axis", 10, "g (float[2,3] x) => (y) { y = Unsqueeze<axes = [7]>(x) }",
     "attribute", "axis 7 is out of range for rank 3"},
    {"Unsqueeze twice, as an input", 21,
     "g (float[2,3] x) => (y) <int64[2] a = {0, -4}> { y = Unsqueeze(x, a) }", "shape",
     "input 1 (axes): axis -4 is given twice"},
    {"ReduceMax twice", 11, "g (float[2,3] x) => (y) { y = ReduceMax<axes = [1, -1]>(x) }",
     "attribute", "axis -1 is given twice"},
    {"ReduceLogSumExp of a later axis", 11,
     "g (float[2,3] x) => (y) { y = ReduceLogSumExp<axes = [5]>(x) }", "attribute",
     "axis 5 is out of range for rank 2"},
    {"ReduceL2 twice, as an input", 21,
     "g (float[2,3] x) => (y) <int64[2] a = {1, 1}> { y = ReduceL2(x, a) }", "shape",
     "input 1 (axes): axis 1 is given twice"},
    {"Softmax cut behind the last", 10, "g (float[2,3] x) => (y) { y = Softmax<axis = 5>(x) }",
     "attribute", "axis 5 is out of range for rank 2"},
    {"LogSoftmax cut before the first", 1,
     "g (float[2,3] x) => (y) { y = LogSoftmax<axis = -3>(x) }", "attribute",
     "axis -3 is out of range for rank 2"},
    {"Slice of three dimensions", 9,
     "g (float[2,3] x) => (y) { y = Slice<starts = [0, 0, 0], ends = [1, 1, 1]>(x) }", "attribute",
     "attribute 'starts' has 3 entries for rank 2"},
    {"Slice without an end", 9,
     "g (float[2,3] x) => (y) { y = Slice<starts = [0, 0], ends = [1]>(x) }", "attribute",
     "attributes 'starts', 'ends' and 'axes' differ in length"},
    {"Slice twice", 9,
     "g (float[2,3] x) => (y) { y = Slice<starts = [0, 0], ends = [1, 1], axes = [1, 1]>(x) }",
     "attribute", "axis 1 is given twice"},
    {"Add of another shape", 6, "g (float[2,3] x, float[3] v) => (y) { y = Add(x, v) }", "shape",
     "its shape [3] is not [2,3], and attribute 'broadcast' is not set"},
    {"Mul that would broadcast A", 6,
     "g (float[3] x, float[2,3] v) => (y) { y = Mul<broadcast = 1>(x, v) }", "attribute",
     "axis -1 leaves no room for rank 2 below rank 1"},
    {"Sub from a later axis", 6,
     "g (float[2,3] x, float[2] v) => (y) { y = Sub<broadcast = 1, axis = 5>(x, v) }", "attribute",
     "axis 5 leaves no room for rank 1 below rank 2"},
    {"Less of a shape that does not fit", 1,
     "g (float[2,3] x, float[2] v) => (y) { y = Less<broadcast = 1>(x, v) }", "shape",
     "its shape [2] can't be broadcast to [2,3] from axis 1"},
    {"Sum of two shapes", 6, "g (float[2,3] x, float[3] v) => (y) { y = Sum(x, v) }", "shape",
     "its shape [3] is not [2,3], and its operator broadcasts only since opset 8"},
    {"Gemm with a vector", 6,
     "g (float[2,3] x, float[3,4] w, float[4] b) => (y) { y = Gemm(x, w, b) }", "shape",
     "its shape [4] is not [2,4], and attribute 'broadcast' is not set"},
};

TEST(OldFormGuards, Refuse) { expect_refusals(kRefused); }

const RightNode kRight[] = {
    {10, "g (float[2,1] x) => (y) { y = Squeeze<axes = [1]>(x) }", "f32[2]"},
    {10, "g (float[1,3,1] x) => (y) { y = Squeeze<axes = [2, 0]>(x) }", "f32[3]"},
    {10, "g (float[1,3,1] x) => (y) { y = Squeeze<axes = [-1, 0]>(x) }", "f32[3]"},
    {10, "g (float[2,3] x) => (y) { y = Unsqueeze<axes = [0, 3]>(x) }", "f32[1,2,3,1]"},
    {10, "g (float[2,3] x) => (y) { y = Unsqueeze<axes = [3, 0]>(x) }", "f32[1,2,3,1]"},
    {10, "g (float[2,3] x) => (y) { y = Unsqueeze<axes = [0, -1]>(x) }", "f32[1,2,3,1]"},
    {10, "g (float[2,3,4] x) => (y) { y = ReduceSum<axes = [-1, 0], keepdims = 0>(x) }", "f32[3]"},
    {9, "g (float[2,3] x) => (y) { y = Slice<axes = [1, 0], starts = [1, 0], ends = [3, 1]>(x) }",
     "f32[...]"},
    {9, "g (float[2,3] x) => (y) { y = Slice<axes = [-1], starts = [1], ends = [3]>(x) }",
     "f32[?,?]"},
    {10, "g (float[2,3] x) => (y) { y = Softmax<axis = 2>(x) }", "f32[2,3]"},
    {9, "g (float[2,3] x) => (y) { y = Slice<starts = [0, 1], ends = [1, 3]>(x) }", "f32[1,2]"},
    {6, "g (float[2,3] x, float[2] v) => (y) { y = Add<broadcast = 1, axis = 0>(x, v) }",
     "f32[2,3]"},
    {6, "g (float[2,3] x, float[1,1,1] v) => (y) { y = Add<broadcast = 1>(x, v) }", "f32[2,3]"},
    {6, "g (float[N,3] x, float[M,3] v) => (y) { y = Mul(x, v) }", "f32[N,3]"},
    {6, "g (float[2,3] x, float[3,4] w, float[4] b) => (y) { y = Gemm<broadcast = 1>(x, w, b) }",
     "f32[2,4]"},
};

TEST(OldFormGuards, LetRightNodesPass) { expect_right(kRight); }

}  // namespace
}  // namespace onward
