// Calls of model-local functions become the function's nodes, while a graph is built.

#include <fmt/format.h>

#include "format/build_graph.h"

namespace onward {
namespace {

// A few kilobytes of functions that call each other can stand for any number of nodes.
constexpr int64_t kMaxInlinedNodes = 200'000;
constexpr size_t kDeepestCall = 100;

}  // namespace

const onnx::FunctionProto* GraphBuilder::find_function(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(canonical_domain(node.domain()) + "\n" + node.op_type() +
                                     "\n" + node.overload());
  return found == functions_.end() ? nullptr : found->second;
}

std::string GraphBuilder::fresh_prefix(const onnx::NodeProto& call) {
  const std::string& base = call.name().empty() ? call.op_type() : call.name();
  const int count = prefixes_[base]++;
  return count == 0 ? base + "/" : fmt::format("{}_{}/", base, count);
}

void GraphBuilder::inline_call(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                               const Context& context, Graph& graph, Scope& scope,
                               const Nodes& all) {
  std::vector<Value*> arguments;
  for (const auto& input : call.input()) {
    arguments.push_back(read_input(input, call, context, graph, scope, all));
  }
  const auto stand_in_for_outputs = [&] {
    for (const auto& output : call.output()) {
      if (!output.empty() && !scope.has(output)) scope.define(output, graph.add_missing(output));
    }
  };
  const auto refuse = [&](std::string rule, std::string message) {
    report(std::move(rule), context, "", std::move(message), &call);
    stand_in_for_outputs();
  };
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
    return refuse("function-recursion", "the function calls itself");
  }
  if (calls_.size() >= kDeepestCall) {
    return refuse("function-depth",
                  fmt::format("functions call each other more than {} deep", kDeepestCall));
  }
  inlined_nodes_ += 1 + function.node_size();
  if (inlined_nodes_ > kMaxInlinedNodes) {
    return refuse("function-size",
                  fmt::format("inlined, the functions have more than {} nodes", kMaxInlinedNodes));
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return refuse("function-call",
                  fmt::format("the call has {} inputs and {} outputs, the function {} and {}",
                              call.input_size(), call.output_size(), function.input_size(),
                              function.output_size()));
  }

  std::unordered_map<std::string, const onnx::AttributeProto*> attributes;
  for (const auto& attribute : function.attribute_proto())
    attributes[attribute.name()] = &attribute;
  for (const auto& attribute : call.attribute()) {
    const onnx::AttributeProto* given = &attribute;
    if (!attribute.ref_attr_name().empty()) {  // the caller is a function and passes its own on
      if (!context.arguments) continue;
      const auto outer = context.arguments->find(attribute.ref_attr_name());
      if (outer == context.arguments->end()) continue;
      given = outer->second;
    }
    attributes[attribute.name()] = given;
  }

  std::unordered_map<std::string, std::string> output_names;
  for (int i = 0; i < call.output_size(); ++i) {
    if (!call.output(i).empty()) {
      const bool renamed_further =
          context.output_names && context.output_names->contains(call.output(i));
      output_names[function.output(i)] = renamed_further ? context.output_names->at(call.output(i))
                                                         : context.prefix + call.output(i);
    }
  }

  Context inner;
  inner.opsets = &function_opsets_.at(&function);
  inner.where = context.where;
  inner.function = context.function.empty()
                       ? fmt::format("'{}'", function.name())
                       : fmt::format("{} > '{}'", context.function, function.name());
  inner.prefix = context.prefix + fresh_prefix(call);
  inner.in_training = context.in_training;
  inner.arguments = &attributes;
  inner.caller = &context;
  inner.caller_scope = &scope;
  inner.output_names = &output_names;
  inner.depth = context.depth;

  Scope body;  // a function sees nothing of its caller but its arguments
  for (int i = 0; i < function.input_size(); ++i) {
    body.define(function.input(i),
                i < call.input_size() ? arguments[static_cast<size_t>(i)] : nullptr);
  }
  calls_.push_back(&function);
  add_nodes(function.node(), inner, graph, body);
  calls_.pop_back();

  for (int i = 0; i < call.output_size(); ++i) {
    const std::string& name = call.output(i);
    if (name.empty()) continue;
    check_name(name, "an output", context, &call);
    if (scope.has(name)) {
      report("defined-twice", context, name, "a value of this name is already defined", &call);
    }
    Value* value = body.find_here(function.output(i));
    if (!value) {
      report("function-call", context, name,
             fmt::format("the function does not define its output '{}'", function.output(i)),
             &call);
      value = graph.add_missing(name);
    } else if (value->name() != output_names.at(function.output(i))) {
      // The function hands an argument through: the output needs a value of its own.
      Node* identity = graph.add_node("Identity", {value});
      const auto import = inner.opsets->find("");
      identity->opset = import != inner.opsets->end()                   ? import->second
                        : model_opsets_.find("") != model_opsets_.end() ? model_opsets_.at("")
                                                                        : 1;
      identity->function = inner.function;
      value = identity->add_output(output_names.at(function.output(i)), value->type);
    }
    scope.define(name, value);
  }
}

}  // namespace onward
