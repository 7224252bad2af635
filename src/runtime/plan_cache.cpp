#include "runtime/plan_cache.h"

namespace onward {
namespace {

// Rough estimates of what the parts of a plan take beside what is counted.
constexpr size_t kNodeBytes = 2048, kSlotBytes = 64, kActionBytes = 512;
constexpr size_t kPrimitiveBytes = 64 << 10;  // oneDNN's code and descriptions

size_t bytes_of(const Tensor& constant, const std::unordered_set<const std::byte*>& shared) {
  if (constant.dtype() == DType::undefined || constant.dtype() == DType::string) return 0;
  return shared.contains(constant.bytes().data()) ? 0 : constant.bytes().size();
}

size_t bytes_of(const Plan& plan, const Graph& step) {
  std::unordered_set<const std::byte*> shared;
  for (const Value* value : step.initializers()) {
    if (const Tensor* tensor = value->tensor(); tensor && tensor->dtype() != DType::string) {
      shared.insert(tensor->bytes().data());
    }
  }
  size_t bytes = plan.step.graph->nodes().size() * kNodeBytes;
  for (const SlotInfo& slot : plan.slots) {
    bytes += sizeof(SlotInfo) + kSlotBytes + sizeof(std::byte*) + bytes_of(slot.constant, shared);
  }
  for (const auto* actions : {&plan.once, &plan.micro, &plan.update, &plan.commit}) {
    for (const Action& action : *actions) {
      bytes += sizeof(Action) + kActionBytes;
      if (action.kernel.starts_with("onednn")) bytes += kPrimitiveBytes;
    }
  }
  bytes += plan.kept.size();
  return bytes;
}

}  // namespace

BoundPlan* PlanCache::find(const std::string& key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &found->second->bound;
}

BoundPlan& PlanCache::add(const std::string& key, std::unique_ptr<Plan> plan, const Graph& step) {
  const size_t bytes = plan ? bytes_of(*plan, step) : kNodeBytes;
  entries_.push_front({.key = key, .bytes = bytes, .bound = {.plan = std::move(plan)}});
  places_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > kMaxBytes && entries_.size() > 1) {
    bytes_ -= entries_.back().bytes;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return entries_.front().bound;
}

}  // namespace onward
