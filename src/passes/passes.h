#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/model.h"
#include "ir/rewrite.h"

namespace onward {

/// What a pass works on: a step all of whose shapes are known, or as many as can be. State is
/// never a constant: no pass folds, merges or renames it.
struct PassContext {
  PassContext(Model& model, std::function<bool(const std::string&)> state)
      : step(model), graph(*model.graph), names(model), is_state(std::move(state)) {}

  Model& step;
  Graph& graph;
  Names names;
  std::function<bool(const std::string&)> is_state;

  /// The elements of a value that no run changes, or null.
  const Tensor* constant(const Value* value) const;
};

struct Pass {
  std::string_view name;
  void (*run)(PassContext&);
};

/// Runs passes in order. A graph that one of them left out of order, or with outputs of other
/// types, is a Bug that names it.
void run_passes(std::span<const Pass> passes, PassContext& c);

// The passes that are good for any step, each in the file of its name. Who uses them has a list of
// its own that says in which order: runtime/passes/, lower/.
void fold_constants(PassContext& c);
void simplify(PassContext& c);
void share_subgraphs(PassContext& c);
void fuse_transposes(PassContext& c);
void drop_dead_nodes(PassContext& c);

/// The dimensions of a value, where all are known.
std::optional<std::vector<int64_t>> static_dims(const Value& value);

/// The number that a constant holds in all of its elements, which may be one, or nothing.
std::optional<double> uniform_number(const Tensor* constant);

}  // namespace onward
