#include "opset/lift.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "infer/infer.h"
#include "ir/sparse.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Schema = onnx::OpSchema;

using StepKey = std::tuple<std::string_view, std::string_view, int>;  // domain, operator, from
using StepTable = std::map<StepKey, LiftStep>;

StepTable make_table() {
  StepTable table;
  const auto add = [&table](const LiftStep& step) {
    if (!table.emplace(StepKey{step.domain, step.op, step.from}, step).second) {
      throw Bug(fmt::format("two lift rules for {} of opset {}", step.op, step.from));
    }
  };
  for (const auto family :
       {elementwise_lift_steps(), conversion_lift_steps(), shape_lift_steps(),
        reduction_lift_steps(), layer_lift_steps(), recurrent_lift_steps(), ml_lift_steps()}) {
    for (const LiftStep& step : family) add(step);
  }
  for (const SameForms& forms : same_forms()) {
    for (size_t i = 0; i + 1 < forms.versions.size(); ++i) {
      add({.op = forms.op,
           .from = forms.versions[i],
           .to = forms.versions[i + 1],
           .rule = same,
           .domain = forms.domain});
    }
  }
  return table;
}

const LiftStep* find_step(std::string_view domain, std::string_view op, int from) {
  static const StepTable table = make_table();
  const auto found = table.find({domain, op, from});
  return found == table.end() ? nullptr : &found->second;
}

std::string gap_reason(std::string_view domain, std::string_view op, int from) {
  for (const LiftGap& gap : lift_gaps()) {
    if (gap.domain == domain && gap.op == op && gap.from == from) {
      return std::string(gap.reason);
    }
  }
  return "is not supported yet";
}

bool is_gap(std::string_view domain, std::string_view op, int from) {
  return std::ranges::any_of(lift_gaps(), [&](const LiftGap& gap) {
    return gap.domain == domain && gap.op == op && gap.from == from;
  });
}

const Schema* schema_of(std::string_view domain, std::string_view op, int64_t opset) {
  return onnx::OpSchemaRegistry::Schema(std::string(op), static_cast<int>(opset),
                                        std::string(domain));
}

/// Why no chain of rules leads from that version of an operator to the one of `opset`, or nothing.
std::optional<std::string> missing_rule(std::string_view domain, std::string_view op, int since,
                                        int64_t opset) {
  for (;;) {
    const Schema* last = schema_of(domain, op, opset);
    const bool at_end = last->since_version() == since;
    // What the standard advises against is read all the same, but for what is listed as a gap.
    if (at_end && !(last->deprecated() && is_gap(domain, op, since))) return std::nullopt;
    const LiftStep* step = at_end ? nullptr : find_step(domain, op, since);
    if (!step) return gap_reason(domain, op, since);
    if (!step->becomes.empty()) op = step->becomes;
    since = step->to;
  }
}

/// The kinds of attribute value in the order of Attribute::Payload.
constexpr onnx::AttributeProto::AttributeType kKinds[] = {
    onnx::AttributeProto::UNDEFINED,
    onnx::AttributeProto::FLOAT,
    onnx::AttributeProto::INT,
    onnx::AttributeProto::STRING,
    onnx::AttributeProto::TENSOR,
    onnx::AttributeProto::SPARSE_TENSOR,
    onnx::AttributeProto::TYPE_PROTO,
    onnx::AttributeProto::GRAPH,
    onnx::AttributeProto::FLOATS,
    onnx::AttributeProto::INTS,
    onnx::AttributeProto::STRINGS,
    onnx::AttributeProto::TENSORS,
    onnx::AttributeProto::SPARSE_TENSORS,
    onnx::AttributeProto::TYPE_PROTOS,
    onnx::AttributeProto::GRAPHS,
    onnx::AttributeProto::UNDEFINED,
};
static_assert(std::size(kKinds) == std::variant_size_v<Attribute::Payload>);

