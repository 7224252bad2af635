// Nodes that ONNX's own inference does not survive, or does not notice: each is refused by a guard.

#include "infer/guards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "format/load.h"
#include "infer/infer.h"
#include "tests/support/random_node.h"

namespace onward {
namespace {

struct GuardCase {
  const char* name;
  int opset;
  const char* graph;
  const char* rule;
  const char* message;
};

const GuardCase kCases[] = {
    // arity
    {"too few inputs", 21, "g (float[2] x) => (y) { y = Add(x) }", "arity",
     "it has 1 input, but takes 2"},
    {"too many inputs", 21, "g (float[2] x) => (y) { y = Relu(x, x, x) }", "arity",
     "it has 3 inputs, but takes 1"},
    {"too many outputs", 21, "g (float[2] x) => (y) { y, z = Relu(x) }", "arity",
     "it has 2 outputs, but takes 1"},
    {"too few of at least one", 21, "g (float[2] x) => (y) { y = Sum() }", "arity",
     "it has 0 inputs, but takes at least 1"},
    {"a number of inputs between two", 21, "g (float[2] x) => (y) { y = Clip(x, x, x, x) }",
     "arity", "it has 4 inputs, but takes 1 to 3"},
    {"an input left out", 21, "g (float[2] x) => (y) { y = Add(, x) }", "arity",
     "input 0 (A) is required"},
    {"one of many inputs left out", 21, "g (float[2] x) => (y) { y = Sum(x, , x) }", "arity",
     "input 1 (data_0) is required"},
    {"the last of many inputs left out", 21,
     "g (float[2] x) => (y) { y = Concat<axis = 0>(x, \"\") }", "arity",
     "input 1 (inputs) is required"},

    // attributes
    {"an attribute left out", 21, "g (float[2] x) => (y) { y = Concat(x, x) }", "attribute",
     "attribute 'axis' is missing"},
    {"an attribute of another type", 21, "g (float[2,3] x) => (y) { y = Transpose<perm = 1>(x) }",
     "attribute", "attribute 'perm' is an int, but must be a list of ints"},
    {"an axis of 2^31: ONNX 1.23 dies", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = 2147483648>(x, s) }",
     "attribute", "attribute 'axis' is 2147483648, which is out of range"},
    {"an axis of 2^32, which would be cut to 0", 21,
     "g (float[2,3] x) => (y) { y = Softmax<axis = 4294967296>(x) }", "attribute",
     "attribute 'axis' is 4294967296, which is out of range"},
    {"an axis behind the last", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = 2>(x, s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an axis before the first", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = -3>(x, s) }", "attribute",
     "axis -3 is out of range for rank 2"},
    {"an axis in a list", 13,
     "g (float[2,3] x) => (y) { y = MeanVarianceNormalization<axes = [0, 2]>(x) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an equation with other signs: ONNX 1.23 hangs", 12,
     "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"i0,jk->ik\">(x, w) }",
     "attribute", "'i0,jk->ik' is not an equation such as 'ij,jk->ik'"},
    {"an equation with two ellipses", 12,
     "g (float[2,3] x) => (y) { y = Einsum<equation = \"...i...->i\">(x) }", "attribute",
     "'...i...->i' is not an equation such as 'ij,jk->ik'"},
    {"an equation with two arrows", 12,
     "g (float[2,3] x) => (y) { y = Einsum<equation = \"ij->i->j\">(x) }", "attribute",
     "'ij->i->j' is not an equation such as 'ij,jk->ik'"},
    {"batch dimensions below 0", 13,
     "g (float[2,3] x, int64[2,1] i) => (y) { y = GatherND<batch_dims = -4>(x, i) }", "attribute",
     "attribute 'batch_dims' is -4, but can't be negative"},
    {"an index that has no successor", 9,
     "g (int64[3] x) => (y) { y = TfIdfVectorizer<max_gram_length = 1, max_skip_count = 0,\n"
     "min_gram_length = 1, mode = \"TF\", ngram_counts = [0], pool_int64s = [1],\n"
     "ngram_indexes = [9223372036854775807]>(x) }",
     "attribute", "attribute 'ngram_indexes' holds 9223372036854775807, which is out of range"},
    {"an image in other channels", 20,
     "g (uint8[N] x) => (y) { y = ImageDecoder<pixel_format = \"RGBA\">(x) }", "attribute",
     "attribute 'pixel_format' is 'RGBA', but must be one of RGB, BGR, Grayscale"},
    {"no pattern", 20, "g (string[2] x) => (y) { y = RegexFullMatch(x) }", "attribute",
     "attribute 'pattern' is missing"},
    {"a pattern that does not end", 20,
     "g (string[2] x) => (y) { y = RegexFullMatch<pattern = \"a(b\">(x) }", "attribute",
     "attribute 'pattern' is 'a(b', which is no pattern in RE2's syntax: missing ): a(b"},
    {"a pattern that is not in UTF-8", 20,
     "g (string[2] x) => (y) { y = RegexFullMatch<pattern = \"\xC3(\">(x) }", "attribute",
     "attribute 'pattern' is '\\xc3(', which is no pattern in RE2's syntax: invalid UTF-8"},
    {"more outputs than num_outputs: ONNX 1.23 dies", 18,
     "g (float[6] x) => (a, b) { a, b = Split<num_outputs = 1>(x) }", "attribute",
     "attribute 'num_outputs' is 1, but the node has 2 outputs"},
    {"more num_outputs than memory", 18,
     "g (float[6] x) => (a) { a = Split<num_outputs = 2000000000>(x) }", "attribute",
     "attribute 'num_outputs' is 2000000000, but the node has 1 outputs"},
    {"sizes whose sum overflows", 2,
     "g (float[6] x) => (a, b) { a, b = Split<split = [9223372036854775807, 2]>(x) }", "attribute",
     "attribute 'split' holds 9223372036854775807, which is out of range"},

    {"an axis that only kernels look at", 21,
     "g (float[2,3] x, int64[2,3] i) => (y) { y = GatherElements<axis = 5>(x, i) }", "attribute",
     "axis 5 is out of range for rank 2"},
    {"an axis of no dimension", 21, "g (float x) => (y) { y = ArgMax<axis = 0>(x) }", "attribute",
     "axis 0 is out of range for rank 0"},
    {"a largest element along no dimension", 21,
     "g (float[2,3] x) => (y) { y = Hardmax<axis = 2>(x) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"a slope of nothing", 12, "g (float[2] x) => (y) { y = Celu<alpha = 0.0>(x) }", "attribute",
     "attribute 'alpha' is 0, but is divided by"},
    {"a gate and a value of other shapes", 28,
     "g (float[2,3] x, float[3] b) => (y) { y = SwiGLU(x, b) }", "shape",
     "input 1 (B): its shape [3] is not that of 'x', [2,3]"},
    {"a direction of bits", 11, "g (uint8[2] x) => (y) { y = BitShift<direction = \"UP\">(x, x) }",
     "attribute", "attribute 'direction' is 'UP', but must be one of LEFT, RIGHT"},
    {"no groups", 21,
     "g (float[2,4,3] x, float[4] s) => (y) { y = GroupNormalization<num_groups = 0>(x, s, s) }",
     "attribute", "attribute 'num_groups' is 0, but must be positive"},
    {"groups that do not divide", 21,
     "g (float[2,4,3] x, float[4] s) => (y) { y = GroupNormalization<num_groups = 3>(x, s, s) }",
     "attribute", "4 channels cannot be split into 3 groups"},
    {"no neighbours", 13, "g (float[2,4,3] x) => (y) { y = LRN<size = 0>(x) }", "attribute",
     "attribute 'size' is 0, but must be positive"},
    {"neighbours among no channels", 13, "g (float[2,0,3] x) => (y) { y = LRN<size = 3>(x) }",
     "shape", "dimension 1 is empty: there are no channels to average"},
    {"neighbours in an empty image", 13, "g (float[2,4,0] x) => (y) { y = LRN<size = 3>(x) }",
     "shape", "dimension 2 is empty: there are no channels to average"},
    {"the largest of nothing", 13, "g (float[2,0] x) => (y) { y = ArgMax<axis = -1>(x) }", "shape",
     "dimension 1 is empty: there is no element to find along it"},
    {"the smallest of nothing", 13, "g (float[0,4] x) => (y) { y = ArgMin(x) }", "shape",
     "dimension 0 is empty: there is no element to find along it"},
    {"sums along no axis", 14, "g (float[2,3] x) => (y) <int64 a = {2}> { y = CumSum(x, a) }",
     "shape", "input 1 (axis): axis 2 is out of range for rank 2"},
    {"mean and variance of a sequence", 13,
     "g (float[2,3,4] x) => (y) { y = MeanVarianceNormalization(x) }", "attribute",
     "axis 3 is out of range for rank 3"},
    {"neighbours of a vector", 13, "g (float[4] x) => (y) { y = LRN<size = 3>(x) }", "shape",
     "input 0 has rank 1, but images at least 2"},
    {"a norm of another order", 22, "g (float[2,4] x) => (y) { y = LpNormalization<p = 3>(x) }",
     "attribute", "attribute 'p' is 3, not 1 or 2"},
    {"a norm along no axis", 22, "g (float[2,4] x) => (y) { y = LpNormalization<axis = 2>(x) }",
     "attribute", "axis 2 is out of range for rank 2"},
    {"RMSNormalization behind the last axis", 23,
     "g (float[2,3] x, float[3] s) => (y) { y = RMSNormalization<axis = 2>(x, s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"an axis to scatter along", 21,
     "g (float[2,3] x, int64[2,3] i) => (y) { y = ScatterElements<axis = -3>(x, i, x) }",
     "attribute", "axis -3 is out of range for rank 2"},

    // attributes that name element types
    {"Cast to nothing", 21, "g (float[2] x) => (y) { y = Cast<to = 0>(x) }", "attribute",
     "attribute 'to' is 0, which is not an element type"},
    {"Cast to a type of no standard", 21, "g (float[2] x) => (y) { y = Cast<to = 99>(x) }",
     "attribute", "attribute 'to' is 99, which is not an element type"},
    {"Bernoulli", 21, "g (float[2] x) => (y) { y = Bernoulli<dtype = -2>(x) }", "attribute",
     "attribute 'dtype' is -2, which is not an element type"},
    {"EyeLike", 21, "g (float[2,2] x) => (y) { y = EyeLike<dtype = 0>(x) }", "attribute",
     "attribute 'dtype' is 0, which is not an element type"},
    {"HannWindow", 21, "g (int64 n) => (y) { y = HannWindow<output_datatype = 77>(n) }",
     "attribute", "attribute 'output_datatype' is 77, which is not an element type"},
    {"Multinomial", 21, "g (float[2,3] x) => (y) { y = Multinomial<dtype = 1000>(x) }", "attribute",
     "attribute 'dtype' is 1000, which is not an element type"},
    {"QuantizeLinear", 21,
     "g (float[2] x, float s) => (y) { y = QuantizeLinear<output_dtype = -1>(x, s) }", "attribute",
     "attribute 'output_dtype' is -1, which is not an element type"},
    {"RandomNormal", 21, "g () => (y) { y = RandomNormal<dtype = 0, shape = [2]>() }", "attribute",
     "attribute 'dtype' is 0, which is not an element type"},
    {"RandomNormalLike", 21, "g (float[2] x) => (y) { y = RandomNormalLike<dtype = 50>(x) }",
     "attribute", "attribute 'dtype' is 50, which is not an element type"},
    {"RandomUniform", 21, "g () => (y) { y = RandomUniform<dtype = -9, shape = [2]>() }",
     "attribute", "attribute 'dtype' is -9, which is not an element type"},
    {"RandomUniformLike", 21, "g (float[2] x) => (y) { y = RandomUniformLike<dtype = 0>(x) }",
     "attribute", "attribute 'dtype' is 0, which is not an element type"},
    {"SequenceEmpty", 21, "g () => (y) { y = SequenceEmpty<dtype = 88>() }", "attribute",
     "attribute 'dtype' is 88, which is not an element type"},
    {"statistics of no type", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = -2>(x, s) }",
     "attribute", "attribute 'stash_type' is -2, which is not an element type"},
    {"statistics that are integers", 17,
     "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = 7>(x, s) }",
     "attribute", "attribute 'stash_type' is i64, but must be f16, bf16, f32 or f64"},
    {"statistics of eight bits", 21,
     "g (float[2,4,3] x, float[4] s) => (y) {\n"
     "y = GroupNormalization<num_groups = 2, stash_type = 17>(x, s, s) }",
     "attribute", "attribute 'stash_type' is f8e4m3fn, but must be f16, bf16, f32 or f64"},

