#include "emit/scopes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "emit/python.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// The strings of a list as Python prints it: ['', 'blocks.0'].
std::vector<std::string> strings_in(std::string_view list) {
  std::vector<std::string> strings;
  for (size_t at = list.find('\''); at != std::string_view::npos; at = list.find('\'', at + 1)) {
    const size_t end = list.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    strings.emplace_back(list.substr(at + 1, end - at - 1));
    at = end;
  }
  return strings;
}

/// What an exporter notes at a node: torch's own, or ours for Keras.
std::string_view metadata_of(const Node& node, std::string_view key) {
  for (const auto& [name, text] : node.metadata) {
    if ((name.starts_with("pkg.torch.onnx.") || name.starts_with("onward.")) &&
        name.substr(name.rfind('.') + 1) == key) {
      return text;
    }
  }
  return {};
}

class Builder {
 public:
  Builder(std::span<const ScopeUnit> units, std::set<std::string> paths,
          std::span<const Value* const> results)
      : units_(units), paths_(std::move(paths)), results_(results.begin(), results.end()) {
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const auto& output : units_[i].node->outputs()) {
        if (output) producers_[output.get()] = i;
      }
    }
    for (size_t i = 0; i < units_.size(); ++i) {
      std::vector<size_t> before;
      for (const Value* read : units_[i].reads) {
        const auto found = producers_.find(read);
        if (found != producers_.end()) before.push_back(found->second);
      }
      before_.push_back(std::move(before));
    }
  }

  /// Scopes that can't be computed in one go become parts of those around them, until all can.
  std::unique_ptr<Scope> build() {
    for (;;) {
      if (auto root = try_build()) return root;
    }
  }

 private:
  using Needs = std::map<ScopeItem, std::set<ScopeItem>>;

  /// The innermost scope for a path.
  std::string scope_of(std::string_view path) const {
    while (!path.empty() && !paths_.contains(std::string(path))) path = parent_path(path);
    return std::string(path);
  }

  std::unique_ptr<Scope> try_build() {
    auto root = std::make_unique<Scope>();
    scopes_ = {{"", root.get()}};
    places_.clear();
    for (const ScopeUnit& unit : units_) places_.push_back(&scope_at(scope_of(unit.path)));
    if (!order(*root)) return nullptr;
    connect(*root);
    return root;
  }

  Scope& scope_at(const std::string& path) {
    if (const auto found = scopes_.find(path); found != scopes_.end()) return *found->second;
    Scope& parent = scope_at(scope_of(parent_path(path)));
    auto made = std::make_unique<Scope>();
    made->path = path;
    made->parent = &parent;
    Scope& scope = *made;
    parent.children.push_back(std::move(made));
    scopes_[path] = &scope;
    return scope;
  }

  /// What of `scope` a unit is in: itself, or the module inside that has it; nothing for a unit
  /// outside.
  std::optional<ScopeItem> item_of(const Scope& scope, size_t unit) const {
    Scope* at = places_[unit];
    if (at == &scope) return units_[unit].node;
    for (; at; at = at->parent) {
      if (at->parent == &scope) return at;
    }
    return std::nullopt;
  }

  /// Puts the items of a scope in order; false where a module inside is in the way of itself, which
  /// then is no scope any more.
  bool order(Scope& scope) {
    std::vector<ScopeItem> items;  // by their first unit
    Needs before;
    for (size_t i = 0; i < units_.size(); ++i) {
      const auto item = item_of(scope, i);
      if (!item) continue;
      if (!before.contains(*item)) items.push_back(*item);
      auto& needs = before[*item];
      for (const size_t each : before_[i]) {
        const auto other = item_of(scope, each);
        if (other && *other != *item) needs.insert(*other);
      }
    }
    std::set<ScopeItem> done;
    for (size_t left = items.size(); left > 0;) {
      const size_t count = done.size();
      for (const ScopeItem& item : items) {
        const bool is_next =
            !done.contains(item) && std::ranges::all_of(before[item], [&](const ScopeItem& need) {
              return done.contains(need);
            });
        if (!is_next) continue;
        done.insert(item);
        scope.items.push_back(item);
        --left;
      }
      if (done.size() == count) return dissolve_one(items, before, done);
    }
    return std::ranges::all_of(scope.children, [&](const auto& child) { return order(*child); });
  }

  bool dissolve_one(const std::vector<ScopeItem>& items, const Needs& before,
                    const std::set<ScopeItem>& done) {
    for (const ScopeItem& item : items) {
      const auto* scope = std::get_if<Scope*>(&item);
      if (!scope || done.contains(item) || !needs_itself(item, before)) continue;
      paths_.erase((*scope)->path);
      return false;
    }
    throw Bug("the nodes of a graph have no order");
  }

  static bool needs_itself(const ScopeItem& item, const Needs& before) {
    std::set<ScopeItem> seen;
    std::vector<ScopeItem> open = {item};
    while (!open.empty()) {
      const ScopeItem at = open.back();
      open.pop_back();
      for (const ScopeItem& need : before.at(at)) {
        if (need == item) return true;
        if (seen.insert(need).second) open.push_back(need);
      }
    }
    return false;
  }

  bool contains(const Scope& scope, size_t unit) const {
    for (const Scope* at = places_[unit]; at; at = at->parent) {
      if (at == &scope) return true;
    }
    return false;
  }

  void connect(Scope& scope) {
    std::unordered_set<const Value*> seen, read_outside;
    for (size_t i = 0; i < units_.size(); ++i) {
      const bool inside = contains(scope, i);
      for (const Value* read : units_[i].reads) {
        const auto producer = producers_.find(read);
        const bool made_inside = producer != producers_.end() && contains(scope, producer->second);
        if (inside && !made_inside && seen.insert(read).second) scope.inputs.push_back(read);
        if (!inside && made_inside) read_outside.insert(read);
      }
    }
    for (size_t i = 0; i < units_.size(); ++i) {
      if (!contains(scope, i)) continue;
      for (const auto& output : units_[i].node->outputs()) {
        if (output && (read_outside.contains(output.get()) || results_.contains(output.get()))) {
          scope.outputs.push_back(output.get());
        }
      }
    }
    for (const auto& child : scope.children) connect(*child);
  }

  std::span<const ScopeUnit> units_;
  std::set<std::string> paths_;
  std::unordered_set<const Value*> results_;
  std::unordered_map<const Value*, size_t> producers_;
  std::vector<std::vector<size_t>> before_;  // units that a unit needs
  std::map<std::string, Scope*> scopes_;
  std::vector<Scope*> places_;  // of units
};

}  // namespace

