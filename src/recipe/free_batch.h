#pragma once

#include <string>

#include "ir/model.h"

namespace onward {

/// Opens the number of examples in a batch where a model's inputs fix it and every node treats
/// examples apart, so that each example has the results that it has alone. Types are inferred.
/// Gives what was decided as one sentence: also the node that keeps the number fixed; nothing where
/// none is fixed.
std::string free_batch(Model& model);

}  // namespace onward
