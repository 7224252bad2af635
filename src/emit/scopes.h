#pragma once

// The graph as modules inside of modules. A scope has the nodes that one module computes: those of
// the layers under its path, and those that the file says it called. It is a function of values:
// no path of the graph leaves a scope and comes back to it.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace onward::emit {

struct Scope;

/// One line of a scope: a node, or a module inside.
using ScopeItem = std::variant<const Node*, Scope*>;

struct Scope {
  std::string path;  // "blocks.0.attn"; empty for the model
  Scope* parent = nullptr;
  std::vector<std::unique_ptr<Scope>> children = {};
  std::vector<ScopeItem> items = {};  // in an order in which they can be computed
  std::vector<const Value*> inputs = {}, outputs = {};

  /// How many levels of scopes are in it.
  int height() const;
};

/// A node that is to be placed.
struct ScopeUnit {
  const Node* node;
  std::string path;                 // of the scope that it should be in, or of one inside of it
  std::vector<const Value*> reads;  // what must be there first
};

/// The modules that a file says a node was computed in, from the outermost on, by torch's exporter
/// or onward.keras.export.
struct Caller {
  std::string path;
  std::string kind;  // "models.EncoderBlock", "torch.nn.modules.linear.Linear"

  bool is_framework() const { return kind.starts_with("torch.nn.") || kind.starts_with("keras."); }
  /// "EncoderBlock".
  std::string name() const;
};
std::vector<Caller> callers_of(const Node& node);

/// What the class of a model is called: as the file says, else like its graph.
std::string model_name(const Graph& graph);

/// The scopes of `units`, which are in an order in which they can be computed. `paths` are those
/// that may become scopes; `results` are read from outside.
std::unique_ptr<Scope> find_scopes(std::span<const ScopeUnit> units,
                                   const std::set<std::string>& paths,
                                   std::span<const Value* const> results);

/// "a.b" for "a.b.c", "" for "a".
std::string_view parent_path(std::string_view path);
/// Whether a path is inside of another, or the same.
bool is_inside(std::string_view path, std::string_view of);

}  // namespace onward::emit