/// Why a node is no valid use of its version of the operator, or nothing: rules rely on it. A stray
/// attribute counts, because a later version may give its name a meaning.
std::optional<std::string> misfit(const Node& node, const Schema& schema) {
  const auto inputs = static_cast<int>(node.inputs().size());
  const auto outputs = static_cast<int>(node.outputs().size());
  if (inputs < schema.min_input() || inputs > schema.max_input()) {
    return fmt::format("it has {} inputs", inputs);
  }
  if (outputs < schema.min_output() || outputs > schema.max_output()) {
    return fmt::format("it has {} outputs", outputs);
  }
  for (size_t i = 0; i < node.inputs().size() && i < schema.inputs().size(); ++i) {
    if (!node.input(i) && schema.inputs()[i].GetOption() == Schema::Single) {
      return fmt::format("its input {} is left out", i);
    }
  }
  for (const Attribute& attribute : node.attributes()) {
    const auto known = schema.attributes().find(attribute.name);
    if (known == schema.attributes().end()) {
      return fmt::format("it has an attribute '{}' that this version does not have",
                         printable(attribute.name));
    }
    if (known->second.type != kKinds[attribute.value.index()]) {
      return fmt::format("its attribute '{}' has the wrong type", attribute.name);
    }
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.required && !node.attribute(name)) {
      return fmt::format("it has no attribute '{}'", name);
    }
  }
  return std::nullopt;
}

class Lifter {
 public:
  enum class OtherDomains : uint8_t { newest, kept };
  /// Up to `opset` of ai.onnx.
  Lifter(Model& model, int64_t opset, OtherDomains others)
      : model_(model), opset_(opset), others_(others) {}

  void lift(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const Graph* subgraph : node->subgraphs()) lift(*subgraph);
      if (auto reason = lift(*node)) unliftable_.push_back({node.get(), std::move(*reason)});
    }
  }

  std::vector<Unliftable> take_unliftable() { return std::move(unliftable_); }

 private:
  /// Brings one node to the form of the wanted opset, or says why that can't be done.
  std::optional<std::string> lift(Node& node) {
    if (!node.domain.empty() && others_ == OtherDomains::kept) return std::nullopt;
    const auto wanted = node.domain.empty() ? opset_ : newest_opset(node.domain);
    if (!wanted || node.opset == *wanted) return std::nullopt;
    const std::string form = fmt::format("{} of opset {}", printable(node.op), node.opset);
    if (node.opset > *wanted) return fmt::format("{} is newer than opset {}", form, *wanted);
    const Schema* schema = schema_of(node.domain, node.op, node.opset);
    if (!schema) return fmt::format("{} does not exist", form);
    if (auto reason = missing_rule(node.domain, node.op, schema->since_version(), *wanted)) {
      return fmt::format("{} {}", form, *reason);
    }
    for (; schema->since_version() != schema_of(node.domain, node.op, *wanted)->since_version();
         schema = schema_of(node.domain, node.op, node.opset)) {
      auto reason = misfit(node, *schema);
      if (!reason) {
        reason = take_step(node, *find_step(node.domain, node.op, schema->since_version()));
      }
      if (reason) return fmt::format("{} cannot be upgraded: {}", form, *reason);
    }
    node.opset = *wanted;
    return std::nullopt;
  }

  std::optional<std::string> take_step(Node& node, const LiftStep& step) {
    if (step.reads_types && !types_are_complete_) {
      Problems ignored;  // what is wrong with types is for `check` to say
      infer_types(model_, ignored);
      types_are_complete_ = true;
    }
    Rewrite rewrite(node, names(), *opset_);
    try {
      step.rule(rewrite);
    } catch (const Error& refusal) {
      return refusal.what();
    }
    if (!step.becomes.empty()) node.set_op(step.becomes);
    node.opset = std::max<int64_t>(node.opset, step.to);
    return std::nullopt;
  }

  Names& names() {
    if (!names_) names_.emplace(model_);
    return *names_;
  }

  Model& model_;
  std::optional<int64_t> opset_;
  OtherDomains others_;
  std::optional<Names> names_;
  bool types_are_complete_ = false;
  std::vector<Unliftable> unliftable_;
};

