#pragma once

#include <string>

#include "data/data_options.h"

namespace onward {

/// A model of so many bytes is kept with what is trained; a larger one is refused.
inline constexpr size_t kMaxPreprocessBytes = 1'000'000;

/// The preprocessing that a model's bytes describe: one input, pixels u8[H,W,3], the bytes of a
/// file u8[length] or the features of a row f32[K], and one output, what the other model's input
/// takes of an example. Throws Error where it is another one.
Preprocess preprocess_of(const std::string& bytes);

}  // namespace onward
