#include "lower/opset.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>

#include "check/operators.h"
#include "infer/constraints.h"
#include "infer/infer.h"
#include "lower/older_forms.h"
#include "onward/error.h"
#include "ops/legalize.h"
#include "opset/lift.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Schema = onnx::OpSchema;

const Schema* schema_of(const std::string& op, int64_t opset) {
  return onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset));
}

bool is_same_form(std::string_view op, int older, int newer) {
  return std::ranges::any_of(same_forms(), [&](const SameForms& forms) {
    const auto at = std::ranges::find(forms.versions, older);
    return forms.op == op && forms.domain.empty() && at != forms.versions.end() &&
           at + 1 != forms.versions.end() && *(at + 1) == newer;
  });
}

const OlderForm* find_older_form(std::string_view op, int from) {
  const auto found = std::ranges::find_if(
      older_forms(), [&](const OlderForm& form) { return form.op == op && form.from == from; });
  return found == older_forms().end() ? nullptr : &*found;
}

/// True where the attribute says what its absence says too.
bool is_default(const Attribute& attribute, const Schema& schema) {
  const auto known = schema.attributes().find(attribute.name);
  if (known == schema.attributes().end()) return false;
  const onnx::AttributeProto& fallback = known->second.default_value;
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    return fallback.has_i() && fallback.i() == *number;
  }
  if (const auto* number = std::get_if<float>(&attribute.value)) {
    return fallback.has_f() && fallback.f() == *number;
  }
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    return fallback.has_s() && fallback.s() == *text;
  }
  return false;
}

/// Why plainer operators are to stand for a node: an older version that means something else, an
/// attribute or an element type that it does not know, and that no rule for older forms knows of
/// either.
std::string new_part(const Node& node, const Schema& newest, const Schema& older) {
  for (const Schema* each = &newest; each->since_version() > older.since_version();) {
    if (find_older_form(node.op, each->since_version())) return "";
    const Schema* before = schema_of(node.op, each->since_version() - 1);
    if (!is_same_form(node.op, before->since_version(), each->since_version())) {
      return fmt::format("its version of opset {} is not supported", before->since_version());
    }
    each = before;
  }
  for (const Attribute& attribute : node.attributes()) {
    if (older.attributes().contains(attribute.name) || is_default(attribute, newest)) continue;
    return fmt::format("its attribute '{}' is newer", attribute.name);
  }
  if (static_cast<int>(node.inputs().size()) > older.max_input()) return "";
  const auto refusal = TypeConstraints(node, older).check_inputs();
  return refusal ? refusal->message : "";
}

/// Takes off what an older version does not know and does not miss; throws Error for the rest.
void drop_new_attributes(Node& node, const Schema& newer, const Schema& older) {
  std::vector<std::string> dropped;
  for (const Attribute& attribute : node.attributes()) {
    if (older.attributes().contains(attribute.name)) continue;
    if (!is_default(attribute, newer)) {
      throw Error(fmt::format("its attribute '{}' is new in opset {}", attribute.name,
                              newer.since_version()));
    }
    dropped.push_back(attribute.name);
  }
  for (const std::string& name : dropped) node.remove_attribute(name);
}

void refuse_new_inputs(const Node& node, const Schema& newer, const Schema& older) {
  const auto inputs = static_cast<int>(node.inputs().size());
  const auto outputs = static_cast<int>(node.outputs().size());
  if (inputs > older.max_input()) {
    throw Error(fmt::format("its input {} is new in opset {}", inputs - 1, newer.since_version()));
  }
  if (outputs > older.max_output()) {
    throw Error(
        fmt::format("its output {} is new in opset {}", outputs - 1, newer.since_version()));
  }
}

void refuse_new_values(const Node& node, int64_t opset) {
  for (const NewValue& each : new_values()) {
    if (each.op != node.op || each.since <= opset) continue;
    if (node.string_or(each.attribute, "") == each.value) {
      throw Error(
          fmt::format("{} = '{}' is new in opset {}", each.attribute, each.value, each.since));
    }
  }
}

