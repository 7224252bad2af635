#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/body.h"
#include "ir/model.h"

namespace onward::emit {

struct ExportOptions {
  std::string to = "torch";  // the name of a dialect (dialect.h)
  /// Where given, the training info that becomes loss and optimizer; else the inference model
  /// alone.
  std::optional<size_t> info = std::nullopt;
  std::string model_file = "an ONNX file";  // for the first lines of the source
};

/// Writes a model as source with its weights into a folder: model.py, weights.safetensors, and
/// onward.json, which take.h reads. Throws an Error that names everything that can't be said.
void export_model(const Model& model, const std::filesystem::path& folder,
                  const ExportOptions& options);

}  // namespace onward::emit
