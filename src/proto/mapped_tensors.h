#pragma once

#include "ir/model.h"

namespace onward {

/// The tensor, in memory of its own where it lies in a mapped file. Throws Error where that file
/// has been cut since it was mapped.
Tensor in_memory(const Tensor& tensor);

/// Brings all initializers of a model that lie in mapped files into memory, for whoever reads them
/// over a longer time: a file that is cut meanwhile would end the program, one that is rewritten
/// would change constants under way. Saving takes the tensors for unchanged still.
void read_mapped(Model& model);

}  // namespace onward
