#pragma once

#include <string>
#include <unordered_set>

#include "format/draft/message.h"
#include "ir/graph.h"

namespace onward {

/// The standard's own domain has two names.
inline bool is_standard_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

/// A training file is of this opset at least.
inline constexpr int64_t kTrainingOpset = 17;

/// The domain in which the draft's functions live on as model-local functions.
inline constexpr const char* kDraftFunctionDomain = "onward.draft";

/// The standard's training info that says what the draft's says, for a model with that inference
/// graph (whose calls are in kDraftFunctionDomain already) and functions of those names.
onnx::TrainingInfoProto info_from_draft(const DraftInfo& draft, const onnx::GraphProto& graph,
                                        const std::unordered_set<std::string>& functions);

/// Whether a node of that operator of ai.onnx says the same in both opsets, or nothing in either.
bool means_the_same(const std::string& op, int64_t from, int64_t to);

}  // namespace onward
