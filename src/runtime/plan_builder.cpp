#include "runtime/plan_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/dependence.h"
#include "ir/memory_limit.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "runtime/continuation.h"
#include "runtime/program.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

size_t bytes_of(DType dtype, std::span<const int64_t> dims) {
  return static_cast<size_t>(checked_bytes(dtype, dims));
}

/// Rates, decays, counts: what an update of any size is computed with.
bool is_small(const Value& value) {
  constexpr int64_t kMaxElements = 16;
  return checked_element_count(*static_dims(value)) <= kMaxElements;
}

}  // namespace

Plan::Plan() = default;
Plan::~Plan() = default;

Layout layout_of(const InputLayouts& layouts, std::string_view input) {
  const auto found = layouts.find(input);
  return found == layouts.end() ? Layout::plain : found->second;
}

std::string_view name(Layout layout) { return layout == Layout::plain ? "plain" : "channels last"; }

PlanBuilder::PlanBuilder(Plan& plan, const PlanRequest& request,
                         const std::function<bool(const std::string&)>& is_state)
    : plan_(plan), request_(request), is_state_(is_state), graph_(*plan.step.graph) {}

bool PlanBuilder::is_state(const Value& value) const {
  return value.tensor() && is_state_(value.name());
}

/// The micro part is what the gradients, the losses and the outputs of a batch need; the update
/// part is what needs the gradients, or nothing but state (a step counter). The end of the latter
/// that is made of elementwise nodes alone is the commit: it can't fail, so that it may write to
/// the state.
void PlanBuilder::order_nodes() {
  std::unordered_set<const Value*> inputs(graph_.inputs().begin(), graph_.inputs().end());
  std::unordered_set<const Value*> gradients, given;
  for (const size_t index : request_.gradients) gradients.insert(graph_.outputs()[index]);
  for (const auto& each : request_.outputs) given.insert(graph_.outputs()[each.output]);
  const auto from_inputs = with_results(graph_, inputs);
  auto from_gradients = with_results(graph_, gradients);
  for (const Value* gradient : gradients) from_gradients.erase(gradient);

  std::unordered_set<const Node*> micro;
  std::unordered_set<const Value*> needed = gradients;
  for (const auto& loss : request_.losses) needed.insert(graph_.outputs()[loss.output]);
  for (const Value* output : given) {
    if (!from_gradients.contains(output)) needed.insert(output);
  }
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
    bool of_batch = false;
    for (const auto& output : (*node)->outputs()) {
      if (!output) continue;
      of_batch |= from_inputs.contains(output.get()) && !from_gradients.contains(output.get());
      of_batch |= needed.contains(output.get());
    }
    if (!of_batch) continue;
    micro.insert(node->get());
    for (const Value* input : (*node)->inputs()) needed.insert(input);
  }
  std::unordered_set<const Node*> commit;
  for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
    if (micro.contains(node->get()) || !is_tiled(**node)) continue;
    const Value& result = *(*node)->output(0);
    if (is_small(result) && !result.uses().empty()) continue;  // looked at before the commit
    const bool is_last = std::ranges::all_of(
        result.uses(), [&](const Use& use) { return commit.contains(use.node); });
    if (is_last && !given.contains(&result)) commit.insert(node->get());
  }
  const auto append = [&](auto belongs) {
    for (const auto& node : graph_.nodes()) {
      if (belongs(node.get())) order_.push_back(node.get());
    }
    return order_.size();
  };
  micro_nodes_ = append([&](const Node* node) { return micro.contains(node); });
  commit_begin_ =
      append([&](const Node* node) { return !micro.contains(node) && !commit.contains(node); });
  append([&](const Node* node) { return commit.contains(node); });
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
}

void PlanBuilder::build() {
  wanted_.insert(graph_.outputs().begin(), graph_.outputs().end());
  order_nodes();
  const size_t cuts[] = {micro_nodes_, commit_begin_};
  groups_ = group_elementwise(order_, cuts);
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const Node* node : groups_[g].nodes) group_of_[node] = g;
  }
  find_in_place_bindings();
  actions_ = &plan_.micro;
  for (size_t i = 0; i < order_.size(); ++i) {
    end_parts(i);
    current_ = order_[i];
    const auto grouped = group_of_.find(current_);
    if (grouped == group_of_.end()) {
      plan_node(*current_);
    } else if (groups_[grouped->second].position == i) {
      kernel_ = "tiles";
      reason_.clear();
      plan_group(*this, groups_[grouped->second], in_place_);
    }
    if (i < micro_nodes_) scan_gradients();
  }
  current_ = nullptr;
  end_parts(order_.size());
  add_copies();
}

/// What is wanted of a part when it has run lies plain then.
void PlanBuilder::end_parts(size_t position) {
  if (position == micro_nodes_) {
    for (const size_t index : request_.gradients) {
      plan_.gradients.push_back(gradient_slot(*graph_.outputs()[index]));
    }
    scan_gradients();
    for (const auto& loss : request_.losses) {
      plan_.finite.push_back({loss.name, read(*graph_.outputs()[loss.output], Layout::plain)});
    }
    add_outputs(false);
    keep_sources(true);
    actions_ = &plan_.update;
  }
  if (position == commit_begin_) {
    add_outputs(true);
    keep_sources(false);
    find_operands();
    actions_ = &plan_.commit;
  }
}

