#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Why an opset of ai.onnx does not have a node's operator, in whatever form; empty where it does.
std::string refused_by_opset(const Node& node, int64_t opset);

/// Writes all nodes of ai.onnx, which are in their newest form, in the form that they have in
/// `opset`, and sets the model's imports and its IR version (the smallest that fits). Gives a
/// sentence for each node that can't be said exactly in that opset: the model is then of no use.
std::vector<std::string> write_in_opset(Model& model, int64_t opset);

/// The first IR version that knows an opset of ai.onnx.
int64_t first_ir_version(int64_t opset);

}  // namespace onward
