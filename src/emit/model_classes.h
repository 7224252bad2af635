#pragma once

// A model as classes: one for the modules that are alike, and one for the model itself. What is the
// same for frameworks with modules; a dialect says how it writes functions and constructors.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/chains.h"
#include "emit/classes.h"
#include "emit/containers.h"
#include "emit/forms.h"
#include "emit/places.h"
#include "emit/scopes.h"
#include "emit/source.h"

namespace onward::emit {

class ModelClasses {
 public:
  /// `predictions` are what a loss reads; the results where there is none.
  ModelClasses(const SourceParts& parts, std::string name, std::vector<const Value*> predictions,
               const ContainerWords& words);
  virtual ~ModelClasses() = default;
  ModelClasses(const ModelClasses&) = delete;
  ModelClasses& operator=(const ModelClasses&) = delete;

  /// All classes, the model's last.
  std::string text();

 protected:
  // What a dialect writes.

  /// The function that computes a module, or the model.
  virtual std::vector<std::string> function_lines(const Scope& scope) = 0;
  /// The constructor's lines, without the sizes that become arguments; none for one that does
  /// nothing.
  virtual std::vector<std::string> init_lines(const Scope& scope,
                                              const std::vector<std::string>& modules) = 0;
  /// The class of some modules.
  virtual std::string class_text(const SharedClass& shared) const = 0;
  virtual std::string model_class_text(const Scope& root, const ModuleText& model) = 0;

  // What it writes that with.

  Module& module() { return module_; }
  const Module& module() const { return module_; }
  const Graph& graph() const { return graph_; }
  const std::string& name() const { return name_; }
  const std::vector<const Value*>& results() const { return results_; }
  const std::vector<const Value*>& predictions() const { return predictions_; }
  const Forms& forms() const { return forms_; }
  Chains chains() const { return {module_, forms_, scopes_}; }
  bool is_scope(const std::string& path) const { return scopes_.contains(path); }

  /// The innermost scope that a path is strictly inside of.
  std::string owner_of(std::string_view path) const;
  /// The tensors that a scope holds itself.
  std::vector<const Value*> tensors_of(const Scope& scope) const;
  /// The modules of a list by their numbers; the framework's identity where there is none.
  std::vector<std::string> numbered_modules(const Scope& scope) const;

  void write_items(const Scope& scope, const std::vector<ScopeItem>& items, Body& body);
  /// The items of a scope that some values need.
  std::vector<ScopeItem> items_for(const Scope& scope, std::span<const Value* const> values) const;
  /// Values in the model's order of dimensions, with commas between.
  static std::string names_of(Body& body, std::span<const Value* const> values);

 private:
  std::string attempt();
  bool hand_over(const Value* tensor);
  void collect(Scope& scope, std::vector<Scope*>& all);
  ModuleText module_text(const Scope& scope);
  std::vector<std::string> held_modules(const Scope& scope, std::vector<std::string>& attributes);
  std::optional<std::string> chain_of(const Scope& scope) const;
  std::string wanted_name(const std::string& path) const;
  void write_module(const Scope& inside, Body& body) const;
  size_t write_loop(const Scope& scope, const std::vector<ScopeItem>& items, size_t first,
                    Body& body);

  const Graph& graph_;
  Module& module_;
  std::string name_;
  const ContainerWords& words_;
  std::vector<const Value*> results_, predictions_, read_;  // the last: both
  Forms forms_;
  Places places_;
  PythonNames names_;                                // that classes can't have
  std::set<std::string> helpers_, modules_;          // of layers
  std::set<const Value*> handed_over_;               // tensors that are arguments of modules
  std::set<std::string> scopes_;                     // paths
  std::map<std::string, std::string> constructors_;  // of scopes
};

}  // namespace onward::emit