void import_newest_opsets(Model& model) {
  std::set<std::string> domains;
  for_each_top_level_graph(model, [&domains](const Graph& graph, GraphRole) {
    for_each_node(graph, [&domains](const Node& node) { domains.insert(node.domain); });
  });
  for (OpsetImport& import : model.opsets) {
    if (const auto newest = newest_opset(import.domain)) import.version = *newest;
    domains.erase(import.domain);
  }
  for (const std::string& domain : domains) {
    if (const auto newest = newest_opset(domain)) model.opsets.push_back({domain, *newest});
  }
}

bool already(const std::vector<Unliftable>& list, const Node& node) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Unliftable& each) { return each.node == &node; });
}

void refuse(const std::vector<Unliftable>& unliftable, const std::string& wanted) {
  if (unliftable.empty()) return;
  std::map<std::string, std::vector<std::string>> nodes_by_reason;
  for (const Unliftable& each : unliftable) {
    nodes_by_reason[each.reason].push_back(fmt::format("'{}'", printable(each.node->label())));
  }
  std::string message = fmt::format("some operators cannot be upgraded to {}:", wanted);
  for (const auto& [reason, nodes] : nodes_by_reason) {
    message += fmt::format("\n  {} (node {})", reason, fmt::join(nodes, ", "));
  }
  throw Error(message, ErrorCode::unsupported);
}

}  // namespace

std::vector<Unliftable> lift_where_possible(Model& model) {
  Lifter lifter(model, newest_opset("").value(), Lifter::OtherDomains::newest);
  for_each_top_level_graph(model, [&lifter](const Graph& graph, GraphRole) { lifter.lift(graph); });
  auto unliftable = lifter.take_unliftable();
  if (unliftable.empty()) import_newest_opsets(model);
  return unliftable;
}

void lift(Model& model) {
  make_dense(model);
  refuse(lift_where_possible(model), "the latest opset");
  Names names(model);
  for_each_top_level_graph(model, [&](Graph& graph, GraphRole) {
    compute_outputs_inside(graph, names, newest_opset("").value());
  });
}

void lift_to(Model& model, int64_t opset) {
  Lifter lifter(model, opset, Lifter::OtherDomains::kept);
  for_each_top_level_graph(model, [&lifter](const Graph& graph, GraphRole) { lifter.lift(graph); });
  auto unliftable = lifter.take_unliftable();
  // Rules write what they add as the newest opset has it, which an older one may not know.
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for_each_node(graph, [&](const Node& node) {
      if (!node.domain.empty()) return;
      const Schema* schema = schema_of("", node.op, opset);
      const auto reason = schema ? misfit(node, *schema) : std::optional<std::string>("is newer");
      if (!reason || already(unliftable, node)) return;
      unliftable.push_back({&node, fmt::format("{}: {}", printable(node.op), *reason)});
    });
  });
  refuse(unliftable, fmt::format("opset {}", opset));
  for (OpsetImport& import : model.opsets) {
    if (import.domain.empty()) import.version = opset;
  }
}

std::optional<int64_t> newest_opset(std::string_view domain) {
  const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find(std::string(domain));
  if (found == versions.end()) return std::nullopt;
  return found->second.second;
}

std::vector<OperatorForm> unliftable_forms() {
  std::vector<OperatorForm> forms;
  for (const Schema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    auto reason = missing_rule(schema.domain(), schema.Name(), schema.since_version(),
                               newest_opset(schema.domain()).value());
    if (!reason) continue;
    forms.push_back({schema.domain(), schema.Name(), schema.since_version(), std::move(*reason)});
  }
  std::sort(forms.begin(), forms.end(), [](const OperatorForm& a, const OperatorForm& b) {
    return std::tie(a.domain, a.op, a.since_version) < std::tie(b.domain, b.op, b.since_version);
  });
  return forms;
}

}  // namespace onward
