#include "format/draft/draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "format/draft/info.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Model-local functions, which the draft's become, need it.
constexpr int64_t kIrVersion = 8;

/// Calls visit(node) for all nodes, those of subgraphs included.
template <typename NodeList, typename Visit>
void for_each_node(NodeList& nodes, Visit visit) {
  for (auto& node : nodes) {
    visit(node);
    for (int i = 0; i < node.attribute_size(); ++i) {
      if (!node.attribute(i).has_g()) continue;
      if constexpr (std::is_const_v<NodeList>) {
        for_each_node(node.attribute(i).g().node(), visit);
      } else {
        for_each_node(*node.mutable_attribute(i)->mutable_g()->mutable_node(), visit);
      }
    }
  }
}

class Converter {
 public:
  explicit Converter(const onnx::ModelProto& draft)
      : parts_(read_draft_parts(draft)), model_(draft) {}

  onnx::ModelProto convert();

 private:
  void raise_opset();
  void refuse_changed_operators(int64_t from) const;
  void add_function(const onnx::FunctionProto& function);
  bool is_call(const onnx::NodeProto& node) const;
  void qualify_calls(Nodes& nodes) const;

  DraftParts parts_;
  onnx::ModelProto model_;
  std::unordered_set<std::string> functions_;
};

onnx::ModelProto Converter::convert() {
  if (!model_.has_graph()) throw Error("it has no graph: it is not an ONNX model");
  remove_draft_parts(model_);
  for (const auto& function : parts_.functions) add_function(function);
  qualify_calls(*model_.mutable_graph()->mutable_node());
  for (auto& function : *model_.mutable_functions()) qualify_calls(*function.mutable_node());
  raise_opset();
  for (const DraftInfo& info : parts_.infos) {
    *model_.add_training_info() = info_from_draft(info, model_.graph(), functions_);
  }
  return std::move(model_);
}

void Converter::add_function(const onnx::FunctionProto& function) {
  if (!functions_.insert(function.name()).second) {
    throw Error(
        fmt::format("the 2019 draft format holds function '{}' twice", printable(function.name())));
  }
  onnx::FunctionProto& added = *model_.add_functions();
  added = function;
  added.set_domain(kDraftFunctionDomain);
  added.clear_opset_import();
}

bool Converter::is_call(const onnx::NodeProto& node) const {
  return is_standard_domain(node.domain()) && functions_.contains(node.op_type());
}

void Converter::qualify_calls(Nodes& nodes) const {
  for_each_node(nodes, [&](onnx::NodeProto& node) {
    if (is_call(node)) node.set_domain(kDraftFunctionDomain);
  });
}

void Converter::raise_opset() {
  onnx::OperatorSetIdProto* standard = nullptr;
  for (auto& import : *model_.mutable_opset_import()) {
    if (is_standard_domain(import.domain())) standard = &import;
  }
  if (standard == nullptr || standard->version() < 1) {
    throw Error("the model imports no operator set");
  }
  if (standard->version() < kTrainingOpset) {
    refuse_changed_operators(standard->version());
    standard->set_version(kTrainingOpset);
  }
  const auto import = [&](const char* domain) {
    onnx::OperatorSetIdProto& added = *model_.add_opset_import();
    added.set_domain(domain);
    added.set_version(1);
  };
  if (!parts_.functions.empty()) import(kDraftFunctionDomain);
  if (!parts_.infos.empty()) import(kTrainingDomain);
  for (auto& function : *model_.mutable_functions()) {
    *function.mutable_opset_import() = model_.opset_import();
  }
  model_.set_ir_version(std::max<int64_t>(model_.ir_version(), kIrVersion));
}

/// A file has one opset for all, so that raising it must not change what a node says. (Operators
/// that no opset knows are for the checker to name.)
void Converter::refuse_changed_operators(int64_t from) const {
  std::set<std::string> changed;
  const auto visit = [&](const onnx::NodeProto& node) {
    if (is_standard_domain(node.domain()) && !is_call(node) &&
        !means_the_same(node.op_type(), from, kTrainingOpset)) {
      changed.insert(printable(node.op_type()));
    }
  };
  for_each_node(model_.graph().node(), visit);
  for (const auto& function : model_.functions()) for_each_node(function.node(), visit);
  for (const DraftInfo& info : parts_.infos) for_each_node(info.algorithm.node(), visit);
  if (changed.empty()) return;
  throw Error(
      fmt::format("the 2019 draft format cannot be upgraded from opset {} to {} because of {}",
                  from, kTrainingOpset, fmt::join(changed, ", ")));
}

}  // namespace

bool is_draft(const onnx::ModelProto& model) { return has_draft_parts(model); }

onnx::ModelProto draft_to_standard(const onnx::ModelProto& model) {
  return Converter(model).convert();
}

}  // namespace onward
