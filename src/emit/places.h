#pragma once

// Which module each node of a model belongs to.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/module.h"
#include "emit/scopes.h"

namespace onward::emit {

struct Places {
  std::vector<ScopeUnit> units;           // nodes, or the last ones of layers
  std::set<std::string> paths;            // that may be scopes
  std::map<std::string, Caller> callers;  // modules that the file tells of, by path
};

/// Places all nodes that `results` need: where the file says who called them, there; else layers by
/// their paths, and what lies between layers in the innermost module that has some of what it reads
/// and some of what reads it.
Places find_places(const Module& module, std::span<const Value* const> results);

}  // namespace onward::emit
