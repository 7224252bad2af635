#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"TopK", "y, i = TopK(x, k)", {f64("x", {3, 5}), i64("k", {2})}},
    {"TopK smallest", "y, i = TopK<largest = 0>(x, k)", {f64("x", {3, 5}), i64("k", {2})}},
    {"TopK axis 0", "y, i = TopK<axis = 0>(x, k)", {f64("x", {4, 2, 2}), i64("k", {3})}},
    {"TopK in any order",
     "y, i = TopK<axis = -2, sorted = 0>(x, k)",
     {f64("x", {2, 4, 2}), i64("k", {4})}},
    {"TopK of its indices",
     "v, i = TopK<axis = 0>(x, k)\ny = Gather(x, i)",
     {f64("x", {5}), i64("k", {2})}},
    Case{"TopK of too many", "y, i = TopK(x, k)", {f64("x", {3}), i64("k", {4})}}.refused("4"),

    {"ReverseSequence",
     "y = ReverseSequence(x, lengths)",
     {f64("x", {4, 3}), i64("lengths", {4, 1, 2})}},
    {"ReverseSequence, batch first",
     "y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, lengths)",
     {f64("x", {3, 4, 2}), i64("lengths", {3, 0, 4})}},

    {"Compress",
     "y = Compress(x, kept)",
     {f64("x", {2, 3}), boolean("kept", {5}, {0, 1, 1, 0, 1})}},
    {"Compress axis 1",
     "y = Compress<axis = 1>(x, kept)",
     {f64("x", {2, 3}), boolean("kept", {2}, {0, 1})}},
    {"Compress axis -2",
     "y = Compress<axis = -2>(x, kept)",
     {f64("x", {3, 2}), boolean("kept", {3}, {1, 0, 1})}},

    Case{"Unique",
         "u, first, which, counts = Unique(i)\ny = Cast<to = 11>(u)\nz = Cast<to = 11>(first)\n"
         "v = Cast<to = 11>(which)\nw = Cast<to = 11>(counts)",
         {i64("i", {2, 1, 1, 3, 4, 3})}}
        .giving({"y", "z", "v", "w"})
        .without_gradient(),
    Case{"Unique as they come",
         "u, first, which, counts = Unique<sorted = 0>(i)\ny = Cast<to = 11>(u)\n"
         "z = Cast<to = 11>(first)\nv = Cast<to = 11>(which)\nw = Cast<to = 11>(counts)",
         {i64("i", {2, 1, 1, 3, 4, 3})}}
        .giving({"y", "z", "v", "w"})
        .without_gradient(),
    Case{"Unique slices",
         "u, first, which, counts = Unique<axis = 1>(i)\ny = Cast<to = 11>(u)\n"
         "z = Cast<to = 11>(first)\nv = Cast<to = 11>(which)\nw = Cast<to = 11>(counts)",
         {i64("i", {2, 4}, {1, 0, 1, 0, 2, 3, 2, 1})}}
        .giving({"y", "z", "v", "w"})
        .without_gradient(),

    {"Unique floats",
     "y, first, which, counts = Unique(x)",
     {CaseInput{.name = "x", .dims = {2, 3}, .values = {2, 1, 0.5, 3, 4, -3}}}},
    {"Unique slices of floats", "y, i = Unique<axis = 0>(x)", {f64("x", {3, 2})}},

    Case{"NonMaxSuppression",
         "b = Cast<to = 1>(boxes)\ns = Cast<to = 1>(scores)\n"
         "t = Constant<value = float[1] {0.5}>()\nl = Constant<value = float[1] {0.1}>()\n"
         "i = NonMaxSuppression(b, s, most, t, l)\ny = Cast<to = 11>(i)",
         {f64("boxes", {2, 6, 4}, 0, 1), f64("scores", {2, 2, 6}, 0, 1), i64("most", {3})}}
        .without_gradient(),
    Case{"NonMaxSuppression of centers",
         "b = Cast<to = 1>(boxes)\ns = Cast<to = 1>(scores)\n"
         "t = Constant<value = float[1] {0.2}>()\n"
         "i = NonMaxSuppression<center_point_box = 1>(b, s, most, t)\ny = Cast<to = 11>(i)",
         {f64("boxes", {1, 6, 4}, 0, 1), f64("scores", {1, 1, 6}, 0, 1), i64("most", {4})}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> selection_cases() { return kCases; }

}  // namespace onward
