#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <memory>
#include <unordered_map>

#include "ir/model.h"

namespace onward {

/// What is kept of the file that a model came from. Saving a model of which only tensors changed
/// copies `proto` and puts the tensors' bytes back; all else in the file stays as it was.
struct Source {
  /// The file's message. The raw bytes of top-level initializers are taken out of it (they belong
  /// to the IR's tensors, so that nothing is held twice); all else is as read.
  onnx::ModelProto proto;
  std::filesystem::path folder;  // of external data; empty for a model that came from memory

  /// The data that each top-level initializer had when it was read.
  std::unordered_map<const Value*, Initializer> as_read;
  /// Graph::edits() of each top-level graph after reading.
  std::unordered_map<const Graph*, int64_t> edits;
  bool inlined_functions = false;  // names in the IR's graphs are then not all names of the file
};

}  // namespace onward
