#include "train/not_finite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/clone.h"
#include "ir/dependence.h"
#include "ops/finite_advice.h"
#include "runtime/finite.h"
#include "runtime/program.h"
#include "train/metrics.h"
#include "train/step_parts.h"

namespace onward {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLongest{30};
constexpr double kLarge = 1e8;  // of a parameter, whatever the model

/// What is remembered of a value.
struct Seen {
  bool is_float = false, nan = false, infinite = false;
  double low = 0, high = 0;  // of the numbers that are finite

  bool finite() const { return !nan && !infinite; }
  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
};

Seen seen(const Tensor& tensor) {
  Seen seen{.is_float = is_float(tensor.dtype())};
  if (!seen.is_float) return seen;
  if (const auto range = find_range(tensor.dtype(), tensor.dims(), tensor.bytes().data())) {
    seen.low = range->low;
    seen.high = range->high;
    return seen;
  }
  bool is_first = true;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double number = tensor.number(i);
    seen.nan |= std::isnan(number);
    seen.infinite |= std::isinf(number);
    if (!std::isfinite(number)) continue;
    seen.low = is_first ? number : std::min(seen.low, number);
    seen.high = is_first ? number : std::max(seen.high, number);
    is_first = false;
  }
  return seen;
}

/// The part of a step that ends in its losses and its update.
Model refused_part(const RefusedStep& refused) {
  Model step = join_step(refused.model, refused.info);
  std::vector<Value*> losses;
  for (const std::string& name : find_metrics(step, refused.model, refused.info).losses) {
    losses.push_back(find_value(step, name));
  }
  Model part = part_for(step, losses, Updates::kept);
  replace_gradients(part);
  return part;
}

/// Runs a graph node by node, each with the kernels of a plan, and remembers what came out.
class Walk {
 public:
  Walk(const Model& step, const RefusedStep& refused, const TensorMap& inputs)
      : step_(step), random_(refused.random), none_(Model()) {
    for (const Value* input : step.graph->inputs()) {
      const auto given = inputs.find(input->name());
      if (given != inputs.end()) keep(input, given->second);
    }
    for (const Value* value : step.graph->initializers()) {
      if (values_.contains(value)) continue;
      if (refused.state.has(value->name())) {
        keep(value, refused.state.view(value->name()));
      } else if (value->tensor()) {
        keep(value, *value->tensor());
      }
    }
  }

  /// False where time is over.
  bool run(Clock::time_point until) {
    std::unordered_map<const Value*, const Node*> last_reads;
    for (const auto& node : step_.graph->nodes()) {
      for (const Value* read : all_reads(*node)) last_reads[read] = node.get();
    }
    for (const auto& node : step_.graph->nodes()) {
      if (Clock::now() > until) return false;
      run(*node);
      for (const Value* read : all_reads(*node)) {
        if (last_reads.at(read) == node.get()) values_.erase(read);
      }
    }
    return true;
  }

  const Seen& of(const Value* value) const {
    static const Seen kNothing;
    const auto found = seen_.find(value);
    return found == seen_.end() ? kNothing : found->second;
  }

 private:
  void keep(const Value* value, eval::RuntimeValue result) {
    if (result.is_tensor()) seen_[value] = seen(result.tensor());
    values_.insert_or_assign(value, std::move(result));
  }

  void run(const Node& node) {
    const auto is_tensor = [&](const Value* value) {
      return !value || values_.at(value).is_tensor();
    };
    const bool gives_tensors = std::ranges::all_of(
        node.outputs(), [](const auto& output) { return !output || output->type.is_tensor(); });
    if (node.subgraphs().empty() && gives_tensors &&
        std::ranges::all_of(node.inputs(), is_tensor)) {
      run_planned(node);
    } else {
      run_by_reference(node);
    }
  }

  /// Integers of a few elements, such as shapes, are what a plan is made of.
  static bool is_setting(const Tensor& tensor) {
    return !is_float(tensor.dtype()) && tensor.size() <= 64;
  }

  void run_planned(const Node& node) {
    Model alone;
    alone.ir_version = step_.ir_version;
    alone.opsets = step_.opsets;
    ValueMap map;
    TensorMap inputs;
    for (const Value* input : node.inputs()) {
      if (!input || map.contains(input)) continue;
      const Tensor& tensor = values_.at(input).tensor();
      if (is_setting(tensor)) {
        map[input] = alone.graph->add_initializer(input->name(), tensor);
        map[input]->type = tensor.type();
      } else {
        map[input] = alone.graph->add_input(input->name(), tensor.type());
        inputs.emplace(input->name(), tensor);
      }
    }
    const Node* copy = clone_node(node, *alone.graph, map);
    for (const auto& output : copy->outputs()) {
      if (output) alone.graph->add_output(output.get());
    }
    TensorMap outputs = Program(std::move(alone)).compute(inputs, none_, random_);
    for (const auto& output : node.outputs()) {
      if (output) keep(output.get(), std::move(outputs.at(output->name())));
    }
  }

