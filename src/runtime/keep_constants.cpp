// Actions that read nothing but constants give the same in each run. What they write and others
// read is kept in memory of the plan's own, which no other plan shares.

#include <algorithm>

#include "runtime/plan.h"

namespace onward {
namespace {

/// What is much larger than the constants that it follows from is rather computed again than kept.
constexpr size_t kMaxGrowth = 4, kSmallBytes = 4 << 20;

class Keeper {
 public:
  explicit Keeper(Plan& plan)
      : plan_(plan), writers_(plan.slots.size(), 0), is_fixed_(plan.slots.size(), false) {
    for (const auto* actions : {&plan.micro, &plan.update, &plan.commit}) {
      for (const Action& action : *actions) {
        for (const SlotIndex slot : action.writes) ++writers_[memory(slot)];
      }
    }
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      is_fixed_[i] = plan.slots[i].home == SlotInfo::Home::constant;
    }
  }

  void run() {
    for (auto* actions : {&plan_.micro, &plan_.update}) {
      std::vector<Action> rest;
      for (Action& action : *actions) {
        (is_fixed(action) ? plan_.once : rest).push_back(std::move(action));
      }
      *actions = std::move(rest);
    }
    place();
  }

 private:
  size_t memory(SlotIndex slot) const { return static_cast<size_t>(memory_of(plan_, slot)); }

  /// Asked of actions in the order in which they run: what this one writes is fixed from here on.
  bool is_fixed(const Action& action) {
    const auto fixed = [&](SlotIndex slot) { return is_fixed_[memory(slot)]; };
    const auto bytes = [&](const std::vector<SlotIndex>& slots) {
      size_t sum = 0;
      for (const SlotIndex slot : slots) sum += plan_.slots[static_cast<size_t>(slot)].bytes;
      return sum;
    };
    const auto own = [&](SlotIndex slot) {
      const size_t at = memory(slot);
      return plan_.slots[at].home == SlotInfo::Home::arena && writers_[at] == 1;
    };
    if (action.is_random || action.reads.empty()) return false;
    if (bytes(action.writes) > kMaxGrowth * bytes(action.reads) + kSmallBytes) return false;
    if (!std::ranges::all_of(action.reads, fixed) || !std::ranges::all_of(action.writes, own)) {
      return false;
    }
    for (const SlotIndex slot : action.writes) is_fixed_[memory(slot)] = true;
    return true;
  }

  /// What only actions that run once read stays in the arena.
  void place() {
    std::vector<bool> is_read(plan_.slots.size(), false);
    const auto read = [&](SlotIndex slot) {
      if (slot >= 0) is_read[memory(slot)] = true;
    };
    for (const auto* actions : {&plan_.micro, &plan_.update, &plan_.commit}) {
      for (const Action& action : *actions) std::ranges::for_each(action.reads, read);
    }
    for (const Plan::Result& output : plan_.outputs) read(output.slot);
    for (const Plan::Finite& each : plan_.finite) read(each.slot), read(each.old);
    for (const Plan::Copy& copy : plan_.copies) read(copy.from);
    for (const Plan::Operand& each : plan_.operands) read(each.slot);
    std::ranges::for_each(plan_.gradients, read);
    std::ranges::for_each(plan_.gradient_ranges, read);
    size_t bytes = 0;
    for (const Action& action : plan_.once) {
      for (const SlotIndex slot : action.writes) {
        SlotInfo& info = plan_.slots[memory(slot)];
        if (!is_read[memory(slot)] || info.home != SlotInfo::Home::arena) continue;
        info.home = SlotInfo::Home::kept;
        info.offset = bytes;
        bytes += aligned_size(info.bytes);
      }
    }
    if (bytes > 0) plan_.kept = Buffer(bytes);
  }

  Plan& plan_;
  std::vector<int> writers_;
  std::vector<bool> is_fixed_;
};

}  // namespace

void keep_constants(Plan& plan) { Keeper(plan).run(); }

}  // namespace onward
