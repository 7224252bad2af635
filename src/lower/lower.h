#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

struct LowerOptions {
  /// The version of ai.onnx to write. Without it the smallest that says everything, from the
  /// model's own or 17 on, and no newer than released runtimes read (kNewestReleasedOpset).
  std::optional<int64_t> opset = std::nullopt;
};

inline constexpr int64_t kOldestLoweredOpset = 13;
inline constexpr int64_t kNewestReleasedOpset = 26;

struct LoweredStep {
  Model model;
  /// What a reader should know: where the results can't be those of Onward.
  std::vector<std::string> notes;
};

/// Why a node cannot be in a lowered step; empty where it can.
std::string refused_by_runtimes(const Node& node);

/// One training step in operators of the standard alone, backward included, for any runtime. State
/// is given as inputs (with the model's values as defaults) and comes out as `<name>.next`; the
/// other outputs of the step (the loss, the predictions) keep their names. Throws an Error where
/// the step can't be said exactly.
LoweredStep lower_step(const Model& model, size_t info, const LowerOptions& options = {});

}  // namespace onward
