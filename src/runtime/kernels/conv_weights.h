#pragma once

#include "runtime/kernel.h"

namespace onward {

/// Says why the gradient by a convolution's weights can't be summed up in registers.
Reason refuses_register_sums(const Node& node);

/// ConvGradW for few channels: every weight's sum stays in a register while a piece of an image
/// that fits the first cache is walked over.
void make_conv_grad_w_in_registers(Site& site);

}  // namespace onward
