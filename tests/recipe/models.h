#pragma once

// Inference models that the tests of recipes share.

#include <string_view>

#include "recipe/recipe.h"

namespace onward {

/// Reads a text; nodes are of opset 17.
Model model_of(std::string_view text);

/// Convolution, batch norm, dropout, two fully connected layers; logits of 3 classes.
inline constexpr std::string_view kConvolutional = R"(
<ir_version: 8, opset_import: ["" : 17]>
net (double[N,1,4,4] x) => (double[N,3] logits) <
  double[2,1,3,3] conv.weight = normal(1, 0.5), double[2] conv.bias = normal(2, 0.1),
  double[2] bn.weight = full(1), double[2] bn.bias = full(0),
  double[2] bn.mean = full(0), double[2] bn.var = full(1),
  double[3,8] fc.weight = normal(3, 0.3), double[3] fc.bias = full(0), double ratio = {0.25}
> {
  c = Conv<kernel_shape = [3, 3]>(x, conv.weight, conv.bias)
  b = BatchNormalization(c, bn.weight, bn.bias, bn.mean, bn.var)
  r = Relu(b)
  d = Dropout(r, ratio)
  f = Flatten(d)
  logits = Gemm<transB = 1>(f, fc.weight, fc.bias)
})";

/// y = x w: one number to train.
inline constexpr std::string_view kLinear = R"(
<ir_version: 8, opset_import: ["" : 17]>
linear (double[N,1] x) => (double[N,1] y) <double[1,1] w = {0.25}> { y = MatMul(x, w) })";

}  // namespace onward