int Scope::height() const {
  int height = 0;
  for (const auto& child : children) height = std::max(height, child->height() + 1);
  return height;
}

std::string Caller::name() const { return kind.substr(kind.rfind('.') + 1); }

std::vector<Caller> callers_of(const Node& node) {
  const auto paths = strings_in(metadata_of(node, "name_scopes"));
  const auto kinds = strings_in(metadata_of(node, "class_hierarchy"));
  // The first is the model itself, and the last the node.
  if (paths.size() < 2 || paths.size() != kinds.size() || !paths[0].empty()) return {};
  std::vector<Caller> callers;
  for (size_t i = 0; i + 1 < paths.size(); ++i) callers.push_back({paths[i], kinds[i]});
  return callers;
}

std::string model_name(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    const auto callers = callers_of(*node);
    if (!callers.empty() && !callers[0].is_framework())
      return class_name(callers[0].name(), "Model");
  }
  return class_name(graph.name, "Model");
}

std::unique_ptr<Scope> find_scopes(std::span<const ScopeUnit> units,
                                   const std::set<std::string>& paths,
                                   std::span<const Value* const> results) {
  return Builder(units, paths, results).build();
}

std::string_view parent_path(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? "" : path.substr(0, dot);
}

bool is_inside(std::string_view path, std::string_view of) {
  return of.empty() ||
         (path.starts_with(of) && (path.size() == of.size() || path[of.size()] == '.'));
}

}  // namespace onward::emit
