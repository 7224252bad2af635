#include <algorithm>
#include <tuple>

#include "runtime/continuation.h"
#include "runtime/program.h"

namespace onward {
namespace {

/// What is in parentheses at the end of a label; empty where no node is named.
std::string operation_of(const std::string& label) {
  const size_t begin = label.rfind('(');
  if (begin == std::string::npos || !label.ends_with(')')) return {};
  return label.substr(begin + 1, label.size() - begin - 2);
}

}  // namespace

bool KernelTime::is_reference() const { return kernel == kReferenceKernel; }

void add_times(std::vector<KernelTime>& times, std::span<const KernelTime> more) {
  for (const KernelTime& each : more) {
    const auto same = std::ranges::find_if(times, [&](const KernelTime& other) {
      return other.operation == each.operation && other.kernel == each.kernel;
    });
    if (same == times.end()) {
      times.push_back(each);
    } else {
      same->seconds += each.seconds;
    }
  }
  std::ranges::sort(times, [](const KernelTime& a, const KernelTime& b) {
    return std::tie(b.seconds, a.operation, a.kernel) < std::tie(a.seconds, b.operation, b.kernel);
  });
}

std::vector<KernelTime> Program::kernel_times() const {
  std::vector<KernelTime> times;
  plans_.for_each([&](const BoundPlan& bound) {
    if (!bound.plan) return;
    std::vector<KernelTime> of_plan;
    for (const auto* actions : {&bound.plan->micro, &bound.plan->update, &bound.plan->commit}) {
      for (const Action& action : *actions) {
        of_plan.push_back({.operation = operation_of(action.label),
                           .kernel = action.kernel,
                           .seconds = action.seconds});
      }
    }
    add_times(times, of_plan);
    if (bound.plan->rest) add_times(times, bound.plan->rest->program->kernel_times());
  });
  return times;
}

}  // namespace onward
