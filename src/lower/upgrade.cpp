#include "lower/upgrade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "check/check.h"
#include "ir/copy.h"
#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "lower/lower.h"
#include "lower/opset.h"
#include "onward/error.h"
#include "ops/builder.h"
#include "opset/lift.h"

namespace onward {
namespace {

constexpr int64_t kIrOfFreeInitializers = 4;
constexpr int64_t kIrOfSparseInitializers = 6;
constexpr int64_t kIrOfTraining = 7;

void require_valid(Model& model, std::string_view which) {
  Problems problems;
  check(model, problems);
  try {
    problems.throw_if_errors();
  } catch (Error& error) {
    throw error.add_context(fmt::format("in the {}", which));
  }
}

/// The opset that a node of ai.onnx needs at least, where the model imports none.
int64_t own_opset(const Model& model) {
  int64_t newest = model.opset("").value_or(0);
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for_each_node(graph, [&](const Node& node) {
      if (node.domain.empty()) newest = std::max(newest, node.opset);
    });
  });
  return newest;
}

/// A feature of the model with the IR version that first had it.
struct Need {
  std::string what;
  int64_t ir;
};

/// What needs the newest IR version.
Need ir_need(const Model& model) {
  Need most{fmt::format("opset {}", model.opset("").value_or(1)),
            first_ir_version(model.opset("").value_or(1))};
  const auto add = [&](const std::string& what, int64_t ir) {
    if (ir > most.ir) most = {what, ir};
  };
  if (!model.training.empty()) add("the training info", kIrOfTraining);
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    const auto add_type = [&](const Value* value) {
      if (!value->type.is_tensor()) return;
      add(fmt::format("'{}' of type {}", value->name(), name(value->type.dtype)),
          first_ir_version(value->type.dtype));
    };
    for (const Value* value : graph.inputs()) add_type(value);
    for (const Value* value : graph.initializers()) {
      add_type(value);
      if (!value->is_input()) {
        add(fmt::format("'{}', an initializer that is no input", value->name()),
            kIrOfFreeInitializers);
      }
      if (value->initializer()->sparse()) {
        add(fmt::format("'{}', which is sparse", value->name()), kIrOfSparseInitializers);
      }
    }
    for_each_node(graph, [&](const Node& node) {
      for (const auto& output : node.outputs()) {
        if (output) add_type(output.get());
      }
    });
  });
  return most;
}

/// Before IR 4 every initializer was listed as an input, which says nothing; since then it says
/// that whoever runs the model may give another value.
void fix_defaults(const Graph& graph) {
  const std::vector<Value*> inputs(graph.inputs().begin(), graph.inputs().end());
  for (Value* input : inputs) {
    if (input->initializer()) input->graph().fix_default(input);
  }
  for (const auto& node : graph.nodes()) {
    for (const Graph* subgraph : node->subgraphs()) fix_defaults(*subgraph);
  }
}

std::vector<Value*> unread_initializers(const Model& model) {
  ValueSet read;
  for (const TrainingInfo& info : model.training) {
    for (const auto* bindings : {&info.initialization_bindings, &info.update_bindings}) {
      for (const Binding& binding : *bindings) read.insert({binding.target, binding.source});
    }
  }
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    read.insert(graph.outputs().begin(), graph.outputs().end());
  });
  std::vector<Value*> unread;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for (Value* value : graph.initializers()) {
      if (!value->is_input() && !is_needed(*value) && !read.contains(value)) {
        unread.push_back(value);
      }
    }
  });
  return unread;
}

/// What was an operand and is an attribute now (axes) is left behind.
void remove_left_behind(const Model& model, const Model& before) {
  std::set<std::string> kept;
  for (const Value* value : unread_initializers(before)) kept.insert(value->name());
  for (Value* value : unread_initializers(model)) {
    if (!kept.contains(value->name())) value->graph().remove_initializer(value);
  }
}

/// By way of the newest forms: up by the rules that lift, down by older forms and expansions.
Model rewritten(const Model& model, int64_t opset) {
  Model newest = copy(model);
  lift_to(newest, inner_opset());
  const auto complaints_in = [&](int64_t wanted, Model& written) {
    written = copy(newest);
    return write_in_opset(written, wanted);
  };
  Model written;
  const auto complaints = complaints_in(opset, written);
  if (complaints.empty()) return written;
  std::string message = fmt::format("the model cannot be written in opset {}:\n  {}", opset,
                                    fmt::join(complaints, "\n  "));
  for (int64_t other = opset + 1; other <= inner_opset(); ++other) {
    Model unused;
    if (!complaints_in(other, unused).empty()) continue;
    message += fmt::format("\nopset {} can express it", other);
    break;
  }
  throw Error(message, ErrorCode::unsupported);
}

Model in_opset(const Model& model, int64_t opset, int64_t own) {
  if (opset == own) return copy(model);
  if (opset < own) return rewritten(model, opset);
  try {
    Model lifted = copy(model);
    lift_to(lifted, opset);  // keeps as much of the file as it was as can be
    return lifted;
  } catch (const Error&) {
    return rewritten(model, opset);
  }
}

std::vector<std::string> signature(const Model& model) {
  std::vector<std::string> names;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    for (const Value* input : graph.inputs()) {
      if (!input->initializer()) names.push_back(to_string(role) + " input " + input->name());
    }
    for (const Value* output : graph.outputs()) {
      names.push_back(to_string(role) + " output " + output->name());
    }
  });
  return names;
}

}  // namespace

Model upgrade(const Model& given, const UpgradeOptions& options) {
  Model model = copy(given);
  require_valid(model, "model");
  const int64_t own = own_opset(model);
  const int64_t opset = options.opset.value_or(own);
  const int64_t oldest = std::min(own, kOldestLoweredOpset);
  if (options.opset && (opset < oldest || opset > inner_opset())) {
    throw Error(
        fmt::format("opset {} is not supported: choose {} to {}", opset, oldest, inner_opset()));
  }
  const int64_t newest_ir = first_ir_version(inner_opset());
  if (options.ir && *options.ir > newest_ir) {
    throw Error(
        fmt::format("IR version {} is not known: the newest is {}", *options.ir, newest_ir));
  }
  Model result = in_opset(model, opset, own);
  remove_left_behind(result, model);
  const bool frees = model.ir_version < kIrOfFreeInitializers &&
                     (options.ir.value_or(0) >= kIrOfFreeInitializers ||
                      ir_need(result).ir >= kIrOfFreeInitializers);
  if (frees) {
    for_each_top_level_graph(result, [](const Graph& graph, GraphRole) { fix_defaults(graph); });
  }
  const Need need = ir_need(result);
  if (options.ir && *options.ir < need.ir) {
    throw Error(
        fmt::format("IR version {} is too small: {} needs {}", *options.ir, need.what, need.ir));
  }
  result.ir_version = options.ir.value_or(need.ir);
  require_valid(result, "result");
  if (signature(result) != signature(model)) {
    throw Bug("upgrading a model has changed the names of its inputs or outputs");
  }
  return result;
}

}  // namespace onward
