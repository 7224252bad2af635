#include "check/operators.h"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include "proto/proto.h"

namespace onward {
namespace {

bool is_standard(const std::string& domain) {
  const auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  return domains.contains(domain);
}

/// The node's message for the schema to look at. What its attributes hold was checked when it was
/// read, so that tensors and subgraphs are only hinted at: no copy of a large constant.
onnx::NodeProto outline(const Node& node) {
  onnx::NodeProto proto;
  for (const Value* input : node.inputs()) proto.add_input(input ? input->name() : "");
  for (const auto& output : node.outputs()) proto.add_output(output ? output->name() : "");
  proto.set_op_type(node.op);
  proto.set_domain(node.domain);
  const auto hint_at_tensor = [](onnx::TensorProto* tensor) {
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(0);
  };
  for (const Attribute& attribute : node.attributes()) {
    auto* added = proto.add_attribute();
    added->set_name(attribute.name);
    if (std::holds_alternative<std::unique_ptr<Graph>>(attribute.value)) {
      added->set_type(onnx::AttributeProto::GRAPH);
      added->mutable_g()->set_name("body");
    } else if (std::holds_alternative<Tensor>(attribute.value)) {
      added->set_type(onnx::AttributeProto::TENSOR);
      hint_at_tensor(added->mutable_t());
    } else if (const auto* graphs = std::get_if<Attribute::Graphs>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::GRAPHS);
      for (size_t i = 0; i < graphs->size(); ++i) added->add_graphs()->set_name("body");
    } else if (const auto* tensors = std::get_if<std::vector<Tensor>>(&attribute.value)) {
      added->set_type(onnx::AttributeProto::TENSORS);
      for (size_t i = 0; i < tensors->size(); ++i) hint_at_tensor(added->add_tensors());
    } else {
      *added = to_proto(attribute);
    }
  }
  return proto;
}

/// Why a standard domain has no operator of that name in that version.
std::string refusal_of_operator(const Node& node) {
  const auto* newest = onnx::OpSchemaRegistry::Schema(node.op, node.domain);
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  if (newest) {
    return fmt::format("version {} of {} has no operator {}, which was added later", node.opset,
                       domain, node.op);
  }
  return fmt::format("{} has no operator '{}', and the file holds no function of that name", domain,
                     node.op);
}

std::string first_line(const std::string& text) {
  const size_t end = text.find('\n');
  return end == std::string::npos ? text : text.substr(0, end);
}

void check_operator(const Node& node, int64_t ir_version, const std::string& where,
                    Problems& problems) {
  const auto report = [&](std::string rule, std::string message,
                          Severity severity = Severity::error) {
    problems.add({.severity = severity,
                  .rule = std::move(rule),
                  .where = where,
                  .node = node.label(),
                  .op = node.op,
                  .message = std::move(message)});
  };
  if (node.op.empty() || node.opset <= 0) return;  // reported when it was read
  const auto* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(node.opset), node.domain);
  if (!schema) {
    if (is_standard(node.domain)) return report("operator", refusal_of_operator(node));
    return report("operator",
                  fmt::format("operator '{}' of domain '{}' is unknown: it is not checked", node.op,
                              node.domain),
                  Severity::warning);
  }
  if (schema->Deprecated()) {
    return report("operator", fmt::format("{} was removed in version {} of its operator set",
                                          node.op, schema->since_version()));
  }
  try {
    onnx::checker::CheckerContext context;
    context.set_ir_version(static_cast<int>(ir_version));
    context.set_opset_imports({{node.domain, static_cast<int>(node.opset)}});
    onnx::checker::check_node(outline(node), context, onnx::checker::LexicalScopeContext());
  } catch (const std::exception& error) {
    report("schema", first_line(error.what()));
  }
}

void check_graph(const Graph& graph, int64_t ir_version, const std::string& where,
                 Problems& problems) {
  for (const auto& node : graph.nodes()) {
    check_operator(*node, ir_version, where, problems);
    for (const Graph* subgraph : node->subgraphs()) {
      const std::string inner = fmt::format("subgraph of node '{}' ({})", node->label(), node->op);
      check_graph(*subgraph, ir_version, where.empty() ? inner : where + ", " + inner, problems);
    }
  }
}

}  // namespace

void check_operators(const Model& model, Problems& problems) {
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    check_graph(graph, model.ir_version, to_string(role), problems);
  });
}

}  // namespace onward
