#include "format/build_graph.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include "infer/infer.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

Metadata read_metadata(
    const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>& entries) {
  Metadata metadata;
  for (const auto& entry : entries) metadata.emplace_back(entry.key(), entry.value());
  return metadata;
}

/// The first dimension below 0 of a type, which stands for one that is not known.
std::optional<int64_t> negative_dim(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return negative_dim(type.sequence_type().elem_type());
  if (type.has_optional_type()) return negative_dim(type.optional_type().elem_type());
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.dim_value() < 0) return dim.dim_value();
  }
  return std::nullopt;
}

constexpr int64_t kFirstVersionWithFreeInitializers = 4;  // before, each had to be an input too

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == onnx::AI_ONNX_DOMAIN ? std::string(onnx::ONNX_DOMAIN) : domain;
}

Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                   const std::string& where, Problems& problems) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  Opsets opsets;
  for (const auto& import : imports) {
    const std::string domain = canonical_domain(import.domain());
    const auto wrong = [&](std::string message) {
      problems.add({.rule = "opset", .where = where, .message = std::move(message)});
    };
    const auto [existing, added] = opsets.emplace(domain, import.version());
    if (!added && existing->second != import.version()) {
      wrong(fmt::format("domain '{}' is imported in versions {} and {}", domain, existing->second,
                        import.version()));
    }
    if (import.version() < 1) {
      wrong(fmt::format("domain '{}' is imported in version {}", domain, import.version()));
    }
    const auto range = known.find(domain);
    if (range != known.end() && import.version() > range->second.second) {
      wrong(fmt::format("version {} of domain '{}' is newer than the newest known, {}",
                        import.version(), domain, range->second.second));
    }
  }
  return opsets;
}

GraphBuilder::GraphBuilder(const onnx::ModelProto& model, TensorOrigin origin, Problems& problems)
    : model_(model), origin_(std::move(origin)), problems_(problems) {
  model_opsets_ = read_opsets(model.opset_import(), "", problems);
  if (model.opset_import().empty() && model.ir_version() < 3) model_opsets_[""] = 1;
  for (const auto& function : model.functions()) {
    const std::string where = fmt::format("function '{}'", function.name());
    const std::string key =
        canonical_domain(function.domain()) + "\n" + function.name() + "\n" + function.overload();
    if (!functions_.emplace(key, &function).second) {
      problems.add({.rule = "function-twice",
                    .where = where,
                    .message = "the model has two functions of this name"});
    }
    function_opsets_[&function] = read_opsets(function.opset_import(), where, problems);
  }
}

void GraphBuilder::report(std::string rule, const Context& context, std::string tensor,
                          std::string message, const onnx::NodeProto* node, Severity severity) {
  Problem problem{.severity = severity,
                  .rule = std::move(rule),
                  .where = context.where,
                  .node = {},
                  .op = {},
                  .tensor = std::move(tensor),
                  .message = std::move(message)};
  if (!context.function.empty()) {
    problem.where += (problem.where.empty() ? "" : ", ") + ("function " + context.function);
  }
  if (node) {
    problem.op = node->op_type();
    problem.node = node->name();
    if (problem.node.empty() && node->output_size() > 0) problem.node = node->output(0);
  }
  problems_.add(std::move(problem));
}

bool GraphBuilder::check_name(const std::string& name, std::string_view what,
                              const Context& context, const onnx::NodeProto* node) {
  if (name.empty()) {
    report("name", context, "", fmt::format("{} has no name", what), node);
    return false;
  }
  if (!is_readable_utf8(name)) {
    report("name", context, name, fmt::format("the name of {} is not readable UTF-8", what), node);
  }
  return true;
}

Type GraphBuilder::read_type(const onnx::ValueInfoProto& info, const Context& context) {
  try {
    if (const auto dim = negative_dim(info.type())) {
      report("shape", context, info.name(),
             fmt::format("a negative dimension ({}) is declared: treated as unknown", *dim),
             nullptr, Severity::warning);
    }
    return type_from_proto(info.type());
  } catch (const Error& error) {
    report("type", context, info.name(), error.what());
    return {};
  }
}

void GraphBuilder::build(const onnx::GraphProto& proto, GraphRole role, Graph& graph,
                         Scope& scope) {
  Context context;
  context.opsets = &model_opsets_;
  context.where = to_string(role);
  context.in_training = role.kind != GraphRole::inference;
  build_graph(proto, context, graph, scope, true);
}

void GraphBuilder::build_graph(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                               Scope& scope, bool top_level) {
  graph.name = proto.name();
  graph.doc = proto.doc_string();
  graph.metadata = read_metadata(proto.metadata_props());
  if (proto.name().empty()) report("name", context, "", "the graph has no name");
  for (const auto& annotation : proto.quantization_annotation()) {
    graph.annotations.push_back(
        {annotation.tensor_name(), read_metadata(annotation.quant_parameter_tensor_names())});
  }
  add_inputs(proto, context, graph, scope, top_level);
  add_initializers(proto, context, graph, scope, top_level);
  add_nodes(proto.node(), context, graph, scope);
  add_outputs(proto, context, graph, scope, top_level);
  add_declared_types(proto, context, scope);
}