void PlanBuilder::add_outputs(bool of_update) {
  for (const auto& wanted : request_.outputs) {
    const Value& value = *graph_.outputs()[wanted.output];
    if (is_after_micro(value) != of_update) continue;
    const SlotIndex slot = request_.goes_on ? lasting_slot(value) : read(value, Layout::plain);
    plan_.outputs.push_back({wanted.name, slot, of_update});
  }
}

/// The sums of micro-batches are written to it, so that it can't be somebody else's memory.
SlotIndex PlanBuilder::gradient_slot(const Value& value) {
  const SlotIndex slot = read(value, Layout::plain);
  if (value.producer() && plan_.slots[static_cast<size_t>(slot)].same_as < 0) return slot;
  const SlotIndex copy = copied_slot(value, slot);
  slots_[{&value, Layout::plain}] = copy;
  return copy;
}

SlotIndex PlanBuilder::copied_slot(const Value& value, SlotIndex slot) {
  const SlotIndex copy = new_slot(value, Layout::plain);
  add({.label = value.name(),
       .kernel = "copy",
       .reads = {slot},
       .writes = {copy},
       .run = [slot, copy, bytes = plan_.slots.back().bytes](const Run& run) {
         std::memcpy(run.at<std::byte>(copy), run.at<std::byte>(slot), bytes);
       }});
  return copy;
}

/// For a value that another plan reads: as it lies, but a view of the state is copied, since that
/// plan writes to the state.
SlotIndex PlanBuilder::lasting_slot(const Value& value) {
  const SlotIndex slot =
      read(value, has(value, Layout::plain) ? Layout::plain : Layout::channels_last);
  return lies_in_state(slot) ? copied_slot(value, slot) : slot;
}

bool PlanBuilder::lies_in_state(SlotIndex slot) const {
  return plan_.slots[static_cast<size_t>(memory_of(plan_, slot))].home == SlotInfo::Home::state;
}

bool PlanBuilder::is_after_micro(const Value& value) const {
  return value.producer() && position_.at(value.producer()) >= micro_nodes_;
}

void PlanBuilder::plan_node(const Node& node) {
  reason_.clear();
  for (const KernelChoice* choice : kernel_choices(node)) {
    const Reason refusal = choice->refuses(node);
    if (refusal.empty()) {
      kernel_ = choice->name;
      Site site(*this, node);
      try {
        choice->make(site);
      } catch (Error& error) {
        throw error.add_context(fmt::format("in {} ({})", node.label(), node.op));
      } catch (const std::exception& failure) {
        rethrow_as_error(failure, kernel_, fmt::format("in {} ({})", node.label(), node.op));
      }
      return;
    }
    reason_ += fmt::format("{}{}: {}", reason_.empty() ? "" : "; ", choice->name, refusal);
  }
  kernel_ = kReferenceKernel;
  Site site(*this, node);
  make_reference(site);
}

SlotIndex PlanBuilder::new_slot(const Value& value, Layout layout) {
  const auto dims = static_dims(value);
  if (!dims) {
    throw Error(fmt::format("the shape of '{}' is known only at run time", value.name()));
  }
  plan_.slots.push_back({.dtype = value.type.dtype,
                         .dims = *dims,
                         .layout = layout,
                         .bytes = bytes_of(value.type.dtype, *dims)});
  return static_cast<SlotIndex>(plan_.slots.size() - 1);
}

/// The slot of an input or an initializer, in the layout that it has.
SlotIndex PlanBuilder::initial_slot(const Value& value) {
  if (value.producer()) throw Bug(fmt::format("'{}' is read before it is computed", value.name()));
  const Layout layout = layout_of(request_.input_layouts, value.name());
  const SlotIndex slot = new_slot(value, layout);
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
  slots_[{&value, layout}] = slot;
  return slot;
}

bool PlanBuilder::has(const Value& value, Layout layout) const {
  if (slots_.contains({&value, layout})) return true;
  return !value.producer() && layout == layout_of(request_.input_layouts, value.name());
}

SlotIndex PlanBuilder::read(const Value& value, Layout layout) {
  if (const auto found = slots_.find({&value, layout}); found != slots_.end()) {
    return found->second;
  }
  const Layout initial = layout_of(request_.input_layouts, value.name());
  if (!value.producer() && !slots_.contains({&value, initial})) {
    const SlotIndex slot = initial_slot(value);
    if (layout == initial) return slot;
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
  refuse_beyond_memory(static_cast<int64_t>(bytes), "the scratch memory of a node");
  plan_.slots.push_back({.dtype = DType::u8, .bytes = bytes});
  return static_cast<SlotIndex>(plan_.slots.size() - 1);
}

void PlanBuilder::share(const Value& output, const Value& input) {
  const SlotIndex from = read(input, Layout::plain);
  const SlotIndex slot = new_slot(output, Layout::plain);
  plan_.slots.back().same_as = from;
  slots_[{&output, Layout::plain}] = slot;
}

void PlanBuilder::add(Action action) {
  action.is_random = current_ && has_traits(*current_, kRandom);
  actions_->push_back(std::move(action));
}

void PlanBuilder::use_tiles(size_t registers) {
  plan_.tile_registers = std::max(plan_.tile_registers, registers);
}

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
  keep_constants(*plan);
  plan_memory(*plan);
  refuse_beyond_memory(static_cast<int64_t>(plan->arena_bytes), "the tensors of a step");
  return plan;
}

}  // namespace onward
