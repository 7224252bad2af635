#include "format/draft/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "format/draft/info.h"
#include "format/save.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr int64_t kDraftOpset = 9;
constexpr int64_t kDraftIrVersion = 3;
constexpr const char* kInferenceFunction = "MyInferenceFunction";

/// Until IR 4 every initializer was an input of its graph too.
void list_initializers_as_inputs(onnx::GraphProto& graph) {
  std::unordered_set<std::string> listed;
  for (const auto& input : graph.input()) listed.insert(input.name());
  for (const auto& initializer : graph.initializer()) {
    if (listed.contains(initializer.name())) continue;
    *graph.add_input() = typed_as(initializer, initializer.name());
  }
}

onnx::NodeProto inference_call(const onnx::GraphProto& graph) {
  onnx::NodeProto call;
  call.set_op_type(kInferenceFunction);
  for (const auto& input : graph.input()) call.add_input(input.name());
  for (const auto& output : graph.output()) call.add_output(output.name());
  return call;
}

void require_draft_operator(const onnx::NodeProto& node, int64_t opset) {
  if (!node.domain().empty() || !means_the_same(node.op_type(), kDraftOpset, opset)) {
    throw Error(
        fmt::format("the 2019 draft format cannot express {} of opset {}", node.op_type(), opset));
  }
}

int count_reads(const onnx::GraphProto& graph, const std::string& name) {
  int reads = 0;
  for (const auto& node : graph.node()) {
    reads += static_cast<int>(std::ranges::count(node.input(), name));
  }
  for (const auto& output : graph.output()) reads += output.name() == name;
  return reads;
}

/// Whether nodes i, i+1, i+2 are the mean of the square of a difference, and of use for nothing
/// else.
bool is_mean_squared_error(const onnx::GraphProto& graph, int i) {
  const auto is = [&](int index, const char* op, int inputs) {
    return index < graph.node_size() && graph.node(index).op_type() == op &&
           graph.node(index).input_size() == inputs && graph.node(index).output_size() == 1;
  };
  if (!is(i, "Sub", 2) || !is(i + 1, "Mul", 2) || !is(i + 2, "ReduceMean", 1)) return false;
  const auto& mean = graph.node(i + 2);
  const std::string& difference = graph.node(i).output(0);
  const std::string& square = graph.node(i + 1).output(0);
  return mean.attribute_size() == 1 && mean.attribute(0).name() == "keepdims" &&
         mean.attribute(0).i() == 0 && graph.node(i + 1).input(0) == difference &&
         graph.node(i + 1).input(1) == difference && mean.input(0) == square &&
         count_reads(graph, difference) == 2 && count_reads(graph, square) == 1;
}

/// The draft's Gradient has the values that it does not differentiate first, and no zs.
onnx::NodeProto draft_gradient(const onnx::NodeProto& node) {
  onnx::NodeProto gradient = node;
  gradient.clear_domain();
  gradient.clear_attribute();
  int xs = 0;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "xs") xs = attribute.strings_size();
    if (attribute.name() != "zs") *gradient.add_attribute() = attribute;
  }
  auto& inputs = *gradient.mutable_input();
  std::rotate(inputs.begin(), inputs.begin() + std::min(xs, inputs.size()), inputs.end());
  return gradient;
}

onnx::FunctionProto draft_algorithm(const onnx::ModelProto& model, int64_t opset) {
  const onnx::GraphProto& graph = model.training_info(0).algorithm();
  onnx::FunctionProto algorithm;
  algorithm.set_name(graph.name());
  for (const auto& input : model.graph().input()) algorithm.add_input(input.name());
  for (const auto& input : graph.input()) algorithm.add_input(input.name());
  for (const auto& initializer : graph.initializer()) algorithm.add_input(initializer.name());
  for (const auto& output : graph.output()) algorithm.add_output(output.name());
  *algorithm.add_node() = inference_call(model.graph());
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *algorithm.add_node();
    if (is_mean_squared_error(graph, i)) {
      node.set_op_type("MSE");
      *node.mutable_input() = graph.node(i).input();
      *node.mutable_output() = graph.node(i + 2).output();
      i += 2;
    } else if (graph.node(i).domain() == kTrainingDomain) {
      node = graph.node(i).op_type() == "Gradient" ? draft_gradient(graph.node(i)) : graph.node(i);
      node.clear_domain();
    } else {
      node = graph.node(i);
      require_draft_operator(node, opset);
    }
  }
  return algorithm;
}

DraftInfo draft_info(const onnx::ModelProto& model, int64_t opset) {
  const onnx::TrainingInfoProto& info = model.training_info(0);
  DraftInfo draft;
  const auto& initializers = info.algorithm().initializer();
  draft.initializers.assign(initializers.begin(), initializers.end());
  for (const auto& input : model.graph().input()) {
    const bool is_parameter = std::ranges::any_of(
        model.graph().initializer(), [&](const auto& each) { return each.name() == input.name(); });
    if (!is_parameter) draft.inputs.push_back(input);
  }
  const auto& inputs = info.algorithm().input();
  draft.inputs.insert(draft.inputs.end(), inputs.begin(), inputs.end());
  draft.outputs.assign(info.algorithm().output().begin(), info.algorithm().output().end());
  draft.algorithm = draft_algorithm(model, opset);
  for (const auto& binding : info.update_binding()) {
    // The draft's files name the new value first.
    onnx::StringStringEntryProto reversed;
    reversed.set_key(binding.value());
    reversed.set_value(binding.key());
    draft.bindings.push_back(reversed);
  }
  return draft;
}

}  // namespace

std::string to_draft_bytes(const Model& model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(to_bytes(model))) throw Bug("a saved model can't be read");
  if (proto.training_info_size() != 1 || proto.training_info(0).has_initialization() ||
      proto.functions_size() > 0) {
    throw Error(
        "the 2019 draft format holds one training info, without initialization or functions");
  }
  const int64_t opset = model.opset("").value_or(kDraftOpset);
  onnx::GraphProto& graph = *proto.mutable_graph();
  for (const auto& node : graph.node()) require_draft_operator(node, opset);
  list_initializers_as_inputs(graph);

  DraftParts parts;
  parts.infos.push_back(draft_info(proto, opset));
  onnx::FunctionProto& inference = parts.functions.emplace_back();
  inference.set_name(kInferenceFunction);
  for (const auto& input : graph.input()) inference.add_input(input.name());
  for (const auto& output : graph.output()) inference.add_output(output.name());
  *inference.mutable_node() = graph.node();
  graph.clear_node();
  *graph.add_node() = inference_call(graph);

  proto.clear_training_info();
  proto.clear_opset_import();
  proto.add_opset_import()->set_version(kDraftOpset);
  proto.set_ir_version(kDraftIrVersion);
  add_draft_parts(proto, parts);
  return proto.SerializeAsString();
}

}  // namespace onward
