#include "runtime/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "onward/error.h"
#include "runtime/parallel.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

size_t bytes_of(DType dtype, std::span<const int64_t> dims) {
  return static_cast<size_t>(packed_bytes(dtype, checked_element_count(dims)).value());
}

/// The values that a set of values is computed from, or that are computed from it.
std::unordered_set<const Value*> computed_from(const Graph& graph,
                                               std::unordered_set<const Value*> values) {
  for (const auto& node : graph.nodes()) {
    if (std::ranges::none_of(node->inputs(), [&](const Value* v) { return values.contains(v); })) {
      continue;
    }
    for (const auto& output : node->outputs()) values.insert(output.get());
  }
  return values;
}

/// Operators whose result may share the memory of their input.
bool may_be_view(const Node& node) {
  constexpr std::array kViews = {"Flatten", "Identity",  "Reshape",
                                 "Squeeze", "Transpose", "Unsqueeze"};
  return std::ranges::find(kViews, node.op) != kViews.end();
}

}  // namespace

std::string_view name(Layout layout) { return layout == Layout::plain ? "plain" : "channels last"; }

PlanBuilder::PlanBuilder(Plan& plan, const PlanRequest& request,
                         const std::function<bool(const std::string&)>& is_state)
    : plan_(plan), request_(request), is_state_(is_state), graph_(*plan.step.graph) {}

bool PlanBuilder::is_state(const Value& value) const {
  return value.tensor() && is_state_(value.name());
}

/// The micro part is what the gradients and the outputs of a batch need; the update part is what
/// needs the gradients, or nothing but state (a step counter).
void PlanBuilder::order_nodes() {
  std::unordered_set<const Value*> inputs(graph_.inputs().begin(), graph_.inputs().end());
  std::unordered_set<const Value*> gradients;
  for (const size_t index : request_.gradients) gradients.insert(graph_.outputs()[index]);
  const auto from_inputs = computed_from(graph_, inputs);
  auto from_gradients = computed_from(graph_, gradients);
  for (const Value* gradient : gradients) from_gradients.erase(gradient);

  std::unordered_set<const Node*> micro;
  std::unordered_set<const Value*> needed;
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
    bool of_batch = false;
    for (const auto& output : (*node)->outputs()) {
      if (!output) continue;
      of_batch |= from_inputs.contains(output.get()) && !from_gradients.contains(output.get());
      of_batch |= needed.contains(output.get()) || gradients.contains(output.get());
    }
    if (!of_batch) continue;
    micro.insert(node->get());
    for (const Value* input : (*node)->inputs()) needed.insert(input);
  }
  for (const auto& node : graph_.nodes()) {
    if (micro.contains(node.get())) order_.push_back(node.get());
  }
  micro_nodes_ = order_.size();
  for (const auto& node : graph_.nodes()) {
    if (!micro.contains(node.get())) order_.push_back(node.get());
  }
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
}

void PlanBuilder::build() {
  wanted_.insert(graph_.outputs().begin(), graph_.outputs().end());
  order_nodes();
  groups_ = group_elementwise(order_, micro_nodes_);
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const Node* node : groups_[g].nodes) group_of_[node] = g;
  }
  find_in_place_bindings();
  actions_ = &plan_.micro;
  for (size_t i = 0; i < order_.size(); ++i) {
    if (i == micro_nodes_) {
      keep_old_outputs(false);
      apply_bindings(false);
      actions_ = &plan_.update;
    }
    current_ = order_[i];
    const auto grouped = group_of_.find(current_);
    if (grouped == group_of_.end()) {
      plan_node(*current_);
    } else if (groups_[grouped->second].position == i) {
      kernel_ = "tiles";
      reason_.clear();
      plan_group(*this, groups_[grouped->second], in_place_);
    }
  }
  current_ = nullptr;
  if (micro_nodes_ == order_.size()) {
    keep_old_outputs(false);
    apply_bindings(false);
    actions_ = &plan_.update;
  }
  keep_old_outputs(true);
  apply_bindings(true);
  for (const auto& wanted : request_.outputs) {
    plan_.outputs.push_back({wanted.name, read(*graph_.outputs()[wanted.output], Layout::plain)});
  }
  for (const size_t index : request_.gradients) {
    plan_.gradients.push_back(read(*graph_.outputs()[index], Layout::plain));
  }
}

