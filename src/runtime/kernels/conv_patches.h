#pragma once

#include "runtime/kernel.h"

namespace onward {

/// Says why a convolution (or one of its gradients) can't be done by patches.
Reason refuses_patches(const Node& node);

// Convolution and its gradients as products of matrices, over patches that are copied out of each
// image: for float64, which oneDNN does not convolve, and shapes that it refuses.
void make_conv_by_patches(Site& site);
void make_conv_grad_x_by_patches(Site& site);
void make_conv_grad_w_by_patches(Site& site);

}  // namespace onward