  void run_by_reference(const Node& node) {
    const eval::Lookup find = [&](const Value& value) -> const eval::RuntimeValue* {
      const auto found = values_.find(&value);
      return found == values_.end() ? nullptr : &found->second;
    };
    std::vector<const eval::RuntimeValue*> inputs;
    for (const Value* input : node.inputs()) inputs.push_back(input ? find(*input) : nullptr);
    auto outputs = eval::run_node(node, inputs, {.random = random_, .captured = find});
    for (size_t i = 0; i < node.outputs().size() && i < outputs.size(); ++i) {
      if (node.output(i)) keep(node.output(i), std::move(outputs[i]));
    }
  }

  const Model& step_;
  eval::RandomKey random_;
  State none_;
  std::unordered_map<const Value*, eval::RuntimeValue> values_;
  std::unordered_map<const Value*, Seen> seen_;
};

/// Where a value that is not finite comes from, against the way of the step: the node that made
/// infinity or NaN of finite numbers. An infinity of the model's own, such as a mask's, is no
/// cause: then it is the node that made NaN of it.
const Node* origin_of(const Value* value, const Walk& walk) {
  const Node* made_nan = nullptr;
  while (value->producer() && !value->producer()->inputs().empty()) {
    const Node* node = value->producer();
    const Value *nan = nullptr, *infinite = nullptr;
    for (const Value* read : all_reads(*node)) {
      if (!nan && walk.of(read).nan) nan = read;
      if (!infinite && walk.of(read).infinite) infinite = read;
    }
    if (!nan && !infinite) return node;
    if (!nan && walk.of(value).nan) made_nan = node;
    value = nan ? nan : infinite;
  }
  return made_nan;
}

const Value* refused_value(const Model& step, const std::string& name) {
  for (const Binding& binding : step.training[0].update_bindings) {
    if (binding.target->name() == name) return binding.source;
  }
  return find_value(step, name);
}

/// "'p' from 0 to 0.98".
std::string range_text(const Value& value, const Seen& seen) {
  const std::string infinite = seen.finite() ? "" : " and infinity";
  return seen.low == seen.high ? fmt::format("'{}' {:.4g}{}", value.name(), seen.low, infinite)
                               : fmt::format("'{}' from {:.4g} to {:.4g}{}", value.name(), seen.low,
                                             seen.high, infinite);
}

/// A parameter that is far larger than any is meant to be.
std::optional<std::string> grown_parameter(const RefusedStep& refused, const Model& step) {
  std::optional<std::string> found;
  double largest = kLarge;
  for (const Binding& binding : step.training[0].update_bindings) {
    const std::string& name = binding.target->name();
    const auto& own = refused.model.graph->initializers();
    if (!refused.state.has(name) || std::ranges::find(own, name, &Value::name) == own.end())
      continue;
    const Seen now = seen(refused.state.view(name));
    if (!now.finite() || now.magnitude() < largest) continue;
    largest = now.magnitude();
    found = fmt::format("the parameter '{}' has grown to {:.1e}: lower the learning rate", name,
                        largest);
  }
  return found;
}

std::string explanation(const Node& node, const Walk& walk, const RefusedStep& refused,
                        const Model& step) {
  constexpr size_t kMostInputs = 3;
  std::vector<std::string> inputs;
  bool reads_large = false;
  for (const Value* read : all_reads(node)) {
    const Seen& seen = walk.of(read);
    if (!seen.is_float) continue;
    reads_large |= seen.magnitude() >= kLarge;
    std::string text = range_text(*read, seen);
    const bool is_new = std::ranges::find(inputs, text) == inputs.end();
    if (is_new && inputs.size() < kMostInputs) inputs.push_back(std::move(text));
  }
  const bool nan = std::ranges::any_of(
      node.outputs(), [&](const auto& output) { return output && walk.of(output.get()).nan; });
  std::optional<std::string> advice;
  if (reads_large) advice = grown_parameter(refused, step);
  if (!advice) advice = finite_advice(node);
  return fmt::format("node '{}' ({}) made {} first, of {}; {}", node.label(), node.op,
                     nan ? "NaN" : "infinity", fmt::join(inputs, ", "), *advice);
}

std::optional<std::string> find_node(const RefusedStep& refused, const std::string& name) {
  const Clock::time_point until = Clock::now() + kLongest;
  const Model step = refused_part(refused);
  const Value* value = refused_value(step, name);
  if (!value) return std::nullopt;
  RefusedStep one = refused;
  for (const TensorMap& inputs : refused.micro_batches) {
    Walk walk(step, one, inputs);
    if (!walk.run(until)) return std::nullopt;
    if (!walk.of(value).finite()) {
      const Node* node = origin_of(value, walk);
      if (!node) return std::nullopt;
      return explanation(*node, walk, refused, step);
    }
    ++one.random.micro_batch;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_not_finite_node(const RefusedStep& step, const std::string& name) {
  try {
    return find_node(step, name);
  } catch (const std::exception&) {  // what it is to explain is an error already
    return std::nullopt;
  }
}

}  // namespace onward
