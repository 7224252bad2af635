#include "tests/ops/case.h"

namespace onward {
namespace {

std::string scalar(const std::string& name, int64_t number) {
  return name + " = Constant<value = int64 {" + std::to_string(number) + "}>()\n";
}

const Case kCases[] = {
    {"DFT", "y = DFT(x)", {f64("x", {2, 5, 1})}},
    {"DFT complex", "y = DFT(x)", {f64("x", {2, 6, 2})}},
    {"DFT of one", "y = DFT(x)", {f64("x", {1, 2})}},
    {"DFT of a large prime", "y = DFT(x)", {f64("x", {1, 17, 2})}},
    {"DFT axis", scalar("a", 0) + "y = DFT(x, , a)", {f64("x", {4, 3, 2})}},
    {"DFT axis from behind", scalar("a", -3) + "y = DFT(x, , a)", {f64("x", {2, 7, 2, 1})}},
    {"DFT of more", scalar("n", 8) + "y = DFT(x, n)", {f64("x", {2, 5, 2})}},
    {"DFT of less", scalar("n", 4) + "y = DFT(x, n)", {f64("x", {2, 6, 1})}},
    {"DFT onesided", "y = DFT<onesided = 1>(x)", {f64("x", {2, 6, 1})}},
    {"DFT onesided of less",
     scalar("n", 5) + scalar("a", 0) + "y = DFT<onesided = 1>(x, n, a)",
     {f64("x", {7, 2, 1})}},
    {"DFT onesided of more", scalar("n", 9) + "y = DFT<onesided = 1>(x, n)", {f64("x", {2, 6, 1})}},
    {"DFT inverse", "y = DFT<inverse = 1>(x)", {f64("x", {2, 6, 2})}},
    {"DFT inverse of reals", "y = DFT<inverse = 1>(x)", {f64("x", {3, 4, 1})}},
    {"DFT inverse of more",
     scalar("n", 7) + scalar("a", 1) + "y = DFT<inverse = 1>(x, n, a)",
     {f64("x", {2, 5, 2, 2})}},
    {"DFT inverse of less", scalar("n", 3) + "y = DFT<inverse = 1>(x, n)", {f64("x", {2, 5, 2})}},
    {"DFT inverse onesided", "y = DFT<inverse = 1, onesided = 1>(x)", {f64("x", {2, 4, 2})}},
    {"DFT inverse onesided, odd",
     scalar("n", 7) + "y = DFT<inverse = 1, onesided = 1>(x, n)",
     {f64("x", {2, 4, 2})}},
    {"DFT inverse onesided of less",
     scalar("n", 4) + scalar("a", 0) + "y = DFT<inverse = 1, onesided = 1>(x, n, a)",
     {f64("x", {5, 2, 2})}},
    {"DFT inverse onesided of more",
     scalar("n", 10) + "y = DFT<inverse = 1, onesided = 1>(x, n)",
     {f64("x", {2, 4, 2})}},
    {"DFT along an axis that is an input",
     "y = DFT(x, n, a)",
     {f64("x", {2, 3, 4, 2}), i64("n", {}, {5}), i64("a", {}, {-3})}},

    {"STFT", scalar("s", 3) + "y = STFT(x, s, w)", {f64("x", {2, 14, 1}), f64("w", {5})}},
    {"STFT of real numbers without parts",
     scalar("s", 3) + "y = STFT(x, s, w)",
     {f64("x", {2, 14}), f64("w", {5})}},
    {"STFT of both sides of real numbers without parts",
     scalar("s", 2) + "y = STFT<onesided = 0>(x, s, w)",
     {f64("x", {2, 9}), f64("w", {4})}},
    {"STFT of a length",
     scalar("s", 2) + scalar("n", 4) + "y = STFT(x, s, , n)",
     {f64("x", {2, 9, 1})}},
    {"STFT of a window and its length",
     scalar("s", 4) + scalar("n", 6) + "y = STFT(x, s, w, n)",
     {f64("x", {1, 16, 1}), f64("w", {6})}},
    {"STFT of both sides",
     scalar("s", 3) + "y = STFT<onesided = 0>(x, s, w)",
     {f64("x", {2, 11, 1}), f64("w", {4})}},
    {"STFT complex",
     scalar("s", 3) + "y = STFT<onesided = 0>(x, s, w)",
     {f64("x", {2, 11, 2}), f64("w", {4})}},
    {"STFT of a step that is an input",
     "y = STFT(x, s, w)",
     {f64("x", {2, 9, 1}), i64("s", {}, {2}), f64("w", {4})}},

    Case{"DFT along the parts of numbers",
         "y = DFT(x, , a)",
         {f64("x", {2, 3, 2}), i64("a", {}, {-1})}}
        .refused("axis -1 is out of range"),
    Case{"DFT onesided of complex numbers", "y = DFT<onesided = 1>(x)", {f64("x", {2, 4, 2})}}
        .refused("one-sided"),
    Case{"STFT of frames beyond the signal",
         scalar("s", 3) + "y = STFT(x, s, w)",
         {f64("x", {2, 4, 1}), f64("w", {5})}}
        .refused("frames of 5 in a signal of 4"),
};

}  // namespace

std::span<const Case> fourier_cases() { return kCases; }

}  // namespace onward
