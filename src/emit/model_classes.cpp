#include "emit/model_classes.h"

#include <fmt/format.h>

#include <algorithm>

namespace onward::emit {
namespace {

std::vector<const Value*> outputs_of(const Graph& graph) {
  return {graph.outputs().begin(), graph.outputs().end()};
}

std::vector<const Value*> both_of(std::vector<const Value*> first,
                                  const std::vector<const Value*>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

ModelClasses::ModelClasses(const SourceParts& parts, std::string name,
                           std::vector<const Value*> predictions, const ContainerWords& words)
    : graph_(*parts.graph),
      module_(*parts.module),
      name_(std::move(name)),
      words_(words),
      results_(outputs_of(graph_)),
      predictions_(std::move(predictions)),
      read_(both_of(predictions_, results_)),
      forms_(module_, read_),
      places_(find_places(module_, read_)),
      names_(module_.context().names),
      helpers_(module_.context().helpers),
      modules_(module_.context().modules) {}

std::string ModelClasses::text() {
  for (;;) {
    try {
      const size_t tensors = module_.plain_tensors().size();
      std::string text = attempt();
      // A module may hold a tensor that only a later one reads.
      if (module_.plain_tensors().size() == tensors) return text;
      module_.forget_refusals();
    } catch (const LeavesScope& left) {
      if (!left.tensor || !hand_over(left.tensor)) places_.paths.erase(left.path);
      module_.forget_refusals();
    }
  }
}

/// Makes a tensor an argument of the modules that read it without holding it; false where it is
/// one already.
bool ModelClasses::hand_over(const Value* tensor) {
  if (!handed_over_.insert(tensor).second) return false;
  for (ScopeUnit& unit : places_.units) {
    if (std::ranges::find(unit.node->inputs(), tensor) != unit.node->inputs().end()) {
      unit.reads.push_back(tensor);
    }
  }
  return true;
}

std::string ModelClasses::attempt() {
  const auto root = find_scopes(places_.units, places_.paths, read_);
  constructors_.clear();
  scopes_.clear();
  ClassMaker maker(names_);
  module_.context().helpers = helpers_;
  module_.context().modules = modules_;
  std::vector<Scope*> all;
  collect(*root, all);
  module_.find_dicts(scopes_);
  for (int height = 0; height < root->height(); ++height) {
    std::vector<ModuleText> texts;
    std::vector<const Scope*> of;
    for (const Scope* scope : all) {
      if (scope == root.get() || scope->height() != height) continue;
      if (auto chain = chain_of(*scope)) {
        constructors_[scope->path] = *chain;
      } else {
        texts.push_back(module_text(*scope));
        of.push_back(scope);
      }
    }
    const auto calls = maker.make(texts);
    for (size_t i = 0; i < of.size(); ++i) constructors_[of[i]->path] = calls[i];
  }
  const ModuleText model = module_text(*root);
  std::string text;
  for (const SharedClass& each : maker.classes()) text += class_text(each) + "\n\n";
  return text + model_class_text(*root, model);
}

void ModelClasses::collect(Scope& scope, std::vector<Scope*>& all) {
  all.push_back(&scope);
  std::erase_if(scope.inputs, [&](const Value* input) {
    return handed_over_.contains(input) &&
           is_inside(module_.context().held.at(input).path, scope.path);
  });
  scopes_.insert(scope.path);
  for (const auto& child : scope.children) collect(*child, all);
}

ModuleText ModelClasses::module_text(const Scope& scope) {
  ModuleText text;
  text.wanted = wanted_name(scope.path);
  text.other_lines = function_lines(scope);
  const auto modules = held_modules(scope, text.attributes);
  text.init_lines = init_lines(scope, modules);
  return text;
}

/// "EncoderBlock" as the file says, else "Attn" of "blocks.0.attn" and "Block" of "blocks.0".
std::string ModelClasses::wanted_name(const std::string& path) const {
  if (const auto found = places_.callers.find(path); found != places_.callers.end()) {
    return class_name(found->second.name(), "Block");
  }
  std::string_view named = path;
  bool is_one_of_several = false;
  while (is_number(named.substr(named.rfind('.') + 1)) && !named.empty()) {
    named = parent_path(named);
    is_one_of_several = true;
  }
  std::string name(named.substr(named.rfind('.') + 1));
  if (is_one_of_several && name.size() > 1 && name.ends_with('s')) name.pop_back();
  return class_name(name, "Block");
}

// Functions.

std::string ModelClasses::names_of(Body& body, std::span<const Value* const> values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(body.tensor(value));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<ScopeItem> ModelClasses::items_for(const Scope& scope,
                                               std::span<const Value* const> values) const {
  std::set<const Value*> needed(values.begin(), values.end());
  std::vector<ScopeItem> items;
  for (auto item = scope.items.rbegin(); item != scope.items.rend(); ++item) {
    const auto made = made_by(*item);
    if (std::ranges::none_of(made, [&](const Value* each) { return needed.contains(each); })) {
      continue;
    }
    items.insert(items.begin(), *item);
    const auto reads = reads_of(module_, *item);
    needed.insert(reads.begin(), reads.end());
  }
  return items;
}

void ModelClasses::write_items(const Scope& scope, const std::vector<ScopeItem>& items,
                               Body& body) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (const size_t count = write_loop(scope, items, i, body); count > 0) {
      i += count - 1;
    } else if (const auto* inside = std::get_if<Scope*>(&items[i])) {
      write_module(**inside, body);
    } else {
      module_.write_node(*std::get<const Node*>(items[i]), body);
    }
  }
}

void ModelClasses::write_module(const Scope& inside, Body& body) const {
  std::vector<std::string> arguments, made;
  for (const Value* input : inside.inputs) {
    arguments.push_back(body.tensor(input, forms_.wanted(inside, input)));
  }
  const std::string called = body.attribute(inside.path);
  for (const Value* output : inside.outputs) {
    made.push_back(body.declare(output, forms_.of(output)));
  }
  body.add_line(
      fmt::format("{} = {}({})", fmt::join(made, ", "), called, fmt::join(arguments, ", ")), true);
}

size_t ModelClasses::write_loop(const Scope& scope, const std::vector<ScopeItem>& items,
                                size_t first, Body& body) {
  const Chains chains = this->chains();
  const size_t count = chains.length(scope, items, first);
  if (count < 2 || !chains.is_whole_list(scope, items, first, count)) return 0;
  const auto reads = reads_of(module_, items[first]);
  const Value *in = reads[0], *out = made_by(items[first + count - 1])[0];
  const auto* inside = std::get_if<Scope*>(&items[first]);
  const Form form = inside ? forms_.wanted(**inside, in) : forms_.of(out);
  if (form != forms_.of(out)) return 0;
  const std::string list(parent_path(chains.called_path(scope, items[first])));
  std::string each(list.substr(list.rfind('.') + 1));
  each = each.size() > 1 && each.ends_with('s') ? each.substr(0, each.size() - 1) : "block";
  std::string more;
  for (size_t i = 1; i < reads.size(); ++i) {
    more += ", " + body.tensor(reads[i], inside ? forms_.wanted(**inside, reads[i]) : Form::plain);
  }
  const std::string first_x = body.tensor(in, form), x = body.declare(out, form);
  body.add_line(fmt::format("{} = {}", x, first_x));
  const std::string variable = body.variable({each, true});
  body.open_block(fmt::format("for {} in {}:", variable, body.attribute(list)));
  body.add_statement(fmt::format("{0} = {1}({0}{2})", x, variable, more));
  body.close_block();
  return count;
}

// Constructors.

std::string ModelClasses::owner_of(std::string_view path) const {
  for (path = parent_path(path); !path.empty(); path = parent_path(path)) {
    if (scopes_.contains(std::string(path))) return std::string(path);
  }
  return "";
}

std::vector<const Value*> ModelClasses::tensors_of(const Scope& scope) const {
  std::vector<const Value*> tensors;
  for (const Value* value : module_.plain_tensors()) {
    if (owner_of(module_.path_of(value)) == scope.path) tensors.push_back(value);
  }
  return tensors;
}

/// A module that is a chain of others is none of ours.
std::optional<std::string> ModelClasses::chain_of(const Scope& scope) const {
  if (!chains().is_all(scope, scope.inputs, scope.outputs)) return std::nullopt;
  if (!tensors_of(scope).empty()) return std::nullopt;
  return chain_text(words_, numbered_modules(scope));
}

std::vector<std::string> ModelClasses::numbered_modules(const Scope& scope) const {
  std::vector<std::string> modules;
  const auto add = [&](const std::string& path, const std::string& constructor) {
    const int64_t number = number_in(scope.path, path);
    if (number < 0) return;
    const auto at = static_cast<size_t>(number);
    if (modules.size() <= at) modules.resize(at + 1, std::string(words_.identity));
    modules[at] = constructor;
  };
  for (const Layer& layer : module_.layers()) add(layer.path, layer.constructor);
  for (const auto& child : scope.children) add(child->path, constructors_.at(child->path));
  return modules;
}

/// The lines of the modules that a scope holds.
std::vector<std::string> ModelClasses::held_modules(const Scope& scope,
                                                    std::vector<std::string>& attributes) {
  const size_t skipped = scope.path.empty() ? 0 : scope.path.size() + 1;
  Containers containers(words_);
  const auto add = [&](const std::string& path, const std::string& constructor) {
    if (owner_of(path) == scope.path) containers.add(path.substr(skipped), constructor);
  };
  const auto add_layer = [&](const Layer& layer) {
    if (!layer.padding.empty()) add(layer.padding_path, layer.padding);
    add(layer.path, layer.constructor);
  };
  // In the order in which they are called; what is not called comes last.
  for (const ScopeItem& item : scope.items) {
    if (const auto* inside = std::get_if<Scope*>(&item)) {
      add((*inside)->path, constructors_.at((*inside)->path));
    } else if (const Layer* layer = module_.layer_of(*std::get<const Node*>(item))) {
      add_layer(*layer);
    }
  }
  for (const Layer& layer : module_.layers()) add_layer(layer);
  for (const Value* value : tensors_of(scope)) {
    containers.add_parents(module_.path_of(value).substr(skipped));
  }
  attributes = containers.names();
  // No attribute is called "0": such a module is a list of the one around it.
  if (!scope.path.empty() && std::ranges::any_of(attributes, is_number)) {
    throw LeavesScope{scope.path};
  }
  return containers.lines(scope.path, module_.context().lists);
}

}  // namespace onward::emit
