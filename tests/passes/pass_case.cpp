#include "tests/passes/pass_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/load.h"
#include "ir/clone.h"
#include "ir/verify.h"
#include "ops/builder.h"
#include "ops/infer_step.h"
#include "text/text.h"

namespace onward {

std::vector<PassCase> all_pass_cases() {
  std::vector<PassCase> all;
  for (const auto& part : {any_step_pass_cases(), plan_pass_cases(), lowering_pass_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Model graph_of(const std::string& text) {
  Problems ignored;  // outputs need no types here
  Model model =
      parse_text(fmt::format("<ir_version: 10, opset_import: [\"\" : {}, \"onward\" : 1]> g {}",
                             inner_opset(), text),
                 {.problems = &ignored});
  infer_step_types(model);
  return model;
}

std::vector<std::string> lines_of(const Model& model) {
  const Graph& graph = *model.graph;
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes()) lines.push_back(to_text(*node));
  for (const Value* output : graph.outputs()) lines.push_back("gives " + output->name());
  for (const Value* value : graph.initializers()) {
    if (!is_needed(*value)) continue;
    std::string elements;
    for (int64_t i = 0; i < value->tensor()->size(); ++i) {
      elements += fmt::format(" {}", value->tensor()->number(i));
    }
    lines.push_back(
        fmt::format("{} {} ={}", value->name(), to_string(value->tensor()->type()), elements));
  }
  return lines;
}

std::vector<std::string> operators_of(const Model& model) {
  std::vector<std::string> operators;
  for_each_node(*model.graph,
                [&](const Node& node) { operators.push_back(node.domain + "." + node.op); });
  std::ranges::sort(operators);
  return operators;
}

std::vector<std::string> faults_of(const Model& step) {
  std::vector<std::string> faults = structure_faults(*step.graph);
  if (!faults.empty()) return faults;
  Model copy;
  copy.ir_version = step.ir_version;
  copy.opsets = step.opsets;
  ValueMap map;
  clone_into(*step.graph, *copy.graph, map);
  for (const auto& node : copy.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) output->type = {};
    }
  }
  infer_step_types(copy);
  for (const auto& node : step.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (!output) continue;
      const Type& inferred = map.at(output.get())->type;
      if (!conflict(output->type, inferred)) continue;
      faults.push_back(fmt::format("'{}' of {} is {}, but inferred as {}", output->name(), node->op,
                                   to_string(output->type), to_string(inferred)));
    }
  }
  return faults;
}

}  // namespace onward
