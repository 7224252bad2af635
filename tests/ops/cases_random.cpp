#include "tests/ops/case.h"

namespace onward {
namespace {

const Case kCases[] = {
    {"Dropout off", "y = Dropout(x)", {f64("x", {2, 3})}},
    {"Dropout in training",
     "y = Dropout<seed = 7>(x, ratio, training)",
     {f64("x", {4, 5}), f64("ratio", {}, 0.25, 0.25), boolean("training", {}, {1})},
     {"x"}},
    {"Dropout not in training",
     "y = Dropout(x, ratio, training)",
     {f64("x", {4, 5}), f64("ratio", {}, 0.25, 0.25), boolean("training", {}, {0})},
     {"x"}},
    {"Dropout of the default ratio",
     "y, m = Dropout(x, , training)",
     {f64("x", {4, 5}), boolean("training", {}, {1})}},
    Case{"Bernoulli",
         "b = Bernoulli<seed = 3.0, dtype = 7>(x)\n  y = Cast<to = 11>(b)",
         {f64("x", {20, 30}, 0, 1)}}
        .without_gradient(),
    Case{"Multinomial",
         "i = Multinomial<sample_size = 50, seed = 3.0, dtype = 7>(x)\n  y = Cast<to = 11>(i)",
         {f64("x", {2, 3})}}
        .without_gradient(),
    Case{"RandomNormal",
         "y = RandomNormal<shape = [2, 3], dtype = 11, mean = 1.0, scale = 2.0, seed = 3.0>()",
         {}}
        .without_gradient(),
    Case{"RandomUniform",
         "y = RandomUniform<shape = [2, 3], dtype = 11, low = 1.0, high = 2.0, seed = 3.0>()",
         {}}
        .without_gradient(),
    Case{"RandomNormalLike",
         "y = RandomNormalLike<mean = 1.0, scale = 2.0, seed = 3.0, dtype = 11>(x)",
         {f64("x", {2, 3})}}
        .without_gradient(),
    Case{"RandomUniformLike",
         "y = RandomUniformLike<low = 1.0, high = 2.0, seed = 3.0, dtype = 11>(x)",
         {f64("x", {2, 3})}}
        .without_gradient(),
};

}  // namespace

std::span<const Case> random_cases() { return kCases; }

}  // namespace onward
