#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "ir/model.h"

namespace onnx {
class ModelProto;
}

namespace onward {

struct PrintOptions {
  static constexpr int64_t kAllElements = std::numeric_limits<int64_t>::max();

  /// Tensors and lists of more elements are shortened to their first few and "...".
  int64_t max_elements = 8;
};

/// The model in ONNX's text syntax, its training infos after the graph. For people: long tensors
/// are shortened; doc strings, metadata and annotations are left out; functions were inlined at
/// load. With kAllElements parse_text reads it again, unless the model holds what the syntax has no
/// words for: sparse tensors, lists of tensors, graphs or types as attributes, control characters
/// in names.
std::string to_text(const Model& model, const PrintOptions& options = {});
std::string to_text(const Graph& graph, const PrintOptions& options = {});
/// One line, but for the node's subgraphs.
std::string to_text(const Node& node, const PrintOptions& options = {});

/// Reads that syntax: ONNX's own for the model and its functions (elements of 4 and 2 bits are
/// listed one by one, small floats as their bit patterns), with any number of
///   training_info {
///     initialization name () => (float[2] w0) { w0 = RandomNormal<shape = [2]>() }
///     initialization_binding { w <- w0 }
///     algorithm name (float[N] label) => (float loss, float[2] w_new) <float R = {0.1}> { ... }
///     update_binding { w <- w_new }
///   }
/// after it, each part at most once. An initializer may be given by a rule (text_fill.h):
///   float[32,1,3,3] w = normal(7, 0.1)
/// Throws Error with line and column.
onnx::ModelProto text_to_proto(std::string_view text);

}  // namespace onward
