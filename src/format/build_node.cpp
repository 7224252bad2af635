#include <fmt/format.h>

#include "format/build_graph.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"

namespace onward {
namespace {

using AttributeType = onnx::AttributeProto::AttributeType;

/// The kinds of value that an attribute's message holds; one, in a good file.
std::vector<AttributeType> kinds_present(const onnx::AttributeProto& proto) {
  std::vector<AttributeType> kinds;
  const auto add = [&](bool present, AttributeType kind) {
    if (present) kinds.push_back(kind);
  };
  add(proto.has_f(), onnx::AttributeProto::FLOAT);
  add(proto.has_i(), onnx::AttributeProto::INT);
  add(proto.has_s(), onnx::AttributeProto::STRING);
  add(proto.has_t(), onnx::AttributeProto::TENSOR);
  add(proto.has_g(), onnx::AttributeProto::GRAPH);
  add(proto.has_sparse_tensor(), onnx::AttributeProto::SPARSE_TENSOR);
  add(proto.has_tp(), onnx::AttributeProto::TYPE_PROTO);
  add(proto.floats_size() > 0, onnx::AttributeProto::FLOATS);
  add(proto.ints_size() > 0, onnx::AttributeProto::INTS);
  add(proto.strings_size() > 0, onnx::AttributeProto::STRINGS);
  add(proto.tensors_size() > 0, onnx::AttributeProto::TENSORS);
  add(proto.graphs_size() > 0, onnx::AttributeProto::GRAPHS);
  add(proto.sparse_tensors_size() > 0, onnx::AttributeProto::SPARSE_TENSORS);
  add(proto.type_protos_size() > 0, onnx::AttributeProto::TYPE_PROTOS);
  return kinds;
}

/// The kind of value that an attribute has; throws Error where its message contradicts itself.
AttributeType attribute_kind(const onnx::AttributeProto& proto) {
  const auto kinds = kinds_present(proto);
  if (kinds.size() > 1) throw Error("it has more than one value");
  if (!proto.has_type() || proto.type() == onnx::AttributeProto::UNDEFINED) {
    if (kinds.empty()) throw Error("it has neither a type nor a value");
    return kinds[0];  // files of IR version 1 do not state the type
  }
  if (!kinds.empty() && kinds[0] != proto.type()) {
    throw Error(fmt::format("its type is {}, but its value is of type {}",
                            onnx::AttributeProto::AttributeType_Name(proto.type()),
                            onnx::AttributeProto::AttributeType_Name(kinds[0])));
  }
  return proto.type();
}

template <typename Field>
auto to_vector(const Field& field) {
  return std::vector<typename Field::value_type>(field.begin(), field.end());
}

/// How a subgraph is called in messages.
std::string subgraph_place(const std::string& where, const Node& node,
                           const std::string& attribute) {
  const std::string place =
      fmt::format("{} of node '{}' ({})", attribute, printable(node.label()), printable(node.op));
  return where.empty() ? place : where + ", " + place;
}

}  // namespace

void GraphBuilder::add_nodes(const Nodes& nodes, const Context& context, Graph& graph,
                             Scope& scope) {
  for (const auto& node : nodes) add_node(node, context, graph, scope, nodes);
}

std::string GraphBuilder::unresolved_reason(const std::string& name, const Nodes& all,
                                            const Context& context) {
  // Looking for the reason takes a walk over the file: not for each of a million wrong names.
  if (problems_.errors() < Problems::kMost) {
    const auto made_in = [&name](const Nodes& nodes) {
      for (const auto& node : nodes) {
        for (const auto& output : node.output()) {
          if (output == name) return true;
        }
      }
      return false;
    };
    if (made_in(all)) return "it is read before the node that computes it: wrong order, or a cycle";
    if (!context.in_training) {
      for (int i = 0; i < model_.training_info_size(); ++i) {
        const auto& algorithm = model_.training_info(i).algorithm();
        const auto named = [&name](const auto& entry) { return entry.name() == name; };
        if (made_in(algorithm.node()) ||
            std::any_of(algorithm.input().begin(), algorithm.input().end(), named) ||
            std::any_of(algorithm.initializer().begin(), algorithm.initializer().end(), named)) {
          return fmt::format(
              "it belongs to the algorithm of training info {}, which the inference graph can't "
              "use",
              i);
        }
      }
    }
  }
  return "nothing of this name is defined before this node";
}

Value* GraphBuilder::read_input(const std::string& name, const onnx::NodeProto& node,
                                const Context& context, Graph& graph, const Scope& scope,
                                const Nodes& all) {
  if (name.empty()) return nullptr;
  if (scope.has(name)) return scope.find(name);
  const std::string reason = unresolved_reason(name, all, context);
  const bool backwards = reason.starts_with("it belongs");
  report(backwards ? "inference-uses-training" : "undefined", context, name, reason, &node);
  return graph.add_missing(name);
}

void GraphBuilder::define_output(const std::string& name, const onnx::NodeProto& node,
                                 const Context& context, Node& built, Scope& scope) {
  if (name.empty()) {
    built.add_output({});
    return;
  }
  check_name(name, "an output", context, &node);
  if (scope.has(name)) {
    report("defined-twice", context, name, "a value of this name is already defined", &node);
  }
  std::string full_name = context.prefix + name;
  if (context.output_names) {
    const auto given = context.output_names->find(name);
    if (given != context.output_names->end()) full_name = given->second;
  }
  scope.define(name, built.add_output(full_name));
}

void GraphBuilder::add_node(const onnx::NodeProto& proto, const Context& context, Graph& graph,
                            Scope& scope, const Nodes& all) {
  if (const auto* function = find_function(proto)) {
    inline_call(proto, *function, context, graph, scope, all);
    return;
  }
  if (proto.op_type().empty()) report("node", context, "", "a node has no operator type", &proto);
  if (!is_readable_utf8(proto.op_type()) || !is_readable_utf8(proto.name()) ||
      !is_readable_utf8(proto.domain())) {
    report("name", context, "", "the node's name or operator is not readable UTF-8", &proto);
  }

  Node* node = graph.add_node(proto.op_type(), {});
  node->domain = canonical_domain(proto.domain());
  node->overload = proto.overload();
  node->name = proto.name().empty() ? "" : context.prefix + proto.name();
  node->doc = proto.doc_string();
  node->function = context.function;
  for (const auto& entry : proto.metadata_props()) {
    node->metadata.emplace_back(entry.key(), entry.value());
  }
  for (const auto& configuration : proto.device_configurations()) {
    node->device_configurations.push_back(configuration.SerializeAsString());
  }
  const auto import = context.opsets->find(node->domain);
  if (import != context.opsets->end()) {
    node->opset = import->second;
  } else {
    report("opset", context, "", fmt::format("no opset import for domain '{}'", node->domain),
           &proto);
  }

  for (const auto& input : proto.input()) {
    node->add_input(read_input(input, proto, context, graph, scope, all));
  }
  add_attributes(proto, context, *node, scope);
  // After the attributes: a subgraph can't read what its own node makes.
  for (const auto& output : proto.output()) define_output(output, proto, context, *node, scope);
  if (node->op == "Gradient" && node->domain == kTrainingDomain) {
    resolve_gradient_names(context, *node, scope);
  }
}

void GraphBuilder::add_attributes(const onnx::NodeProto& proto, const Context& context, Node& node,
                                  const Scope& scope) {
  for (const auto& attribute : proto.attribute()) {
    if (attribute.name().empty()) {
      report("attribute", context, "", "an attribute has no name", &proto);
      continue;
    }
    if (node.attribute(attribute.name())) {
      report("attribute", context, "",
             fmt::format("attribute '{}' is given twice", attribute.name()), &proto);
      continue;
    }
    const onnx::AttributeProto* given = &attribute;
    const Context* written_in = &context;
    const Scope* read_in = &scope;
    if (!attribute.ref_attr_name().empty()) {
      if (!context.arguments) {
        report("attribute", context, "",
               fmt::format("attribute '{}' refers to '{}' of a function, but is not in one",
                           attribute.name(), attribute.ref_attr_name()),
               &proto);
        continue;
      }
      const auto argument = context.arguments->find(attribute.ref_attr_name());
      if (argument == context.arguments->end()) continue;  // left out by the caller
      given = argument->second;
      written_in = context.caller;
      read_in = context.caller_scope;
    }
    try {
      node.set_attribute({.name = attribute.name(),
                          .value = read_attribute(*given, *written_in, node, *read_in),
                          .doc = given->doc_string()});
    } catch (const Error& error) {
      report("attribute", context, "",
             fmt::format("attribute '{}': {}", attribute.name(), error.what()), &proto);
    }
  }
}

Attribute::Payload GraphBuilder::read_attribute(const onnx::AttributeProto& proto,
                                                const Context& context, Node& node,
                                                const Scope& scope) {
  const auto read_all = [](const auto& field, auto read) {
    std::vector<decltype(read(field.Get(0)))> values;
    for (const auto& entry : field) values.push_back(read(entry));
    return values;
  };
  const auto tensor = [&](const onnx::TensorProto& entry) {
    return in_memory(tensor_from_proto(entry, origin_));
  };
  const auto sparse = [&](const onnx::SparseTensorProto& entry) {
    return sparse_tensor_from_proto(entry, origin_);
  };
  const auto subgraph = [&](const onnx::GraphProto& entry) {
    return read_subgraph(entry, proto.name(), context, node, scope);
  };
  switch (attribute_kind(proto)) {
    case onnx::AttributeProto::FLOAT:
      return proto.f();
    case onnx::AttributeProto::INT:
      return proto.i();
    case onnx::AttributeProto::STRING:
      return proto.s();
    case onnx::AttributeProto::TENSOR:
      return tensor(proto.t());
    case onnx::AttributeProto::SPARSE_TENSOR:
      return sparse(proto.sparse_tensor());
    case onnx::AttributeProto::TYPE_PROTO:
      return type_from_proto(proto.tp());
    case onnx::AttributeProto::GRAPH:
      return subgraph(proto.g());
    case onnx::AttributeProto::FLOATS:
      return to_vector(proto.floats());
    case onnx::AttributeProto::INTS:
      return to_vector(proto.ints());
    case onnx::AttributeProto::STRINGS:
      return to_vector(proto.strings());
    case onnx::AttributeProto::TENSORS:
      return read_all(proto.tensors(), tensor);
    case onnx::AttributeProto::SPARSE_TENSORS:
      return read_all(proto.sparse_tensors(), sparse);
    case onnx::AttributeProto::TYPE_PROTOS:
      return read_all(proto.type_protos(), type_from_proto);
    case onnx::AttributeProto::GRAPHS:
      return read_all(proto.graphs(), subgraph);
    case onnx::AttributeProto::UNDEFINED:
      break;
  }
  throw Error(fmt::format("type {} is not known to the standard", static_cast<int>(proto.type())));
}

std::unique_ptr<Graph> GraphBuilder::read_subgraph(const onnx::GraphProto& proto,
                                                   const std::string& attribute,
                                                   const Context& context, Node& node,
                                                   const Scope& scope) {
  if (context.depth >= kDeepestSubgraph) {
    throw Error(fmt::format("subgraphs are nested more than {} deep", kDeepestSubgraph));
  }
  Context inner = context;
  inner.depth = context.depth + 1;
  inner.where = subgraph_place(context.where, node, attribute);
  inner.output_names = nullptr;
  auto graph = std::make_unique<Graph>(&node.graph());
  Scope inner_scope(&scope);
  build_graph(proto, inner, *graph, inner_scope, false);
  return graph;
}

void GraphBuilder::resolve_gradient_names(const Context& context, Node& node, const Scope& scope) {
  const auto resolve = [&](const std::string& attribute, const std::string& name) {
    if (scope.has(name) && scope.find(name)) return scope.find(name);
    problems_.add({.rule = "gradient-name",
                   .where = context.where,
                   .node = node.label(),
                   .op = node.op,
                   .tensor = name,
                   .message = fmt::format("'{}' names a value that is not defined before this node",
                                          attribute)});
    return node.graph().add_missing(name);
  };
  for (const char* attribute : {"xs", "zs"}) {
    if (const auto* names = node.get<std::vector<std::string>>(attribute)) {
      References references;
      for (const std::string& name : *names) references.values.push_back(resolve(attribute, name));
      node.set_attribute({.name = attribute, .value = std::move(references), .doc = {}});
    }
  }
  if (const auto* name = node.get<std::string>("y")) {
    References references{.values = {resolve("y", *name)}, .single = true};
    node.set_attribute({.name = "y", .value = std::move(references), .doc = {}});
  }
}

}  // namespace onward
