#include "check/check.h"

#include <fmt/format.h>

#include "check/operators.h"
#include "format/load.h"
#include "infer/infer.h"
#include "ir/copy.h"
#include "opset/lift.h"

namespace onward {
namespace {

void check_ir_version(const Model& model, Problems& problems) {
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    for (const Value* value : graph.initializers()) {
      const int64_t needed = first_ir_version(value->initializer()->type().dtype);
      if (model.ir_version >= needed) continue;
      problems.add({.severity = Severity::warning,
                    .rule = "ir-version",
                    .where = to_string(role),
                    .tensor = value->name(),
                    .message = fmt::format("{} requires IR version {}, the model has {}",
                                           name(value->initializer()->type().dtype), needed,
                                           model.ir_version)});
    }
  });
}

/// What runs is the newest form of each operator, of which more may be asked than the rules of the
/// older ones know of. A form that can't be lifted is no fault of the model.
void check_newest_forms(const Model& model, Problems& problems) {
  if (problems.errors() > 0) return;
  Model newest = copy(model);
  lift_where_possible(newest);
  Problems found;
  infer_types(newest, found);
  for (const Problem& problem : found.list()) {
    if (problem.severity == Severity::error) problems.add(problem);
  }
}

}  // namespace

void check(Model& model, Problems& problems) {
  check_operators(model, problems);
  infer_types(model, problems);
  check_newest_forms(model, problems);
  check_ir_version(model, problems);
  check_training(model, problems);
}

int64_t first_ir_version(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 4;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
      return 9;
    case DType::u4:
    case DType::i4:
      return 10;
    case DType::f4e2m1:
      return 11;
    case DType::f8e8m0:
      return 12;
    case DType::u2:
    case DType::i2:
      return 13;
    case DType::f6e2m3:
    case DType::f6e3m2:
      return 14;
    default:
      return 1;
  }
}

Problems check_file(const std::filesystem::path& file) {
  Problems problems;
  Model model = load(file, {.problems = &problems});
  check(model, problems);
  return problems;
}

}  // namespace onward
