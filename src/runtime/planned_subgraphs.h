#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "eval/subgraph.h"
#include "runtime/time_spent.h"

namespace onward {

/// Runs the graphs inside of nodes on plans: each becomes a program when it is first run, whose
/// plans are kept from iteration to iteration and from step to step.
class PlannedSubgraphs final : public eval::SubgraphRunner {
 public:
  PlannedSubgraphs();
  ~PlannedSubgraphs();
  PlannedSubgraphs(PlannedSubgraphs&&) noexcept;

  std::vector<eval::RuntimeValue> run(const Call& call) const override;

  /// What the plans of all graphs that were run do, as Program::explain() says it.
  std::string explain() const;
  /// The time that they took so far.
  TimeSpent times() const;

 private:
  struct Body;

  mutable std::unordered_map<const Graph*, std::unique_ptr<Body>> bodies_;
};

}  // namespace onward