void GraphBuilder::add_inputs(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                              Scope& scope, bool top_level) {
  for (const auto& info : proto.input()) {
    if (!check_name(info.name(), "a graph input", context)) continue;
    if (scope.has_here(info.name())) {
      report("defined-twice", context, info.name(), "two graph inputs have this name");
      continue;
    }
    if (scope.has(info.name())) {
      // ONNX's own checker lets a subgraph's input shadow a value around it; the standard does not,
      // and a training step joins two graphs whose inputs must be told apart.
      const bool algorithm_input = top_level;
      report(algorithm_input ? "defined-twice" : "shadowing", context, info.name(),
             algorithm_input ? "this input has the name of a value of the inference graph"
                             : "this input of a subgraph hides a value of the graph around it",
             nullptr, algorithm_input || context.in_training ? Severity::error : Severity::warning);
    }
    const Type type = read_type(info, context);
    if (top_level && !type.known()) {
      report("type", context, info.name(), "the type of this graph input is not given");
    }
    Value* value = graph.add_input(context.prefix + info.name(), type);
    value->doc = info.doc_string();
    value->metadata = read_metadata(info.metadata_props());
    scope.define(info.name(), value);
  }
}

void GraphBuilder::add_initializer(const std::string& name, Initializer data,
                                   const Context& context, Graph& graph, Scope& scope,
                                   bool top_level) {
  Value* input = scope.find_here(name);
  if (input && (!input->is_input() || input->initializer())) {
    report("defined-twice", context, name, "two initializers have this name");
    return;
  }
  if (!input) {
    if (scope.has(name)) {
      report("defined-twice", context, name,
             "this initializer has the name of a value of the graph around it");
    }
    if (top_level && !context.in_training &&
        model_.ir_version() < kFirstVersionWithFreeInitializers) {
      report("initializer-input", context, name,
             fmt::format("IR version {} requires every initializer to be a graph input too",
                         model_.ir_version()));
    }
    scope.define(name, graph.add_initializer(context.prefix + name, std::move(data)));
    return;
  }
  if (const auto reason = conflict(input->type, data.type())) {
    report("type", context, name,
           fmt::format("the input's type {} does not fit its default {}: {}",
                       to_string(input->type), to_string(data.type()), *reason));
  }
  graph.set_initializer(input, std::move(data));
}

void GraphBuilder::add_initializers(const onnx::GraphProto& proto, const Context& context,
                                    Graph& graph, Scope& scope, bool top_level) {
  // One that can't be read gets a stand-in, so that its users are not reported as well.
  const auto add = [&](const std::string& name, auto read, const std::string& doc,
                       const Metadata& metadata) {
    if (!check_name(name, "an initializer", context)) return;
    try {
      Initializer data{.data = read(), .doc = doc, .metadata = metadata};
      add_initializer(name, std::move(data), context, graph, scope, top_level);
    } catch (const Error& error) {
      report("tensor", context, name, error.what());
      if (!scope.has(name)) scope.define(name, graph.add_missing(name));
    }
  };
  for (const auto& tensor : proto.initializer()) {
    add(
        tensor.name(), [&] { return tensor_from_proto(tensor, origin_); }, tensor.doc_string(),
        read_metadata(tensor.metadata_props()));
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    add(
        tensor.values().name(), [&] { return sparse_tensor_from_proto(tensor, origin_); },
        tensor.values().doc_string(), read_metadata(tensor.values().metadata_props()));
  }
}

/// Reports a second declaration that contradicts the first. Where it is only about shapes neither
/// is believed of a node's output, which inference finds; an input or a tensor is what it is.
bool GraphBuilder::refuses(Value& value, const Type& type, std::string_view what,
                           const Context& context) {
  const auto reason = conflict(value.type, type);
  if (!reason) return false;
  const bool only_shapes = !conflict(without_shapes(value.type), without_shapes(type));
  report(only_shapes ? "shape" : "type", context, value.name(),
         fmt::format("{} is {}, which does not fit {}: {}", what, to_string(type),
                     to_string(value.type), *reason),
         nullptr, only_shapes ? Severity::warning : Severity::error);
  if (only_shapes && value.producer()) value.type = without_shapes(value.type);
  return true;
}

void GraphBuilder::add_outputs(const onnx::GraphProto& proto, const Context& context, Graph& graph,
                               Scope& scope, bool top_level) {
  std::unordered_set<std::string> seen;
  for (const auto& info : proto.output()) {
    if (!check_name(info.name(), "a graph output", context)) continue;
    if (top_level && !seen.insert(info.name()).second) {
      report("output", context, info.name(), "two graph outputs have this name", nullptr,
             context.in_training ? Severity::error : Severity::warning);
    }
    // A step runs the inference graph and the algorithm as one graph, whose outputs may be
    // either's.
    const bool may_be_outer = top_level && context.in_training;
    Value* value = may_be_outer ? scope.find(info.name()) : scope.find_here(info.name());
    if (!value) {
      report("output", context, info.name(),
             "no node, input or initializer computes this graph output");
      value = graph.add_missing(info.name());
    }
    graph.add_output(value);
    const Type type = read_type(info, context);
    if (top_level && !context.in_training && !type.known() && !value->type.known()) {
      report("type", context, info.name(), "the type of this graph output is not given");
    }
    if (refuses(*value, type, "the output's type", context)) continue;
    value->type = merge(type, value->type);
    value->declared = value->declared || type.known();
    if (value->doc.empty()) value->doc = info.doc_string();
    if (value->metadata.empty()) value->metadata = read_metadata(info.metadata_props());
  }
}

void GraphBuilder::add_declared_types(const onnx::GraphProto& proto, const Context& context,
                                      Scope& scope) {
  for (const auto& info : proto.value_info()) {
    Value* value = scope.find_here(info.name());
    if (!value) continue;  // a description of nothing does no harm; many exporters leave some
    const Type type = read_type(info, context);
    if (refuses(*value, type, "value_info", context)) continue;
    value->type = merge(value->type, type);
    value->declared = value->declared || type.known() || info.metadata_props_size() > 0;
    if (value->doc.empty()) value->doc = info.doc_string();
    for (const auto& entry : info.metadata_props()) {
      value->metadata.emplace_back(entry.key(), entry.value());
    }
  }
}

}  // namespace onward
