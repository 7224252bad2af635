#include "recipe/batch_norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {
namespace {

/// What an attribute's author wrote: the shortest decimal number that rounds to it, 0.9 for the
/// float32 0.89999998.
double as_written(float number) { return std::stod(fmt::format("{}", number)); }

bool is_all(const Value* value, double number) {
  const Tensor* tensor = value ? value->tensor() : nullptr;
  if (!tensor || tensor->size() == 0) return false;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (tensor->number(i) != number) return false;
  }
  return true;
}

}  // namespace

bool has_first_statistics(const Node& node) {
  return is_all(node.input(3), 0) && is_all(node.input(4), 1);
}

void RunningStatistics::update_from(const Node& node, Node& twin) {
  const double momentum =
      recipe_.batch_momentum.value_or(as_written(node.float_or("momentum", 0.9F)));
  Value* running[2] = {node.input(3), node.input(4)};
  for (const Value* each : running) {
    if (each->tensor()) continue;
    throw Error(
        fmt::format("'{}', a running statistic of BatchNormalization '{}', is not an initializer, "
                    "so no step can update it",
                    each->name(), node.label()));
  }
  set_attribute(twin, "training_mode", int64_t{1});
  set_attribute(twin, "momentum", 0.0F);
  const auto batch = [&](Value* of) {
    return twin.add_output(algorithm_.names().fresh(of->name() + ".batch"), of->type);
  };
  const Expr mean = builder_.expr(batch(running[0])), variance = builder_.expr(batch(running[1]));
  const bool biased = recipe_.batch_variance == BatchVariance::biased;
  average(running[0], mean, momentum);
  average(running[1], biased ? variance : unbiased(twin, variance), momentum);
}

void RunningStatistics::average(Value* running, Expr batch, double momentum) {
  auto known = std::find_if(running_.begin(), running_.end(),
                            [&](const Running& each) { return each.first == running; });
  if (known == running_.end()) known = running_.insert(running_.end(), {running, running});
  const auto number = [&](const std::string& name, double value) {
    // Nodes may differ in momentum, and so in the constant.
    return builder_.expr(
        algorithm_.constant(fmt::format("{}_{}", name, momentum), value, batch.dtype()));
  };
  const Expr next = builder_.expr(known->last) * number("batch_momentum", momentum) +
                    batch * number("one_minus_batch_momentum", 1 - momentum);
  known->last = next.value();
}

Expr RunningStatistics::unbiased(const Node& node, Expr variance) {
  const auto size = [&](Value* value) {
    return cast(builder_.add("Size", {value}, DType::i64), DType::f64);
  };
  const Expr n = size(node.input(0)) / size(variance.value());
  const Expr one = builder_.expr(algorithm_.constant("one", 1, DType::f64));
  return variance * cast(n / (n - one), variance.dtype());
}

void RunningStatistics::finish() {
  for (const Running& each : running_) algorithm_.update(each.first, each.last);
}

}  // namespace onward
