#pragma once

#include "runtime/kernel.h"

namespace onward {

// Convolutions of 3x3 taps with stride 1 and their gradients in 4 or 2.25 times fewer
// multiplications, by tiles of 4x4 or 2x2 results (F(4x4,3x3) and F(2x2,3x3)).

/// Says why a convolution, or its gradient by the image, is not computed so: because it can't be,
/// because others are as fast, or because they are more precise.
Reason refuses_winograd_4x4(const Node& node);
Reason refuses_winograd_2x2(const Node& node);
/// The same of the gradient by the weights.
Reason refuses_winograd_4x4_grad_w(const Node& node);
Reason refuses_winograd_2x2_grad_w(const Node& node);

void make_conv_by_winograd_4x4(Site& site);
void make_conv_by_winograd_2x2(Site& site);
void make_conv_grad_x_by_winograd_4x4(Site& site);
void make_conv_grad_x_by_winograd_2x2(Site& site);
void make_conv_grad_w_by_winograd_4x4(Site& site);
void make_conv_grad_w_by_winograd_2x2(Site& site);

}  // namespace onward
