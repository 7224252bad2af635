#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>

#include "runtime/plan.h"
#include "runtime/state.h"

namespace onward {

/// A plan with the places of its tensors, once memory and state are known.
struct BoundPlan {
  std::unique_ptr<Plan> plan;  // null where shapes depend on data
  std::vector<std::byte*> pointers;
  const State* state = nullptr;
  const std::byte* arena = nullptr;
  /// Where the operands of the commit lay after the state's change number `known_at`.
  std::vector<std::optional<Range>> known;
  uint64_t known_at = 0;
  int64_t runs = 0;
  bool has_kept = false;  // what runs once has run
};

/// The plans of a program by the types of its inputs. Where they hold too many bytes, those that
/// were not asked for the longest go.
class PlanCache {
 public:
  /// Roughly what the plans may hold together.
  static constexpr size_t kMaxBytes = 64 << 20;

  /// The plan, or null.
  BoundPlan* find(const std::string& key);
  /// `step` is what plans are made of: they share its constants.
  BoundPlan& add(const std::string& key, std::unique_ptr<Plan> plan, const Graph& step);

  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.bound);
  }

  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    size_t bytes;
    BoundPlan bound;
  };

  std::list<Entry> entries_;  // the last one asked for first
  std::unordered_map<std::string, std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace onward
