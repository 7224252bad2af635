#pragma once

#include "runtime/kernel.h"

namespace onward {

/// Says why a convolution (or one of its gradients) can't be done by im2col.
Reason refuses_im2col(const Node& node);

// Convolution and its gradients as products of matrices, over patches that are copied out of each
// image: for float64, which oneDNN does not convolve, and shapes that it refuses.
void make_conv_by_im2col(Site& site);
void make_conv_grad_x_by_im2col(Site& site);
void make_conv_grad_w_by_im2col(Site& site);

}  // namespace onward