    // forms that later opsets replaced
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

    // values of constant inputs
    {"sizes whose sum overflows, as an input", 13,
     "g (float[6] x) => (a, b) <int64[2] s = {9223372036854775807, 2}> { a, b = Split(x, s) }",
     "shape", "split holds 9.223372036854776e+18, which is out of range"},
    {"sizes below 0", 11,
     "g (float[6] x) => (a) <int64[2] s = {-2, 8}> { a = SplitToSequence(x, s) }", "shape",
     "split holds -2, which is out of range"},
    {"a scale beyond all numbers", 13,
     "g (float[2] x) => (y) <float[1] s = {1e30}> { y = Resize(x, , s) }", "shape",
     "a scale is 1.0000000150474662e+30, but must be positive and finite"},
    {"a scale of 0", 10, "g (float[2] x) => (y) <float[1] s = {0}> { y = Resize(x, s) }", "shape",
     "a scale is 0, but must be positive and finite"},
    {"a scale in an attribute", 7, "g (float[2] x) => (y) { y = Upsample<scales = [1e30]>(x) }",
     "shape", "a scale is 1.0000000150474662e+30, but must be positive and finite"},
    {"a mode that is none", 19,
     "g (float[2] x) => (y) <float[1] s = {2}> { y = Resize<mode = \"area\">(x, , s) }",
     "attribute", "attribute 'mode' is 'area', but must be one of nearest, linear, cubic"},
    {"an axis twice", 19,
     "g (float[2,2] x) => (y) <float[2] s = {2, 2}> { y = Resize<axes = [1, -1]>(x, , s) }",
     "attribute", "axis -1 is given twice"},
    {"an axis beyond the rank", 19,
     "g (float[2,2] x) => (y) <float[1] s = {2}> { y = Resize<axes = [2]>(x, , s) }", "attribute",
     "axis 2 is out of range for rank 2"},
    {"scales for other axes", 13, "g (float[2,2] x, float[3] s) => (y) { y = Resize(x, , s) }",
     "shape", "input 2 (scales): it has 3 elements for 2 axes"},
    {"half a region", 13, "g (float[2,2] x, float[2] r, float[2] s) => (y) { y = Resize(x, r, s) }",
     "shape", "input 1 (roi): it has 2 elements for 2 axes"},
    {"scales and sizes", 13,
     "g (float[2] x, float[1] s, int64[1] n) => (y) { y = Resize(x, , s, n) }", "arity",
     "it has both scales and sizes"},
    {"neither scales nor sizes", 13, "g (float[2] x) => (y) { y = Resize(x) }", "arity",
     "it has neither scales nor sizes"},
    {"no region to crop", 13,
     "g (float[2] x, float[1] s) => (y) {\n"
     "y = Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, , s) }",
     "arity", "it has no region (roi) to crop"},
    {"nearest elements without aliases", 18,
     "g (float[2] x, float[1] s) => (y) { y = Resize<antialias = 1>(x, , s) }", "attribute",
     "attribute 'antialias' is set, but the mode is 'nearest'"},
    {"a depth beyond all numbers", 11,
     "g (int64[2] x, float[2] v) => (y) <float d = {1e30}> { y = OneHot(x, d, v) }", "shape",
     "depth holds 1.0000000150474662e+30, which is out of range"},
    {"a step of 0", 17,
     "g (float[1,16,1] x) => (y) <int64 step = {0}, int64 length = {4}> {\n"
     "y = STFT(x, step, , length) }",
     "shape", "frame_step holds 0, which is out of range"},

