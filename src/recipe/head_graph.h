#pragma once

#include "recipe/new_head.h"

namespace onward {

/// Lets a model's graph take what a classifier took, in the place of the classifier and of all that
/// followed towards output number `output`; its outputs replace that one. Both models are in one
/// opset, with types inferred. Throws an Error where the two don't fit.
NewHead replace_head(Model& model, const Classifier& classifier, size_t output, Model head);

}  // namespace onward
