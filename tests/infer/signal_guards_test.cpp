// Operators on signals and their spectra.

#include <gtest/gtest.h>

#include "tests/infer/guard_cases.h"

namespace onward {
namespace {

const GuardCase kRefused[] = {
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
};

TEST(SignalGuards, Refuse) { expect_refusals(kRefused); }

}  // namespace
}  // namespace onward
