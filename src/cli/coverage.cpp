#include "cli/coverage.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <tuple>

#include "emit/coverage.h"
#include "eval/kernel.h"
#include "onward/error.h"
#include "ops/legalize.h"
#include "runtime/kernel.h"
#include "runtime/tile.h"

namespace onward::cli {
namespace {

using Kind = Coverage::Kind;

bool is_gradient(const std::string& domain, const std::string& op) {
  return domain == kTrainingDomain && op == "Gradient";
}

Coverage gap(const std::string& domain, const std::string& op) {
  const OpDef* definition = find_op_def(domain, op);
  if (!definition || definition->missing.empty()) {
    throw Bug(fmt::format("{} is not covered, and no reason is given", op));
  }
  return {Kind::gap, std::string(definition->missing)};
}

Coverage kernel(const std::string& domain, const std::string& op) {
  if (is_gradient(domain, op)) return {Kind::yes, "the nodes of the gradients take its place"};
  if (eval::find_kernel(domain, op)) return {Kind::yes, "reference kernel"};
  if (has_expansion(domain, op)) return {Kind::yes, "by plainer operators"};
  return gap(domain, op);
}

bool has_tile_function(const std::string& op) {
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i64, DType::boolean};
  return std::ranges::any_of(kTypes, [&](DType from) {
    return std::ranges::any_of(
        kTypes, [&](DType to) { return find_tile_function(op, from, to) != nullptr; });
  });
}

Coverage fast_kernel(const std::string& domain, const std::string& op) {
  if (is_gradient(domain, op)) return {Kind::yes, "those of its nodes"};
  if (domain == kTrainingDomain) return {Kind::yes, "tiles"};  // its plainer operators, as one loop
  Graph scratch;
  Node* node = scratch.add_node(op, {});
  node->domain = domain;
  std::vector<std::string_view> names;
  for (const KernelChoice* choice : kernel_choices(*node)) names.push_back(choice->name);
  if (domain.empty() && has_tile_function(op)) names.push_back("tiles");
  if (!names.empty()) return {Kind::yes, fmt::format("{}", fmt::join(names, ", "))};
  const Coverage reference = kernel(domain, op);
  if (reference.kind == Kind::gap) return reference;
  return {Kind::fallback, reference.text};
}

Coverage gradient(const std::string& domain, const std::string& op) {
  if (is_gradient(domain, op)) return {Kind::yes, "of any order"};
  if (domain == kTrainingDomain) return {Kind::unneeded, "an update is not differentiated"};
  const OpDef* definition = find_op_def(domain, op);
  if (definition && definition->vjp) return {Kind::yes, "by its rule"};
  if (definition && !definition->no_gradient.empty()) {
    return {Kind::unneeded, std::string(definition->no_gradient)};
  }
  if (has_expansion(domain, op)) return {Kind::yes, "by plainer operators"};
  return gap(domain, op);
}

/// What the standard says of the operator's inputs, which is no word on how Onward does it.
Coverage tagged(const std::string& domain, const std::string& op) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, domain);
  if (!schema) throw Bug(fmt::format("{} has no schema", op));
  std::vector<std::string_view> names;
  for (const auto& input : schema->inputs()) {
    if (input.GetDifferentiationCategory() == onnx::OpSchema::Differentiable) {
      names.push_back(input.GetName());
    }
  }
  if (names.empty()) return {Kind::unneeded, "the standard tags no input as differentiable"};
  return {Kind::yes, fmt::format("the standard tags {}", fmt::join(names, ", "))};
}

/// What `onward lower` makes of a step that has the operator.
Coverage lowered(const std::string& domain, const std::string& op) {
  const Coverage differentiated = gradient(domain, op);
  if (differentiated.kind == Kind::gap) return differentiated;
  if (domain == kTrainingDomain) return {Kind::yes, "in plainer operators"};
  return {Kind::yes, "as it is, its gradient in operators of the standard"};
}

