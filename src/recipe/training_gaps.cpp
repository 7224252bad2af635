#include "recipe/training_gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"

namespace onward {
namespace {

/// What the update itself needs: outputs of the inference graph beside it may need more.
std::vector<Value*> needed_by_update(const Model& step, const Graph& algorithm) {
  std::vector<Value*> needed;
  for (Value* output : step.graph->outputs()) {
    if (std::ranges::find(algorithm.outputs(), output->name(), &Value::name) !=
        algorithm.outputs().end()) {
      needed.push_back(output);
    }
  }
  for (const Binding& binding : step.training[0].update_bindings) needed.push_back(binding.source);
  return needed;
}

}  // namespace

std::vector<std::string> training_gaps(const Model& model, size_t info) {
  std::vector<std::string> gaps;
  const Graph* algorithm = model.training.at(info).algorithm.get();
  if (!algorithm) return gaps;
  try {
    Model step = join_step(model, info);
    const auto forward = eval::unknown_operators(*step.graph, needed_by_update(step, *algorithm));
    std::vector<std::string> unknown;
    for (const std::string& each : forward) {
      if (!each.starts_with(kTrainingDomain)) unknown.push_back(each);
    }
    if (!unknown.empty()) {
      gaps.push_back(fmt::format("no kernel for {} yet", fmt::join(unknown, ", ")));
    }
    replace_gradients(step);
  } catch (const Error& error) {
    gaps.emplace_back(error.what());
  }
  return gaps;
}

}  // namespace onward