void PlanBuilder::plan_node(const Node& node) {
  reason_.clear();
  for (const KernelChoice* choice : kernel_choices(node)) {
    const Reason refusal = choice->refuses(node);
    if (refusal.empty()) {
      kernel_ = choice->name;
      Site site(*this, node);
      choice->make(site);
      return;
    }
    reason_ += fmt::format("{}{}: {}", reason_.empty() ? "" : "; ", choice->name, refusal);
  }
  kernel_ = "reference";
  Site site(*this, node);
  make_reference(site);
}

/// A binding's source can be computed right into the state's memory where nobody reads the old
/// value afterwards.
bool PlanBuilder::may_be_in_place(const Value& target, const Value& source) const {
  if (!source.producer() || static_dims(target) != static_dims(source)) return false;
  const auto group = group_of_.find(source.producer());
  if (group == group_of_.end() || wanted_.contains(&target)) return false;
  const ElementwiseGroup& g = groups_[group->second];
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
    const bool in_update =
        !source->producer() || position_.at(source->producer()) >= micro_nodes_ ||
        (target &&
         (wanted_.contains(target) || std::ranges::any_of(target->uses(), [&](const Use& use) {
            return position_.at(use.node) >= micro_nodes_;
          })));
    binding_in_update_.push_back(in_update);
    if (target && taken.insert(source).second && may_be_in_place(*target, *source)) {
      in_place_[source] = binding.target;
    }
  }
}

/// An output that is state, or a view of it, is given as it was before the bindings.
void PlanBuilder::keep_old_outputs(bool in_update) {
  for (const auto& wanted : request_.outputs) {
    const Value& value = *graph_.outputs()[wanted.output];
    const bool of_update = value.producer() && position_.at(value.producer()) >= micro_nodes_;
    if (in_place_.contains(&value) || of_update != in_update) continue;
    SlotIndex root = read(value, Layout::plain);
    const SlotIndex from = root;
    while (plan_.slots[static_cast<size_t>(root)].same_as >= 0) {
      root = plan_.slots[static_cast<size_t>(root)].same_as;
    }
    if (plan_.slots[static_cast<size_t>(root)].home != SlotInfo::Home::state) continue;
    const SlotIndex kept = new_slot(value, Layout::plain);
    const size_t bytes = plan_.slots.back().bytes;
    slots_[{&value, Layout::plain}] = kept;
    add_copy("outputs", from, kept, bytes);
  }
}

void PlanBuilder::add_copy(std::string label, SlotIndex from, SlotIndex to, size_t bytes) {
  add({.label = std::move(label),
       .kernel = "copy",
       .reads = {from},
       .writes = {to},
       .run = [from, to, bytes](const Run& run) {
         std::memcpy(run.at<std::byte>(to), run.at<std::byte>(from), bytes);
       }});
}

void PlanBuilder::apply_bindings(bool in_update) {
  kernel_ = "copy";
  reason_.clear();
  Action bind{.label = "bindings", .kernel = "copy"};
  struct Copy {
    SlotIndex from, to;
    size_t bytes;
  };
  std::vector<Copy> copies;
  for (size_t i = 0; i < request_.bindings.size(); ++i) {
    if (binding_in_update_[i] != in_update) continue;
    const auto& binding = request_.bindings[i];
    const Value& source = *graph_.outputs()[binding.output];
    SlotIndex from = read(source, Layout::plain);
    const SlotInfo& info = plan_.slots[static_cast<size_t>(from)];
    if (info.home == SlotInfo::Home::state && info.name == binding.target) continue;  // in place
    const size_t bytes = info.bytes;
    if (info.home == SlotInfo::Home::state) {
      // One state takes the value of another, which may be about to change.
      const SlotIndex kept = scratch(bytes);
      add_copy("bindings", from, kept, bytes);
      from = kept;
    }
    SlotInfo state{.home = SlotInfo::Home::state,
                   .dtype = source.type.dtype,
                   .dims = *static_dims(source),
                   .bytes = bytes,
                   .name = binding.target};
    plan_.slots.push_back(std::move(state));
    copies.push_back({from, static_cast<SlotIndex>(plan_.slots.size() - 1), bytes});
    bind.reads.push_back(from);
    bind.writes.push_back(copies.back().to);
  }
  if (copies.empty()) return;
  bind.run = [copies](const Run& run) {
    for (const Copy& copy : copies) {
      std::memcpy(run.at<std::byte>(copy.to), run.at<std::byte>(copy.from), copy.bytes);
    }
  };
  add(std::move(bind));
}

