#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/kernel.h"

namespace onward {

/// Elementwise nodes that are run as one loop over tiles. Their results all have the same shape.
struct ElementwiseGroup {
  std::vector<const Node*> nodes;
  std::vector<int64_t> dims;
  size_t position = 0;  // of the last node: where the group runs
};

/// Builds a plan, node by node.
class PlanBuilder {
 public:
  PlanBuilder(Plan& plan, const PlanRequest& request,
              const std::function<bool(const std::string&)>& is_state);

  void build();

  // For Site and the elementwise groups.
  SlotIndex read(const Value& value, Layout layout);
  /// A slot for a value that a kernel computes in this layout.
  SlotIndex write(const Value& value, Layout layout);
  SlotIndex scratch(size_t bytes);
  void share(const Value& output, const Value& input);
  void add(Action action);
  /// Says how many registers an action needs that runs on tiles.
  void use_tiles(size_t registers);
  bool has(const Value& value, Layout layout) const;
  bool is_state(const Value& value) const;
  /// Whether anything outside of the group reads the value, or it is wanted when the plan has run.
  bool leaves(const Value& value, const ElementwiseGroup& group) const;
  std::string& reason() { return reason_; }
  const Node& current() const { return *current_; }
  const std::string& kernel() const { return kernel_; }

 private:
  void order_nodes();
  void plan_node(const Node& node);
  void find_in_place_bindings();
  bool may_be_in_place(const Value& target, const Value& source) const;
  void end_parts(size_t position);
  void add_outputs(bool of_update);
  bool is_after_micro(const Value& value) const;
  void scan_gradients();
  void scan(const Value& value, SlotIndex result);
  struct Factors;
  static std::optional<Factors> small_factors(const Value& gradient);
  void scan_factors(const Factors& factors, const Value& gradient, SlotIndex result);
  void find_operands();
  void keep_sources(bool of_batch);
  void add_copies();
  SlotIndex state_slot(const Value& source, const std::string& target);
  SlotIndex new_slot(const Value& value, Layout layout);
  SlotIndex initial_slot(const Value& value);
  SlotIndex gradient_slot(const Value& value);
  SlotIndex lasting_slot(const Value& value);
  SlotIndex copied_slot(const Value& value, SlotIndex slot);
  bool lies_in_state(SlotIndex slot) const;
  void reorder(SlotIndex from, SlotIndex to);

  Plan& plan_;
  const PlanRequest& request_;
  const std::function<bool(const std::string&)>& is_state_;
  Graph& graph_;

  std::vector<const Node*> order_;  // the micro part, the update part, the commit
  size_t micro_nodes_ = 0, commit_begin_ = 0;
  std::unordered_map<const Node*, size_t> position_;
  std::vector<ElementwiseGroup> groups_;
  std::unordered_map<const Node*, size_t> group_of_;
  std::unordered_set<const Value*> wanted_;                 // outputs of the graph
  std::unordered_map<const Value*, std::string> in_place_;  // computed into that state's memory
  std::vector<bool> binding_of_batch_;
  std::unordered_map<const Value*, SlotIndex> kept_;  // sources of bindings, before any is applied

  std::map<std::pair<const Value*, Layout>, SlotIndex> slots_;
  std::vector<Action>* actions_ = nullptr;
  const Node* current_ = nullptr;
  std::string kernel_, reason_;
};

/// Finds the groups of a list of nodes. A group never reaches over one of the cuts.
std::vector<ElementwiseGroup> group_elementwise(const std::vector<const Node*>& order,
                                                std::span<const size_t> cuts);

/// True for a node that the tile functions can do.
bool is_tiled(const Node& node);

/// True where the node reads all of its operands before it writes anything.
bool is_one_instruction(const Node& node);

/// Plans a group as one action.
void plan_group(PlanBuilder& builder, const ElementwiseGroup& group,
                const std::unordered_map<const Value*, std::string>& in_place);

}  // namespace onward