/// "; not: its result Indices (frameworks number ...)": what is refused of an operator.
std::string parts_missing(const std::string& op, const emit::Dialect& dialect) {
  std::string text;
  for (const auto gaps : {dialect.gaps, dialect.shared_gaps}) {
    for (const emit::EmitGap& each : gaps) {
      if (each.op == op) text += fmt::format("; not {}: {}", each.part, each.reason);
    }
  }
  return text;
}

Coverage exported(const std::string& domain, const std::string& op, const emit::Dialect& dialect) {
  if (domain == kTrainingDomain && !dialect.optimizer) {
    return {Kind::begun, "training jobs are not exported yet"};
  }
  if (is_gradient(domain, op)) return {Kind::yes, "the framework's own gradients"};
  if (domain == kTrainingDomain) return {Kind::yes, "as an optimizer with its formula"};
  if (domain.empty() && emit::can_emit(op, dialect)) {
    return {Kind::yes, "in the framework's words" + parts_missing(op, dialect)};
  }
  const bool has_row = domain.empty() && emit::find_call(dialect, op);
  if (!has_row && has_expansion(domain, op)) return {Kind::yes, "in plainer operators"};
  if (has_row) return {Kind::gap, std::string(emit::why_not(op, dialect))};
  const OpDef* definition = find_op_def(domain, op);
  const bool is_known = definition && definition->missing.empty();
  if (domain.empty() && is_known && !dialect.unwritten.empty()) {
    return {Kind::begun, std::string(dialect.unwritten)};
  }
  if (!domain.empty() && is_known) {
    return {Kind::gap, fmt::format("{} has no such operator", dialect.framework)};
  }
  return gap(domain, op);
}

std::vector<CoverageColumn> all_columns() {
  std::vector<CoverageColumn> columns = {
      {"kernel", "a reference kernel, or plainer operators, compute it", kernel},
      {"fast", "kernels of the runtime, the fastest first", fast_kernel},
      {"gradient", "gradients of any order", gradient},
      {"tagged", "inputs that the standard tags as differentiable", tagged},
      {"lowered", "`onward lower` writes steps that have it", lowered},
  };
  for (const emit::Dialect* dialect : emit::dialects()) {
    columns.push_back(
        {dialect->name,
         fmt::format("`onward export --to {}` writes models that have it", dialect->name),
         [dialect](const std::string& domain, const std::string& op) {
           return exported(domain, op, *dialect);
         }});
  }
  return columns;
}

/// A reason for what is there would mislead.
void refuse_stale_reason(const OperatorCoverage& row) {
  const OpDef* definition = find_op_def(row.domain, row.op);
  if (definition && !definition->missing.empty() && !row.has_gap()) {
    throw Bug(fmt::format("{} is said to be missing, and is not", row.op));
  }
}

}  // namespace

std::string_view name(Coverage::Kind kind) {
  constexpr std::string_view kNames[] = {"yes", "unneeded", "fallback", "gap", "not yet"};
  return kNames[static_cast<size_t>(kind)];
}

std::span<const CoverageColumn> coverage_columns() {
  static const std::vector<CoverageColumn> columns = all_columns();
  return columns;
}

bool OperatorCoverage::has_gap() const {
  return std::ranges::any_of(cells, [](const Coverage& cell) { return cell.kind == Kind::gap; });
}

std::vector<OperatorCoverage> coverage() {
  std::vector<OperatorCoverage> all;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    OperatorCoverage row{schema.domain(), schema.Name(), schema.since_version(), {}};
    for (const CoverageColumn& column : coverage_columns()) {
      row.cells.push_back(column.find(row.domain, row.op));
    }
    refuse_stale_reason(row);
    all.push_back(std::move(row));
  }
  std::ranges::sort(all, {},
                    [](const OperatorCoverage& each) { return std::tie(each.domain, each.op); });
  return all;
}

}  // namespace onward::cli
