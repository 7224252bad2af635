#pragma once

#include "ir/model.h"

namespace onward {

/// Throws Error where an index of the tensor lies outside of it.
void check_indices(const SparseTensor& sparse);

/// The same elements one after the other. Throws Error where that can't be said or would take more
/// memory than there is.
Tensor to_dense(const SparseTensor& sparse);

/// Makes the sparse initializers of all graphs dense: nothing that runs knows others.
void make_dense(Model& model);

}  // namespace onward
