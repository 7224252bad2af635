// Which elementwise nodes run as one loop. A node joins the groups of its inputs where the results
// have the same shape, and where nobody else needs what they compute before the node's own place.

#include <algorithm>
#include <limits>

#include "runtime/plan_builder.h"
#include "runtime/tile.h"

namespace onward {
namespace {

constexpr size_t kMaxNodes = 64;

class Grouping {
 public:
  Grouping(const std::vector<const Node*>& order, std::span<const size_t> cuts)
      : order_(order), cuts_(cuts) {
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
  }

  std::vector<ElementwiseGroup> run() {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (is_tiled(*order_[i])) place(*order_[i], i);
    }
    std::erase_if(groups_, [](const ElementwiseGroup& group) { return group.nodes.empty(); });
    return std::move(groups_);
  }

 private:
  void place(const Node& node, size_t position) {
    const auto dims = *static_dims(*node.output(0));
    size_t home = groups_.size();
    for (const Value* input : node.inputs()) {
      const Node* producer = input ? input->producer() : nullptr;
      const auto found = producer ? group_of_.find(producer) : group_of_.end();
      if (found == group_of_.end() || found->second == home) continue;
      const size_t other = found->second;
      if (!can_wait(other, position) || groups_[other].dims != dims) continue;
      if (home == groups_.size()) {
        home = other;
      } else if (groups_[home].nodes.size() + groups_[other].nodes.size() < kMaxNodes) {
        merge(other, home);
      }
    }
    if (home == groups_.size()) groups_.push_back({.dims = dims});
    groups_[home].nodes.push_back(&node);
    groups_[home].position = position;
    group_of_[&node] = home;
  }

  /// True where everyone outside of the group who needs one of its results comes later.
  bool can_wait(size_t index, size_t position) const {
    const ElementwiseGroup& group = groups_[index];
    if (group.nodes.size() >= kMaxNodes) return false;
    for (const size_t cut : cuts_) {
      if ((group.position < cut) != (position < cut)) return false;
    }
    for (const Node* node : group.nodes) {
      for (const Use& use : node->output(0)->uses()) {
        const auto users_group = group_of_.find(use.node);
        if (users_group != group_of_.end() && users_group->second == index) continue;
        if (runs_at(use.node) < position) return false;
      }
    }
    return true;
  }

  size_t runs_at(const Node* node) const {
    const auto group = group_of_.find(node);
    return group == group_of_.end() ? position_.at(node) : groups_[group->second].position;
  }

  void merge(size_t from, size_t to) {
    for (const Node* node : groups_[from].nodes) {
      groups_[to].nodes.push_back(node);
      group_of_[node] = to;
    }
    groups_[from].nodes.clear();
    std::ranges::sort(groups_[to].nodes, {}, [&](const Node* node) { return position_.at(node); });
  }

  const std::vector<const Node*>& order_;
  std::span<const size_t> cuts_;
  std::unordered_map<const Node*, size_t> position_;
  std::unordered_map<const Node*, size_t> group_of_;
  std::vector<ElementwiseGroup> groups_;
};

}  // namespace

std::vector<ElementwiseGroup> group_elementwise(const std::vector<const Node*>& order,
                                                std::span<const size_t> cuts) {
  return Grouping(order, cuts).run();
}

}  // namespace onward
