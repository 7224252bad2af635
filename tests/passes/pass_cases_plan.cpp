#include "runtime/passes/plan_passes.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

const std::string kChannels =
    "<float[3] s = {1, 2, 3}, float[3] b = {0, 1, 0}, float[3] m = {0, 0, 0}, "
    "float[3] v = {1, 1, 1}, float zero = {0}> ";

const PassCase kCases[] = {
    // Pooling and its backward
    {"taps: for the backward alone", save_pool_taps,
     "(float[1,1,4] x, float[1,1,3] dy) => (y, dx) <int64[3] s = {1, 1, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2], strides = [1]>(x) dx = onward.ScatterAdd(dy, i, s) }",
     "(float[1,1,4] x, float[1,1,3] dy) => (y, dx) "
     "{ y, i = onward.MaxPoolSaving<kernel_shape = [2], strides = [1]>(x) "
     "dx = onward.MaxPoolGrad<kernel_shape = [2], strides = [1]>(dy, i) }"},
    {"taps: for several backward passes", save_pool_taps,
     "(float[1,1,4] x, float[1,1,3] dy, float[1,1,3] dz) => (dx, dw) <int64[3] s = {1, 1, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2]>(x) dx = onward.ScatterAdd(dy, i, s) "
     "dw = onward.ScatterAdd(dz, i, s) }",
     "(float[1,1,4] x, float[1,1,3] dy, float[1,1,3] dz) => (dx, dw) "
     "{ y, i = onward.MaxPoolSaving<kernel_shape = [2]>(x) "
     "dx = onward.MaxPoolGrad<kernel_shape = [2]>(dy, i) "
     "dw = onward.MaxPoolGrad<kernel_shape = [2]>(dz, i) }"},
    {"taps: not of indices that are given out", save_pool_taps,
     "(float[1,1,4] x, float[1,1,3] dy) => (i, dx) <int64[3] s = {1, 1, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2]>(x) dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not of indices that another node reads", save_pool_taps,
     "(float[1,1,4] x, float[1,1,3] dy) => (n, dx) <int64[3] s = {1, 1, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2]>(x) n = Neg(i) dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not into another shape", save_pool_taps,
     "(float[1,1,4] x, float[1,1,3] dy) => (dx) <int64[3] s = {1, 1, 5}> "
     "{ y, i = MaxPool<kernel_shape = [2]>(x) dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not where there are more than a byte holds", save_pool_taps,
     "(float[1,1,16,16] x, float[1,1,1,1] dy) => (dx) <int64[4] s = {1, 1, 16, 16}> "
     "{ y, i = MaxPool<kernel_shape = [16, 16]>(x) dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not of half precision", save_pool_taps,
     "(float16[1,1,4] x, float16[1,1,3] dy) => (dx) <int64[3] s = {1, 1, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2]>(x) dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not by columns", save_pool_taps,
     "(float[1,1,4,4] x, float[1,1,3,3] dy) => (dx) <int64[4] s = {1, 1, 4, 4}> "
     "{ y, i = MaxPool<kernel_shape = [2, 2], storage_order = 1>(x) "
     "dx = onward.ScatterAdd(dy, i, s) }"},
    {"taps: not where no index is asked for", save_pool_taps,
     "(float[1,1,4] x) => (y) { y = MaxPool<kernel_shape = [2]>(x) }"},

    // The softmax loss and its backward
    {"probabilities: for the backward alone", save_probabilities,
     "(float[2,3] x, int64[2] l, float dy) => (y, dx) { y, p = SoftmaxCrossEntropyLoss(x, l) "
     "dx = onward.SoftmaxCrossEntropyGrad(dy, p, l) }",
     "(float[2,3] x, int64[2] l, float dy) => (y, dx) { y, p = onward.SoftmaxCrossEntropyLoss(x, "
     "l) "
     "dx = onward.SoftmaxCrossEntropyGrad<probabilities = 1>(dy, p, l) }"},
    {"probabilities: not of a result that is given out", save_probabilities,
     "(float[2,3] x, int64[2] l, float dy) => (y, p, dx) { y, p = SoftmaxCrossEntropyLoss(x, l) "
     "dx = onward.SoftmaxCrossEntropyGrad(dy, p, l) }"},
    {"probabilities: not of a result that another node reads", save_probabilities,
     "(float[2,3] x, int64[2] l, float dy) => (n, dx) { y, p = SoftmaxCrossEntropyLoss(x, l) "
     "dx = onward.SoftmaxCrossEntropyGrad(dy, p, l) n = Neg(p) }"},
    {"probabilities: not of half precision", save_probabilities,
     "(float16[2,3] x, int64[2] l, float16 dy) => (dx) { y, p = SoftmaxCrossEntropyLoss(x, l) "
     "dx = onward.SoftmaxCrossEntropyGrad(dy, p, l) }"},
    {"probabilities: not of no elements", save_probabilities,
     "(float[0,3] x, int64[0] l, float dy) => (dx) { y, p = SoftmaxCrossEntropyLoss(x, l) "
     "dx = onward.SoftmaxCrossEntropyGrad(dy, p, l) }"},
    {"probabilities: not where no result is asked for", save_probabilities,
     "(float[2,3] x, int64[2] l) => (y) { y = SoftmaxCrossEntropyLoss(x, l) }"},

    // Normalizations, their backward passes, and a Relu between
    {"statistics: of the batch",
     save_statistics,
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) "
         "dx, ds, db = onward.BatchNormGrad(dy, x, s) }",
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y, rm, rv, y_mean, y_inverse = onward.BatchNormalization<training_mode = 1>(x, s, b, "
         "m, v) "
         "dx, ds, db = onward.BatchNormGrad(dy, x, s, , , y_mean, y_inverse) }",
     {},
     true},
    {"statistics: a Relu, there and back", save_statistics,
     "(float[2,3] x, float[2,3] dr) => (r, dx) " + kChannels +
         "{ y = BatchNormalization(x, s, b, m, v) r = Relu(y) g = Greater(r, zero) "
         "dy = Where(g, dr, zero) dx, ds, db = onward.BatchNormGrad(dy, x, s, m, v) }",
     "(float[2,3] x, float[2,3] dr) => (y, dx) " + kChannels +
         "{ y = onward.BatchNormalization<relu = 1>(x, s, b, m, v) "
         "dx, ds, db = onward.BatchNormGrad<relu = 1>(dr, x, s, m, v, , , b) }"},
    {"statistics: a Relu with nothing behind it", save_statistics,
     "(float[2,3] x) => (r) " + kChannels + "{ y = BatchNormalization(x, s, b, m, v) r = Relu(y) }",
     "(float[2,3] x) => (y) " + kChannels +
         "{ y = onward.BatchNormalization<relu = 1>(x, s, b, m, v) }"},
    {"statistics: not a Relu of what is given out", save_statistics,
     "(float[2,3] x) => (y, r) " + kChannels +
         "{ y = BatchNormalization(x, s, b, m, v) r = Relu(y) }"},
    {"statistics: not a Relu of what is read elsewhere", save_statistics,
     "(float[2,3] x) => (n, r) " + kChannels +
         "{ y = BatchNormalization(x, s, b, m, v) r = Relu(y) n = Neg(y) }"},
    {"statistics: not a Relu inside of a branch", save_statistics,
     "(float[2,3] x, bool c) => (r) " + kChannels +
         "{ y = BatchNormalization(x, s, b, m, v) r = If(c) "
         "<then_branch = t () => (float[2,3] p) { p = Relu(y) }, "
         "else_branch = e () => (float[2,3] q) { q = Abs(x) }> }"},
    {"statistics: not of another epsilon", save_statistics,
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y, rm, rv = BatchNormalization<training_mode = 1, epsilon = 0.5>(x, s, b, m, v) "
         "dx, ds, db = onward.BatchNormGrad<epsilon = 0.25>(dy, x, s) }"},
    {"statistics: not of another scale", save_statistics,
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) "
         "dx, ds, db = onward.BatchNormGrad(dy, x, v) }"},
    {"statistics: not of half precision", save_statistics,
     "(float16[2,3] x, float16[2,3] dy, float16[3] s, float16[3] b, float16[3] m, float16[3] v) "
     "=> (y, dx) { y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) "
     "dx, ds, db = onward.BatchNormGrad(dy, x, s) }"},
    {"statistics: not of a normalization that comes later",
     save_statistics,
     "(float[2,3] x, float[2,3] dy) => (dx, y) " + kChannels +
         "{ dx, ds, db = onward.BatchNormGrad(dy, x, s) "
         "y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }",
     "",
     {},
     true},
    {"statistics: of a layer",
     save_statistics,
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y = LayerNormalization(x, s, b) dx, ds, db = onward.LayerNormGrad(dy, x, s, b) }",
     "(float[2,3] x, float[2,3] dy) => (y, dx) " + kChannels +
         "{ y, y_mean, y_inverse = onward.LayerNormalization(x, s, b) "
         "dx, ds, db = onward.LayerNormGrad(dy, x, s, b, y_mean, y_inverse) }",
     {},
     true},
    {"statistics: not of a layer along another axis", save_statistics,
     "(float[3,3] x, float[3,3] dy, float[3,3] t) => (y, dx) " + kChannels +
         "{ y = LayerNormalization<axis = 0>(x, t) dx, ds, db = onward.LayerNormGrad(dy, x, s, b) "
         "}"},
};

}  // namespace

std::span<const PassCase> plan_pass_cases() { return kCases; }

}  // namespace onward
