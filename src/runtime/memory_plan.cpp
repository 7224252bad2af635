// Where each tensor of a plan lies in the arena: the largest first, each at the lowest offset that
// is free for as long as it is alive.

#include <algorithm>
#include <limits>

#include "runtime/buffer.h"
#include "runtime/plan.h"

namespace onward {
namespace {

struct Lifetime {
  size_t first = std::numeric_limits<size_t>::max();
  size_t last = 0;

  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
  void extend(size_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
};

}  // namespace

SlotIndex memory_of(const Plan& plan, SlotIndex slot) {
  while (plan.slots[static_cast<size_t>(slot)].same_as >= 0) {
    slot = plan.slots[static_cast<size_t>(slot)].same_as;
  }
  return slot;
}

void plan_memory(Plan& plan) {
  std::vector<Lifetime> lives(plan.slots.size());
  const auto touch = [&](SlotIndex slot, size_t time) {
    lives[static_cast<size_t>(memory_of(plan, slot))].extend(time);
  };
  size_t time = 0;
  for (const auto* actions : {&plan.once, &plan.micro, &plan.update, &plan.commit}) {
    for (const Action& action : *actions) {
      for (const SlotIndex slot : action.reads) touch(slot, time);
      for (const SlotIndex slot : action.writes) touch(slot, time);
      ++time;
    }
  }
  for (const Plan::Result& output : plan.outputs) touch(output.slot, time);
  for (const Plan::Finite& each : plan.finite) touch(each.slot, time);
  for (const Plan::Copy& copy : plan.copies) touch(copy.from, time);
  for (const SlotIndex slot : plan.gradient_ranges) touch(slot, time);
  for (const Plan::Operand& each : plan.operands) touch(each.slot, time);
  // Gradients wait for the update, while other micro-batches run.
  for (const SlotIndex slot : plan.gradients) touch(slot, time);

  std::vector<size_t> order;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const SlotInfo& info = plan.slots[i];
    const bool used = lives[i].first != std::numeric_limits<size_t>::max();
    if (info.home == SlotInfo::Home::arena && info.same_as < 0 && used) order.push_back(i);
  }
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(plan.slots[b].bytes, a) < std::pair(plan.slots[a].bytes, b);
  });

  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    SlotInfo& info = plan.slots[i];
    const size_t bytes = aligned_size(info.bytes);
    size_t offset = 0;
    for (const size_t other : placed) {
      if (!lives[i].overlaps(lives[other])) continue;
      if (offset + bytes <= plan.slots[other].offset) break;
      offset = std::max(offset, plan.slots[other].offset + aligned_size(plan.slots[other].bytes));
    }
    info.offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {},
                                           [&](size_t slot) { return plan.slots[slot].offset; }),
                  i);
  }
}

}  // namespace onward
