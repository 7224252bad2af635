#include "ops/function_body.h"

#include <fmt/format.h>
#include <onnx/defs/function.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <iterator>

#include "format/load.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "proto/proto.h"

namespace onward {
namespace {

constexpr const char* kBodyDomain = "onward.body";

const onnx::OpSchema* newest_schema(const std::string& domain, const std::string& op) {
  const auto opset = newest_opset(domain);
  if (!opset) return nullptr;
  return onnx::OpSchemaRegistry::Schema(op, static_cast<int>(*opset), domain);
}

/// A body that depends on types is built for those of the node, else it is the schema's one body.
onnx::FunctionProto body_of(const onnx::OpSchema& schema, const Node& node,
                            const onnx::NodeProto& call) {
  if (schema.HasContextDependentFunction()) {
    std::vector<onnx::TypeProto> types;
    for (const Value* input : node.inputs()) {
      types.push_back(input ? to_proto(input->type) : onnx::TypeProto());
    }
    onnx::FunctionProto body;
    if (schema.BuildContextDependentFunction(onnx::FunctionBodyBuildContextImpl(call, types), body,
                                             static_cast<int>(node.opset))) {
      return body;
    }
  }
  if (const onnx::FunctionProto* body = schema.GetFunction(static_cast<int>(node.opset))) {
    return *body;
  }
  throw Error(fmt::format("the standard has no body of {} for such inputs", node.op));
}

}  // namespace

bool has_function_body(const std::string& domain, const std::string& op) {
  const onnx::OpSchema* schema = newest_schema(domain, op);
  return schema && (schema->HasFunction() || schema->HasContextDependentFunction());
}

// The body becomes a function of a small model that calls it once: loading it does the rest.
Model function_body(const Node& node) {
  const onnx::OpSchema* schema = newest_schema(node.domain, node.op);
  if (!schema) throw Error(fmt::format("the standard has no body of {}", node.op));
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(node.op);
  onnx::NodeProto& call = *graph.add_node();
  call = to_proto(node);
  call.clear_input();
  call.clear_output();
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    call.add_input(node.input(i) ? fmt::format("input_{}", i) : "");
    if (!node.input(i)) continue;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(call.input().Get(static_cast<int>(i)));
    *input.mutable_type() = to_proto(node.input(i)->type);
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    call.add_output(node.output(i) ? fmt::format("output_{}", i) : "");
    if (!node.output(i)) continue;
    onnx::ValueInfoProto& output = *graph.add_output();
    output.set_name(call.output().Get(static_cast<int>(i)));
    *output.mutable_type() = to_proto(node.output(i)->type);
  }
  *model.add_functions() = body_of(*schema, node, call);
  onnx::FunctionProto& function = *model.mutable_functions(0);
  // Attributes that the node leaves out have their defaults in the schema.
  for (const auto& [name, attribute] : schema->attributes()) {
    if (!attribute.default_value.name().empty() && !node.attribute(name)) {
      *call.add_attribute() = attribute.default_value;
    }
  }
  function.set_domain(kBodyDomain);
  function.set_name(node.op);
  call.set_domain(kBodyDomain);
  call.clear_overload();
  for (const auto& import : function.opset_import()) *model.add_opset_import() = import;
  onnx::OperatorSetIdProto& own = *model.add_opset_import();
  own.set_domain(kBodyDomain);
  own.set_version(1);
  model.set_ir_version(onnx::Version::IR_VERSION);
  Model body = build_model(std::move(model), {.keep_source = false});
  lift(body);
  return body;
}

std::vector<Expr> standard_body(const ExpandContext& c) {
  const Model body = function_body(c.node());
  std::vector<Value*> inputs;
  std::ranges::copy_if(c.node().inputs(), std::back_inserter(inputs), [](Value* v) { return v; });
  const std::vector<Expr> present = c.builder().splice(*body.graph, inputs);
  std::vector<Expr> results;
  for (size_t next = 0; const auto& output : c.node().outputs()) {
    results.push_back(output ? present.at(next++) : c.builder().expr(nullptr));
  }
  return results;
}

}  // namespace onward