void write_in_opset(Node& node, int64_t opset, Names& names) {
  const Schema* newer = schema_of(node.op, newest_opset("").value());
  refuse_new_values(node, opset);
  while (newer->since_version() > opset) {
    const Schema* older = schema_of(node.op, newer->since_version() - 1);
    const OlderForm* form = find_older_form(node.op, newer->since_version());
    if (!form && !is_same_form(node.op, older->since_version(), newer->since_version())) {
      throw Error(fmt::format("its version of opset {} is not supported", older->since_version()));
    }
    Rewrite rewrite(node, names, opset);
    if (form) form->rule(rewrite);
    if (form && node.op != form->op) return write_in_opset(node, opset, names);
    drop_new_attributes(node, *newer, *older);
    refuse_new_inputs(node, *newer, *older);
    newer = older;
  }
  node.opset = opset;
}

void write_in_opset(const Graph& graph, int64_t opset, Names& names,
                    std::vector<std::string>& complaints) {
  for (const auto& node : graph.nodes()) {
    for (Graph* subgraph : node->subgraphs()) {
      write_in_opset(*subgraph, opset, names, complaints);
    }
    if (!node->domain.empty()) continue;
    // Other runtimes infer shapes by the standard's rule, which takes another default than it says.
    if (node->op == "STFT" && !node->attribute("onesided")) {
      set_attribute(*node, "onesided", int64_t{1});
    }
    try {
      write_in_opset(*node, opset, names);
    } catch (const Error& error) {
      complaints.push_back(
          fmt::format("node '{}' ({}): {}", node->label(), node->op, error.what()));
    }
  }
}

void set_imports(Model& model, int64_t opset) {
  std::vector<OpsetImport> imports = {{"", opset}};
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for_each_node(graph, [&](const Node& node) {
      const auto known = std::ranges::find(imports, node.domain, &OpsetImport::domain);
      if (known == imports.end()) imports.push_back({node.domain, node.opset});
    });
  });
  model.opsets = std::move(imports);
}

struct IrVersion {
  int64_t first_opset;
  int64_t ir_version;
};
// From the standard's list of releases.
constexpr IrVersion kIrVersions[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
                                     {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4},   {1, 3}};

}  // namespace

std::string refused_by_opset(const Node& node, int64_t opset) {
  if (node.domain == kInternalDomain) return "it is not an ONNX operator";  // of an expansion
  if (!node.domain.empty()) return "";
  const Schema* schema = schema_of(node.op, newest_opset("").value());
  if (const Schema* older = schema_of(node.op, opset)) {
    return has_expansion(node) ? new_part(node, *schema, *older) : "";
  }
  if (!schema) return "it is not an ONNX operator";
  int first = schema->since_version();
  while (const Schema* before = schema_of(node.op, first - 1)) first = before->since_version();
  return fmt::format("it was added in opset {}", first);
}

int64_t first_ir_version(int64_t opset) {
  for (const auto& [first_opset, ir_version] : kIrVersions) {
    if (opset >= first_opset) return ir_version;
  }
  throw Error(fmt::format("opset {} is too old", opset));
}

std::vector<std::string> write_in_opset(Model& model, int64_t opset) {
  const auto refuses = [&](const Node& node) { return refused_by_opset(node, opset); };
  std::vector<std::string> complaints;
  for (const RefusedNodes& refused : try_legalize(model, refuses)) {
    complaints.push_back(to_string(refused));
  }
  if (!complaints.empty()) return complaints;
  Names names(model);
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    write_in_opset(graph, opset, names, complaints);
  });
  model.ir_version = first_ir_version(opset);
  set_imports(model, opset);
  if (!complaints.empty()) return complaints;
  // Older versions allow fewer element types, which their schemas say.
  Problems problems;
  check_operators(model, problems);
  infer_types(model, problems);
  for (const Problem& problem : problems.list()) {
    if (problem.severity == Severity::error) complaints.push_back(to_string(problem));
  }
  return complaints;
}

}  // namespace onward
