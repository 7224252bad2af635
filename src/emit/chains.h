#pragma once

// Modules that are called one after the other, each with what the one before gave: what a loop, or
// a container of the framework, does as well.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/forms.h"
#include "emit/module.h"
#include "emit/scopes.h"

namespace onward::emit {

/// What must be there for an item of a scope.
std::vector<const Value*> reads_of(const Module& module, const ScopeItem& item);
std::vector<const Value*> made_by(const ScopeItem& item);

/// The number of a module of a list, or -1.
int64_t number_in(const std::string& list, const std::string& path);

class Chains {
 public:
  /// `scopes` are the paths of all of them. What it is made of outlives it.
  Chains(Module& module, const Forms& forms, const std::set<std::string>& scopes)
      : module_(module), forms_(forms), scopes_(scopes) {}

  /// The path of the module that an item calls with one value for one value; empty for others.
  std::string called_path(const Scope& scope, const ScopeItem& item) const;

  /// How many items from `first` on are calls of the modules of a list, one after the other.
  size_t length(const Scope& scope, const std::vector<ScopeItem>& items, size_t first) const;

  /// Whether those calls are of all modules of their list.
  bool is_whole_list(const Scope& scope, const std::vector<ScopeItem>& items, size_t first,
                     size_t count) const;

  /// Whether a module only calls those in it, one after the other.
  bool is_all(const Scope& scope, const std::vector<const Value*>& inputs,
              const std::vector<const Value*>& outputs) const;

 private:
  size_t reads_in(const Scope& scope, const Value* value) const;
  size_t list_length(const std::string& list) const;

  Module& module_;
  const Forms& forms_;
  const std::set<std::string>& scopes_;
};

}  // namespace onward::emit
