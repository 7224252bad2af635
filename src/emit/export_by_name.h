#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ir/model.h"

namespace onward::emit {

/// An export as a caller asks for it.
struct ExportRequest {
  std::string framework;  // "torch", "keras"
  /// The training info that becomes loss and optimizer; may be left open where there is only one.
  std::optional<size_t> info = std::nullopt;
  /// Leave loss and optimizer out.
  bool inference = false;
  std::string model_file = "an ONNX file";
};

/// `export_model` by the name of the framework. Throws Error where there is no such one, or it is
/// not said which of several training infos is meant.
void export_by_name(const Model& model, const std::filesystem::path& folder,
                    const ExportRequest& request);

}  // namespace onward::emit
