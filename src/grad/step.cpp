#include "grad/step.h"

#include <unordered_set>

#include "infer/infer.h"
#include "ir/clone.h"
#include "ir/training_infos.h"
#include "opset/lift.h"

namespace onward {
namespace {

/// Adds an output once: a value may be an output of both graphs and the source of a binding.
class OutputList {
 public:
  explicit OutputList(Graph& graph) : graph_(graph) {}

  void add(Value* value) {
    if (seen_.insert(value).second) graph_.add_output(value);
  }

 private:
  Graph& graph_;
  std::unordered_set<Value*> seen_;
};

}  // namespace

Model join_step(const Model& model, size_t info) {
  require_info(model, info);
  const TrainingInfo& training = model.training[info];
  Model step;
  step.ir_version = model.ir_version;
  step.opsets = model.opsets;
  step.graph->name = training.algorithm ? training.algorithm->name : model.graph->name;

  ValueMap map;
  clone_into(*model.graph, *step.graph, map);
  if (training.algorithm) clone_into(*training.algorithm, *step.graph, map);

  OutputList outputs(*step.graph);
  if (training.algorithm) {
    for (Value* output : training.algorithm->outputs()) outputs.add(mapped(map, output));
  }
  for (Value* output : model.graph->outputs()) outputs.add(mapped(map, output));
  step.training.emplace_back();
  for (const Binding& binding : training.update_bindings) {
    step.training[0].update_bindings.push_back(
        {mapped(map, binding.target), mapped(map, binding.source)});
  }
  lift(step);
  Problems problems;
  infer_types(step, problems);  // rules ask for element types
  problems.throw_if_errors();
  return step;
}

}  // namespace onward
