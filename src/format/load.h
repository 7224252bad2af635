#pragma once

#include <filesystem>
#include <string>

#include "ir/model.h"
#include "ir/problems.h"

namespace onnx {
class ModelProto;
}

namespace onward {

struct LoadOptions {
  /// Where given, whatever is wrong with names, order, tensors and bindings is gathered here and
  /// the model is built as far as it goes; without it the first such problems are thrown as an
  /// Error.
  Problems* problems = nullptr;
  /// Keep the file's own message, so that saving patches it instead of writing it anew.
  bool keep_source = true;
};

/// Reads a model: standard or 2019 draft form, functions inlined, nodes as the file has them
/// (lift.h brings them to the newest form). External data is mapped, not read.
Model load(const std::filesystem::path& file, const LoadOptions& options = {});

/// Reads a model from memory; external data is looked for in `folder`, or refused where it is
/// empty.
Model load_bytes(std::string bytes, const LoadOptions& options = {},
                 const std::filesystem::path& folder = {});

/// Reads a model from text (text.h says which).
Model parse_text(std::string_view text, const LoadOptions& options = {});

/// Builds a model from a message.
Model build_model(onnx::ModelProto proto, const LoadOptions& options = {},
                  const std::filesystem::path& folder = {});

}  // namespace onward
