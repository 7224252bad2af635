#include "emit/places.h"

#include <unordered_map>
#include <unordered_set>

namespace onward::emit {
namespace {

using KnownPlaces = std::unordered_map<const Node*, std::string>;

/// How far the neighbours of a node are looked for.
constexpr size_t kMaxVisits = 64;

std::vector<const Node*> nodes_before(const Node& node) {
  std::vector<const Node*> nodes;
  for (const Value* input : node.inputs()) {
    if (input && input->producer()) nodes.push_back(input->producer());
  }
  return nodes;
}

std::vector<const Node*> nodes_after(const Node& node) {
  std::vector<const Node*> nodes;
  for (const auto& output : node.outputs()) {
    if (!output) continue;
    for (const Use& use : output->uses()) nodes.push_back(use.node);
  }
  return nodes;
}

/// The places of the nearest nodes in one direction that have one.
std::set<std::string> nearest(const Node& node, const KnownPlaces& known,
                              std::vector<const Node*> (*next)(const Node&)) {
  std::set<std::string> found;
  std::vector<const Node*> open = next(node);
  std::unordered_set<const Node*> seen;
  while (!open.empty() && seen.size() < kMaxVisits) {
    const Node* at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    if (const auto place = known.find(at); place != known.end()) {
      found.insert(place->second);
      continue;
    }
    const auto more = next(*at);
    open.insert(open.end(), more.begin(), more.end());
  }
  return found;
}

std::string place_between(const Node& node, const KnownPlaces& known) {
  const auto sources = nearest(node, known, nodes_before),
             readers = nearest(node, known, nodes_after);
  std::string_view best;
  for (const std::string& source : sources) {
    for (const std::string& reader : readers) {
      std::string_view common = source;
      while (!is_inside(reader, common)) common = parent_path(common);
      if (common.size() > best.size()) best = common;
    }
  }
  return std::string(best);
}

void find_paths(const Module& module, Places& places) {
  const bool says_callers = !places.callers.empty();
  for (const Layer& layer : module.layers()) {
    for (auto path = parent_path(layer.path); !path.empty(); path = parent_path(path)) {
      if (!says_callers || places.callers.contains(std::string(path))) places.paths.emplace(path);
    }
  }
  for (const auto& [path, caller] : places.callers) {
    if (!path.empty() && !caller.is_framework()) places.paths.insert(path);
  }
  for (const Layer& layer : module.layers()) places.paths.erase(layer.path);
}

}  // namespace

Places find_places(const Module& module, std::span<const Value* const> results) {
  Places places;
  KnownPlaces known;
  for (const Node* node : module.needed(results, nullptr)) {
    ScopeUnit unit{.node = node, .path = {}, .reads = module.reads(*node)};
    const auto callers = callers_of(*node);
    for (const Caller& caller : callers) places.callers[module.placed(caller.path)] = caller;
    if (const Layer* layer = module.layer_of(*node)) {
      known[node] = unit.path = parent_path(layer->path);
    } else if (!callers.empty()) {
      known[node] = unit.path = module.placed(callers.back().path);
    }
    places.units.push_back(std::move(unit));
  }
  for (ScopeUnit& unit : places.units) {
    if (!known.contains(unit.node)) unit.path = place_between(*unit.node, known);
  }
  find_paths(module, places);
  return places;
}

}  // namespace onward::emit
