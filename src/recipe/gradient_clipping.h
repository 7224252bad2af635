#pragma once

#include "recipe/optimizer.h"

namespace onward {

/// The gradients as the optimizer sees them, clipped as the recipe says.
std::vector<ParameterGradient> clip_gradients(Algorithm& algorithm, const Recipe& recipe,
                                              std::span<const ParameterGradient> parameters);

/// Throws an Error where more than one way is asked for, or a bound is not above 0.
void check_clipping(const Clipping& clip);

}  // namespace onward