    {"a window from no end", 17, "g (int64 n) => (y) { y = HannWindow<periodic = 2>(n) }",
     "attribute", "attribute 'periodic' is 2, but must be 0 or 1"},
    {"two sizes of a window", 17, "g (int64[2] n) => (y) { y = HammingWindow(n) }", "shape",
     "input 0 (size): it has rank 1, but is a scalar"},
    {"a window of nothing", 17, "g () => (y) <int64 n = {0}> { y = BlackmanWindow(n) }", "shape",
     "input 0 (size): it holds 0, which is out of range"},
    {"a sample rate of 0", 17,
     "g (int64 n, int64 l, float e) => (y) <int64 r = {0}> { y = MelWeightMatrix(n, l, r, e, e) }",
     "shape", "input 2 (sample_rate): it holds 0, which is out of range"},
    {"an edge below 0", 17,
     "g (int64 n, float u) => (y) <float l = {-1}> { y = MelWeightMatrix(n, n, n, l, u) }", "shape",
     "input 3 (lower_edge_hertz): it holds -1, which is out of range"},

    {"a transform to neither side", 20, "g (float[2,4,1] x) => (y) { y = DFT<onesided = 2>(x) }",
     "attribute", "attribute 'onesided' is 2, but must be 0 or 1"},
    {"numbers of three parts", 20, "g (float[2,4,3] x) => (y) { y = DFT(x) }", "shape",
     "input 0 (input): its numbers have 3 parts, not 1 or 2"},
    {"a transform of nothing", 17, "g (float[2,0,1] x) => (y) { y = DFT(x) }", "shape",
     "input 0 (input): it has 0 numbers along axis 1: there is nothing to transform"},
    {"a transform to a negative length", 20,
     "g (float[2,4,1] x) => (y) <int64 n = {-4}> { y = DFT(x, n) }", "shape",
     "input 1 (dft_length): it holds -4, which is out of range"},
    {"the parts of numbers as the axis of a transform", 20,
     "g (float[2,4,1] x) => (y) <int64 a = {2}> { y = DFT(x, , a) }", "attribute",
     "axis 2 is out of range for rank 3 with parts of numbers"},
    {"frames without a length", 17, "g (float[1,16,1] x, int64 step) => (y) { y = STFT(x, step) }",
     "arity", "it has neither a window nor a length"},
    {"frames of one number", 17,
     "g (float[16] x, int64 step, float[6] w) => (y) { y = STFT(x, step, w) }", "shape",
     "input 0 (signal): it has rank 1, not 3"},
    {"frames beyond the signal", 17,
     "g (float[1,4,1] x, int64 step, float[6] w) => (y) { y = STFT(x, step, w) }", "shape",
     "input 0 (signal): there are no frames of 6 in a signal of 4"},
    {"one side of complex numbers", 17,
     "g (float[1,16,2] x, int64 step, float[6] w) => (y) { y = STFT(x, step, w) }", "shape",
     "input 0 (signal): a one-sided transform takes real numbers alone"},

