#pragma once

// In which order of dimensions values pass from module to module: as they are made. So images that
// have their channels last keep them there from layer to layer, whatever modules these are in.

#include <span>
#include <unordered_set>

#include "emit/module.h"
#include "emit/scopes.h"

namespace onward::emit {

class Forms {
 public:
  /// All nodes that `results` need are written once, for nobody, to see what each gives.
  Forms(Module& module, std::span<const Value* const> results);

  /// What a value is made in.
  Form of(const Value* value) const;
  /// What a module takes one of its inputs in: as it is made, or as its first reader wants it.
  Form wanted(const Scope& scope, const Value* input) const;
  /// Whether a layer reads a value in that form.
  static bool fits(const Layer& layer, const Value* input, Form form);

 private:
  std::optional<Form> asked_for(const Scope& scope, const Value* input) const;

  Module& module_;
  std::unordered_set<const Value*> channels_last_;
};

}  // namespace onward::emit