SlotIndex PlanBuilder::new_slot(const Value& value, Layout layout) {
  const auto dims = static_dims(value);
  if (!dims) {
    throw Error(fmt::format("the shape of '{}' is known only when the graph runs", value.name()));
  }
  plan_.slots.push_back({.dtype = value.type.dtype,
                         .dims = *dims,
                         .layout = layout,
                         .bytes = bytes_of(value.type.dtype, *dims)});
  return static_cast<SlotIndex>(plan_.slots.size() - 1);
}

/// The slot of an input or an initializer, which are plain.
SlotIndex PlanBuilder::initial_slot(const Value& value) {
  if (value.producer()) throw Bug(fmt::format("'{}' is read before it is computed", value.name()));
  const SlotIndex slot = new_slot(value, Layout::plain);
  SlotInfo& info = plan_.slots.back();
  info.name = value.name();
  if (is_state(value)) {
    info.home = SlotInfo::Home::state;
  } else if (value.tensor() && !value.is_input()) {
    info.home = SlotInfo::Home::constant;
    info.constant = *value.tensor();
  } else {
    info.home = SlotInfo::Home::input;
    if (value.tensor()) info.constant = *value.tensor();  // the default
  }
  slots_[{&value, Layout::plain}] = slot;
  return slot;
}

bool PlanBuilder::has(const Value& value, Layout layout) const {
  if (slots_.contains({&value, layout})) return true;
  return layout == Layout::plain && !value.producer();
}

SlotIndex PlanBuilder::read(const Value& value, Layout layout) {
  if (const auto found = slots_.find({&value, layout}); found != slots_.end()) {
    return found->second;
  }
  if (!value.producer() && !slots_.contains({&value, Layout::plain})) {
    const SlotIndex slot = initial_slot(value);
    if (layout == Layout::plain) return slot;
  }
  const Layout other = layout == Layout::plain ? Layout::channels_last : Layout::plain;
  const auto found = slots_.find({&value, other});
  if (found == slots_.end()) {
    throw Bug(fmt::format("'{}' is read before it is computed", value.name()));
  }
  const SlotIndex from = found->second;
  const SlotIndex to = new_slot(value, layout);
  slots_[{&value, layout}] = to;
  reorder(from, to);
  return to;
}

SlotIndex PlanBuilder::write(const Value& value, Layout layout) {
  const auto in_place = in_place_.find(&value);
  const SlotIndex slot = new_slot(value, layout);
  if (in_place != in_place_.end() && layout == Layout::plain) {
    plan_.slots.back().home = SlotInfo::Home::state;
    plan_.slots.back().name = in_place->second;
  }
  slots_[{&value, layout}] = slot;
  return slot;
}

SlotIndex PlanBuilder::scratch(size_t bytes) {
  plan_.slots.push_back({.dtype = DType::u8, .bytes = bytes});
  return static_cast<SlotIndex>(plan_.slots.size() - 1);
}

void PlanBuilder::share(const Value& output, const Value& input) {
  const SlotIndex from = read(input, Layout::plain);
  const SlotIndex slot = new_slot(output, Layout::plain);
  plan_.slots.back().same_as = from;
  slots_[{&output, Layout::plain}] = slot;
}

void PlanBuilder::add(Action action) { actions_->push_back(std::move(action)); }

bool PlanBuilder::leaves(const Value& value, const ElementwiseGroup& group) const {
  if (wanted_.contains(&value)) return true;
  return std::ranges::any_of(value.uses(), [&](const Use& use) {
    return std::ranges::find(group.nodes, use.node) == group.nodes.end();
  });
}

void PlanBuilder::reorder(SlotIndex from, SlotIndex to) {
  const SlotInfo& info = plan_.slots[static_cast<size_t>(to)];
  const Reorder order = make_reorder(info.dims, info.dtype, info.layout);
  add({.label = current_ ? current_->label() : "outputs",
       .kernel = fmt::format("reorder to {}", name(info.layout)),
       .reads = {from},
       .writes = {to},
       .run = [order, from, to](const Run& run) {
         order.run(run.at<std::byte>(from), run.at<std::byte>(to));
       }});
}

std::unique_ptr<Plan> make_plan(Model step, const PlanRequest& request,
                                const std::function<bool(const std::string&)>& is_state) {
  auto plan = std::make_unique<Plan>();
  plan->step = std::move(step);
  PlanBuilder(*plan, request, is_state).build();
  place(*plan);
  return plan;
}

}  // namespace onward
