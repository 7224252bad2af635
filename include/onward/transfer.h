#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "onward/model.h"

namespace onward::api {

struct LowerOptions {
  size_t info = 0;
  /// The version of ai.onnx to write, from 13 on; without it the smallest that has everything.
  std::optional<int64_t> opset = {};
};

/// One training step in operators of the standard alone, backward pass included, for any runtime.
/// State is given as inputs (the model's values are defaults) and comes out as NAME.next.
ONWARD_API Model lower(const Model& model, const LowerOptions& options = {});

struct ExportOptions {
  /// The training info that becomes loss and optimizer; may be left open where there is only one.
  std::optional<size_t> info = {};
  /// Leave loss and optimizer out.
  bool inference = false;
  /// What the first lines of the source call the model.
  std::string model_file = "an ONNX file";
};

/// Writes a model as source of a framework, "torch" or "keras", into a folder: model.py with its
/// weights and the optimizer's state. Nothing of Onward is needed to run it.
ONWARD_API void export_to(const Model& model, const std::string& framework,
                          const std::filesystem::path& folder, const ExportOptions& options = {});

/// The model that was exported, with the weights and optimizer state that the framework saved.
ONWARD_API Model import_weights(const Model& model, const std::filesystem::path& folder);

}  // namespace onward::api
