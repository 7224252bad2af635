#include "lower/shapes.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

const PassCase kCases[] = {
    {"shapes: known, or known but for one size", settle_shapes,
     "(float[N,2,3] x, float[2,3] z, int64[1] f) => (y, w) <int64[2] t = {0, -1}> "
     "{ y = Reshape(x, t) w = Reshape(z, f) }",
     "(float[N,2,3] x, float[2,3] z, int64[1] f) => (y, w) "
     "<int64[2] y_shape = {-1, 6}, int64[1] w_shape = {-1}> "
     "{ y = Reshape(x, y_shape) w = Reshape(z, w_shape) }"},
    {"shapes: not where two sizes are open", settle_shapes,
     "(float[N,M,3] x) => (y) <int64[3] t = {0, 0, 3}> { y = Reshape(x, t) }"},
    {"shapes: not where a size is zero", settle_shapes,
     "(float[0,3] x) => (y) <int64[2] t = {3, 0}> { y = Reshape<allowzero = 1>(x, t) }"},
    {"windows: padding that covers the input", settle_windows,
     "(float[1,1,7] x, float[1,1,3] w) => (y, z) { y = Conv<auto_pad = \"SAME_UPPER\">(x, w) "
     "z = MaxPool<auto_pad = \"SAME_LOWER\", kernel_shape = [2], strides = [2]>(x) }",
     "(float[1,1,7] x, float[1,1,3] w) => (y, z) { y = Conv<pads = [1, 1]>(x, w) "
     "z = MaxPool<kernel_shape = [2], strides = [2], pads = [1, 0]>(x) }"},
    {"windows: not what is said already", settle_windows,
     "(float[1,1,7] x, float[1,1,3] w) => (y, z) { y = Conv<auto_pad = \"VALID\">(x, w) "
     "z = MaxPool<kernel_shape = [2], pads = [1, 0], strides = [2]>(x) }"},
    {"windows: not of an open size that all runtimes pad alike", settle_windows,
     "(float[1,1,N] x) => (y) { y = MaxPool<auto_pad = \"SAME_UPPER\", kernel_shape = [2]>(x) }"},
};

}  // namespace

std::span<const PassCase> lowering_pass_cases() { return kCases; }

}  // namespace onward
