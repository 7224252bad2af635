#pragma once

#include "runtime/kernel.h"

namespace onward {

/// Says why the gradient by a convolution's weights is not computed tap by tap.
Reason refuses_taps(const Node& node);

/// ConvGradW as one product of matrices for each tap, over the places where it meets the image:
/// nothing is multiplied with the padding, which is most of what others do for tiny images.
void make_conv_grad_w_by_taps(Site& site);

}  // namespace onward