    {"samples of another mode", 20,
     "g (float[1,1,2,2] x, float[1,2,2,2] g) => (y) { y = GridSample<mode = \"bilinear\">(x, g) }",
     "attribute", "attribute 'mode' is 'bilinear', but must be one of linear, nearest, cubic"},
    {"samples of an old form's other mode", 16,
     "g (float[1,1,2,2] x, float[1,2,2,2] g) => (y) { y = GridSample<mode = \"linear\">(x, g) }",
     "attribute", "attribute 'mode' is 'linear', but must be one of bilinear, nearest, bicubic"},
    {"samples of nothing", 20,
     "g (float[1,1,0,2] x, float[1,2,2,2] g) => (y) { y = GridSample(x, g) }", "shape",
     "input 0 (X): an image without elements can't be sampled"},
    {"samples at positions of three dimensions", 20,
     "g (float[1,1,2,2] x, float[1,2,2,3] g) => (y) { y = GridSample(x, g) }", "shape",
     "input 1 (grid): its dimension 3 is 3, not 2"},
    {"a cast that rounds in no known way", 25,
     "g (float[1] x) => (y) { y = Cast<to = 24, round_mode = \"even\">(x) }", "attribute",
     "attribute 'round_mode' is 'even', but must be one of up, down, nearest"},
    {"regions of nothing", 22,
     "g (float[1,1,0,2] x, float[1,4] r, int64[1] b) => (y) { y = RoiAlign(x, r, b) }", "shape",
     "input 0 (X): an image without elements can't be sampled"},
    {"regions of five numbers", 22,
     "g (float[1,1,2,2] x, float[1,5] r, int64[1] b) => (y) { y = RoiAlign(x, r, b) }", "shape",
     "input 1 (rois): its dimension 1 is 5, not 4"},
    {"regions of no points", 22,
     "g (float[1,1,2,2] x, float[1,4] r, int64[1] b) => (y) {\n"
     "y = RoiAlign<sampling_ratio = -1>(x, r, b) }",
     "attribute", "attribute 'sampling_ratio' is -1, which is out of range"},
    {"regions pooled to no size", 22,
     "g (float[1,1,2,2] x, float[1,5] r) => (y) { y = MaxRoiPool<pooled_shape = [0, 1]>(x, r) }",
     "attribute", "attribute 'pooled_shape' holds 0, which is out of range"},
    {"regions of an image that is not there", 22,
     "g (float[2,1,2,2] x) => (y) <float[2,5] r = {1, 0, 0, 1, 1, 2, 0, 0, 1, 1}> {\n"
     "y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }",
     "shape", "input 1 (rois): there is no image 2"},
    {"offsets for half of the taps", 22,
     "g (float[1,1,3,3] x, float[1,1,2,2] w, float[1,4,2,2] o) => (y) { y = DeformConv(x, w, o) }",
     "shape", "input 2 (offset): its dimension 1 is 4, not 8"},
    {"offsets of groups that share channels", 22,
     "g (float[1,3,3,3] x, float[1,3,2,2] w, float[1,16,2,2] o) => (y) {\n"
     "y = DeformConv<offset_group = 2>(x, w, o) }",
     "shape", "input 0 (X): its dimension 1, 3, is not divisible by 2"},
    {"corners of one element", 20,
     "g (float[1,2,3] t) => (y) <int64[4] s = {1, 1, 1, 4}> {\n"
     "y = AffineGrid<align_corners = 1>(t, s) }",
     "shape", "input 1 (size): it holds 1, which is out of range"},
    {"matrices of another batch", 20,
     "g (float[3,2,3] t) => (y) <int64[4] s = {2, 1, 4, 4}> { y = AffineGrid(t, s) }", "shape",
     "input 0 (theta): it has 3 matrices for a batch of 2"},
    {"columns of another block", 18,
     "g (float[1,5,4] x) => (y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> {\n"
     "y = Col2Im(x, i, b) }",
     "shape", "input 0 (input): its dimension 1, 5, is not divisible by 4"},
    {"columns beyond the places of blocks", 18,
     "g (float[1,4,5] x) => (y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> {\n"
     "y = Col2Im(x, i, b) }",
     "shape", "input 0 (input): it has 5 columns, but blocks have 4 places"},

