#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace onward {

/// The names that a node can read while a graph is built: its own graph's, then those around it.
class Scope {
 public:
  explicit Scope(const Scope* around = nullptr) : around_(around) {}

  /// The value of that name here or further out, or null.
  Value* find(const std::string& name) const {
    for (const Scope* scope = this; scope; scope = scope->around_) {
      if (Value* value = scope->find_here(name)) return value;
    }
    return nullptr;
  }
  Value* find_here(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : found->second;
  }
  bool has_here(const std::string& name) const { return names_.contains(name); }
  bool has(const std::string& name) const {
    return has_here(name) || (around_ && around_->has(name));
  }

  /// Defines a name; null stands for an optional input that a function's caller left out.
  void define(const std::string& name, Value* value) { names_[name] = value; }

 private:
  const Scope* around_;
  std::unordered_map<std::string, Value*> names_;
};

}  // namespace onward
