#pragma once

#include <cstdint>
#include <optional>

#include "ir/model.h"

namespace onward {

struct UpgradeOptions {
  /// The version of ai.onnx to write; without it the model's own.
  std::optional<int64_t> opset = std::nullopt;
  /// The IR version to write; without it the smallest that fits.
  std::optional<int64_t> ir = std::nullopt;
};

/// The same model, training infos included, in another opset, newer or older, and another IR
/// version. Initializers keep their names and values, inputs and outputs their names and types.
/// Throws an Error that names every node that the opset cannot say exactly.
Model upgrade(const Model& model, const UpgradeOptions& options);

}  // namespace onward