    // shapes
    {"a shape of 2^31 dimensions: ONNX 1.23 takes all memory", 8,
     "g (float[2] x, int64[2147483647] s) => (y) { y = Expand(x, s) }", "shape",
     "a shape of 2147483647 dimensions is more than is supported"},
    {"a shape of more dimensions than any tensor has", 21,
     "g (float[2] x, int64[65] s) => (y) { y = Reshape(x, s) }", "shape",
     "a shape of 65 dimensions is more than is supported"},

    // attributes that would make no window
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
    {"a perm that is no permutation", 21,
     "g (float[2,3,4] x) => (y) { y = Transpose<perm = [0, 2, 2]>(x) }", "attribute",
     "perm [0,2,2] is not a permutation of 3 dimensions"},
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
    {"a direction that is none", 21,
     "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 1, scan_input_directions = [2],\n"
     "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }",
     "attribute", "attribute 'scan_input_directions' holds 2, but a direction is 0 or 1"},
    {"more sequences than inputs", 21,
     "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 2,\n"
     "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }",
     "attribute", "attribute 'num_scan_inputs' is 2, but the node has 1 inputs"},
    {"a negative dimension in a shape", 21,
     "g (float[2] x) => (y) <int64[1] s = {-2}> { y = Expand(x, s) }", "shape",
     "shape holds -2, which is out of range"},

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

/// Results need no types here.
Model read(int opset, const std::string& graph) {
  Problems ignored;
  return parse_text(fmt::format("<ir_version: 10, opset_import: [\"\" : {}]>\n{}", opset, graph),
                    {.problems = &ignored});
}

TEST(InferGuards, Refuse) {
  for (const GuardCase& test : kCases) {
    SCOPED_TRACE(test.name);
    Model model = read(test.opset, test.graph);
    Problems problems;
    infer_types(model, problems);
    ASSERT_EQ(problems.list().size(), 1);
    EXPECT_EQ(problems.list()[0].rule, test.rule);
    EXPECT_EQ(problems.list()[0].message, test.message);
  }
}

// The nearest neighbours of the cases above that are right.
const char* const kRight[] = {
    "g (int8[N] x, float s, int8[M] z) => (y) { y = DequantizeLinear(x, s, z) }",
    "g (int8[N] x, float s, int8[1] z) => (y) { y = DequantizeLinear(x, s, z) }",
    "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<axis = -2>(x, s) }",
    "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"ij, jk -> ik\">(x, w) }",
    "g (float[2,3] x, float[3,4] w) => (y) { y = Einsum<equation = \"...j,jk\">(x, w) }",
    "g (float[2,3] x, int64[2,1] i) => (y) { y = GatherND<batch_dims = 1>(x, i) }",
    "g (float[7] x) => (a, b) { a, b = Split<num_outputs = 2>(x) }",
    "g (float[6] x) => (a, b) <int64[2] s = {6, 0}> { a, b = Split(x, s) }",
    "g (float[2] x) => (y) <float[0] none = {}, int64[1] sizes = {3}> {\n"
    "y = Resize(x, , none, sizes) }",
    "g (float[2] x) => (y) <float[1] s = {0.5}> { y = Resize(x, , s) }",
    "g (int64[2] x, float[2] v) => (y) <float d = {3}> { y = OneHot(x, d, v) }",
    "g (float[2] x) => (y) { y = Clip(x, , ) }",
    "g (float[2] x) => (y) { c = Constant<value_int = 9223372036854775807>()\n y = Relu(x) }",
    "g (float[2,1] x, int64[N] s) => (y) { y = Expand(x, s) }",
    "g (float[2,3] x, float[3] s) => (y) { y = LayerNormalization<stash_type = 16>(x, s) }",
    "g (float[2,3] x, int64[2,3] i) => (y) { y = GatherElements<axis = -2>(x, i) }",
    "g (float[2,3,4] x) => (y) { y = GlobalMaxPool(x) }",
    "g (float[0,4] x) => (y) { y = ArgMax<axis = 1>(x) }",
    "g (float[0,0] x) => (y) { y = ArgMax<axis = 1>(x) }",
    "g (float[0,4,3] x) => (y) { y = LRN<size = 3>(x) }",
    "g (float[2,3] x) => (y) <int64 a = {-2}> { y = CumSum(x, a) }",
    "g (float[1,1,4] x, float[1,1,2] w) => (y) {\n"
    "y = ConvTranspose<dilations = [3], output_padding = [2], pads = [1, 2]>(x, w) }",
    "g (float[1,1,4] x, float[1,1,3] w) => (y) {\n"
    "y = ConvTranspose<auto_pad = \"SAME_LOWER\", strides = [2], output_shape = [9]>(x, w) }",
    "g (float[2,3] x) => (y) { y = Scan<num_scan_inputs = 1, scan_output_directions = [1],\n"
    "body = step (float[3] a) => (float[3] b) { b = Relu(a) }>(x) }",
};

struct RightForm {
  int opset;
  const char* graph;
  const char* type;  // of y
};

const RightForm kRightForms[] = {
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
    {21,
     "g (float[1,1,5] x) => (y) {\n"
     "y = MaxPool<kernel_shape = [3], auto_pad = \"SAME_UPPER\", pads = [0, 0]>(x) }",
     "f32[1,1,5]"},
    {21,
     "g (float[1,1,5] x, float[2,1,3] w) => (y) {\n"
     "y = Conv<auto_pad = \"SAME_LOWER\", strides = [2], pads = [0, 0]>(x, w) }",
     "f32[1,2,3]"},
    {23, "g (float[2,5] x, float[2,3] s) => (y) { y = QuantizeLinear<block_size = 2>(x, s) }",
     "u8[2,5]"},
    {23, "g (float[3] x, float[1] s) => (y) { y = QuantizeLinear<axis = 7>(x, s) }", "u8[3]"},
    {24, "g (float[1,2,3,4] q, bool[3,2] m) => (y) { y = Attention(q, q, q, m) }", "f32[1,2,3,4]"},
    {24, "g (float[2,3,4] x, float[2,3,4] u) => (y) { y = TensorScatter(x, u) }", "f32[2,3,4]"},
};

TEST(InferGuards, LetRightFormsPass) {
  for (const RightForm& test : kRightForms) {
    SCOPED_TRACE(test.graph);
    Model model = read(test.opset, test.graph);
    Problems problems;
    infer_types(model, problems);
    for (const Problem& problem : problems.list()) ADD_FAILURE() << to_string(problem);
    EXPECT_EQ(to_string(model.graph->outputs()[0]->type), test.type);
  }
}

TEST(InferGuards, LetRightNodesPass) {
  for (const char* graph : kRight) {
    SCOPED_TRACE(graph);
    Model model = read(18, graph);
    Problems problems;
    infer_types(model, problems);
    for (const Problem& problem : problems.list()) ADD_FAILURE() << to_string(problem);
  }
}

TEST(InferGuards, RefuseScalesThatAreNoNumbers) {
  for (const float scale : {NAN, INFINITY, -INFINITY}) {
    Model model = read(18, "g (float[2] x) => (y) <float[1] s = {1}> { y = Resize(x, , s) }");
    model.graph->set_initializer(model.graph->initializers()[0], Tensor::of<float>({1}, {scale}));
    Problems problems;
    infer_types(model, problems);
    ASSERT_EQ(problems.errors(), 1);
    EXPECT_EQ(problems.list()[0].rule, "shape");
  }
}

TEST(InferGuards, RefuseCrowdsOfOutputs) {
  Model model;
  model.ir_version = 10;
  Value* x = model.graph->add_input("x", Type::tensor(DType::f32, Shape(64, Dim::known(1))));
  Node* node = model.graph->add_node("Split", {x});
  node->opset = 13;
  for (int i = 0; i < 20000; ++i) node->add_output(fmt::format("y{}", i));
  Problems problems;
  infer_types(model, problems);
  ASSERT_EQ(problems.errors(), 1);
  EXPECT_EQ(problems.list()[0].message, "it has 1 input and 20000 outputs, more than is supported");
}

// All operators in all versions, with whatever a hostile file could hold.
TEST(InferGuards, SurviveRandomNodes) {
  constexpr uint64_t kRounds = 30;
  const auto schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  ASSERT_GT(schemas.size(), 600);
  size_t right = 0, refused = 0;
  for (uint64_t round = 0; round < kRounds; ++round) {
    for (const onnx::OpSchema& schema : schemas) {
      Model model = RandomNode(round).make(schema);
      Problems problems;
      infer_types(model, problems);
      ++(problems.empty() ? right : refused);
      for (const Problem& problem : problems.list()) {
        EXPECT_FALSE(problem.message.empty()) << schema.Name();
      }
    }
  }
  // Both ends are reached: what is made is neither all nonsense nor all harmless.
  EXPECT_GT(right, schemas.size() * kRounds / 5);
  EXPECT_GT(refused, schemas.size() * kRounds / 5);
}

}  // namespace
}  // namespace onward
