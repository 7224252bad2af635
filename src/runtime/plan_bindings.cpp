// How the new values of a plan get to the state: computed in place, or copied at the end.

#include <algorithm>

#include "ops/op_def.h"
#include "runtime/plan_builder.h"

namespace onward {
namespace {

/// Operators whose result may share the memory of their input.
bool may_be_view(const Node& node) {
  // A permutation is one where only dimensions of size one change places.
  return has_traits(node, kView) || has_traits(node, kPermutes);
}

}  // namespace

/// A binding's source can be computed right into the state's memory where nothing can fail any more
/// and nobody reads the old value afterwards.
bool PlanBuilder::may_be_in_place(const Value& target, const Value& source) const {
  if (!source.producer() || static_dims(target) != static_dims(source)) return false;
  const auto group = group_of_.find(source.producer());
  if (group == group_of_.end()) return false;
  const ElementwiseGroup& g = groups_[group->second];
  if (g.position < commit_begin_) return false;
  return std::ranges::all_of(target.uses(), [&](const Use& use) {
    const auto users_group = group_of_.find(use.node);
    if (users_group == group_of_.end()) {
      // Views would go on to read the memory after us.
      return position_.at(use.node) < g.position && !may_be_view(*use.node);
    }
    const ElementwiseGroup& user = groups_[users_group->second];
    if (&user != &g) return user.position < g.position;
    // Within a tile the old value is gone once the new one is computed.
    const size_t reads = position_.at(use.node), writes = position_.at(source.producer());
    return static_dims(target) == g.dims &&
           (reads < writes || (reads == writes && is_one_instruction(*use.node)));
  });
}

void PlanBuilder::find_in_place_bindings() {
  std::unordered_set<const Value*> taken;
  for (const auto& binding : request_.bindings) {
    const Value* source = graph_.outputs()[binding.output];
    const auto found = std::ranges::find_if(
        graph_.initializers(), [&](const Value* value) { return value->name() == binding.target; });
    const Value* target = found == graph_.initializers().end() ? nullptr : *found;
    // The micro part may run several times before the update part, or another binding, reads the
    // state.
    const bool is_read_later = target && std::ranges::any_of(target->uses(), [&](const Use& use) {
                                 return position_.at(use.node) >= micro_nodes_;
                               });
    const bool is_source = target && std::ranges::any_of(request_.bindings, [&](const auto& other) {
                             return graph_.outputs()[other.output] == target;
                           });
    binding_of_batch_.push_back(binding.of_batch && !is_after_micro(*source) && !is_read_later &&
                                !is_source);
    if (target && taken.insert(source).second && may_be_in_place(*target, *source)) {
      in_place_[source] = binding.target;
    }
  }
}

/// Sources of bindings that the parts so far have computed; one that is state itself, or a view of
/// it, is copied before any state changes.
void PlanBuilder::keep_sources(bool of_batch) {
  for (size_t i = 0; i < request_.bindings.size(); ++i) {
    const Value& source = *graph_.outputs()[request_.bindings[i].output];
    const bool is_late = source.producer() && position_.at(source.producer()) >= commit_begin_;
    if (binding_of_batch_[i] != of_batch || is_late || kept_.contains(&source)) continue;
    const SlotIndex slot = read(source, Layout::plain);
    kept_[&source] = slot;
    const auto& binding = request_.bindings[i];
    if (binding.of_batch && is_float(source.type.dtype)) {
      plan_.finite.push_back(
          {binding.target, slot, state_slot(source, binding.target), binding.advice});
    }
    if (lies_in_state(slot)) kept_[&source] = copied_slot(source, slot);
  }
}

SlotIndex PlanBuilder::state_slot(const Value& source, const std::string& target) {
  const SlotIndex slot = new_slot(source, Layout::plain);
  plan_.slots.back().home = SlotInfo::Home::state;
  plan_.slots.back().name = target;
  return slot;
}

void PlanBuilder::add_copies() {
  for (size_t i = 0; i < request_.bindings.size(); ++i) {
    const auto& binding = request_.bindings[i];
    const Value& source = *graph_.outputs()[binding.output];
    const auto in_place = in_place_.find(&source);
    if (in_place != in_place_.end() && in_place->second == binding.target) continue;
    const auto kept = kept_.find(&source);
    const SlotIndex from = kept != kept_.end() ? kept->second : read(source, Layout::plain);
    const SlotIndex to = state_slot(source, binding.target);
    plan_.copies.push_back({.from = from,
                            .to = to,
                            .bytes = plan_.slots[static_cast<size_t>(to)].bytes,
                            .of_batch = binding_of_batch_[i],
                            .late = kept == kept_.end()});
  }
}

}  // namespace onward
