#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/verify.h"
#include "onward/error.h"

namespace onward {
namespace {

std::vector<Type> output_types(const Graph& graph) {
  std::vector<Type> types;
  for (const Value* output : graph.outputs()) types.push_back(output->type);
  return types;
}

/// What a pass may not do, whatever it does.
std::vector<std::string> faults_after(const Graph& graph, const std::vector<Type>& outputs) {
  std::vector<std::string> faults = structure_faults(graph);
  if (graph.outputs().size() != outputs.size()) {
    faults.push_back(
        fmt::format("it gives {} outputs, not {}", graph.outputs().size(), outputs.size()));
    return faults;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& output = *graph.outputs()[i];
    if (!conflict(outputs[i], output.type)) continue;
    faults.push_back(fmt::format("the output '{}' is {}, not {}", output.name(),
                                 to_string(output.type), to_string(outputs[i])));
  }
  return faults;
}

}  // namespace

const Tensor* PassContext::constant(const Value* value) const {
  if (!value || value->producer() || value->is_input() || is_state(value->name())) return nullptr;
  return value->tensor();
}

std::optional<std::vector<int64_t>> static_dims(const Value& value) {
  if (!value.type.is_tensor() || !value.type.shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dim& dim : *value.type.shape) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return dims;
}

std::optional<double> uniform_number(const Tensor* constant) {
  constexpr int64_t kMaxLookedAt = 4096;
  if (!constant || constant->size() == 0 || constant->size() > kMaxLookedAt) return std::nullopt;
  if (constant->dtype() == DType::string || is_complex(constant->dtype())) return std::nullopt;
  const double first = constant->number(0);
  for (int64_t i = 1; i < constant->size(); ++i) {
    if (constant->number(i) != first) return std::nullopt;
  }
  return first;
}

void run_passes(std::span<const Pass> passes, PassContext& c) {
  const std::vector<Type> outputs = output_types(c.graph);
  for (const Pass& pass : passes) {
    pass.run(c);
    const std::vector<std::string> faults = faults_after(c.graph, outputs);
    if (faults.empty()) continue;
    throw Bug(fmt::format("the pass '{}' broke the graph: {}", pass.name, fmt::join(faults, "; ")));
  }
}

}  // namespace onward
