#include "emit/chains.h"

#include <algorithm>

namespace onward::emit {

std::vector<const Value*> reads_of(const Module& module, const ScopeItem& item) {
  if (const auto* inside = std::get_if<Scope*>(&item)) return (*inside)->inputs;
  return module.reads(*std::get<const Node*>(item));
}

std::vector<const Value*> made_by(const ScopeItem& item) {
  if (const auto* inside = std::get_if<Scope*>(&item)) return (*inside)->outputs;
  std::vector<const Value*> made;
  for (const auto& output : std::get<const Node*>(item)->outputs()) {
    if (output) made.push_back(output.get());
  }
  return made;
}

int64_t number_in(const std::string& list, const std::string& path) {
  if (path.empty() || parent_path(path) != list) return -1;
  const std::string part = path.substr(list.empty() ? 0 : list.size() + 1);
  return is_number(part) && part.size() < 6 ? std::stoll(part) : -1;
}

std::string Chains::called_path(const Scope& scope, const ScopeItem& item) const {
  const auto reads = reads_of(module_, item);
  if (reads.empty()) return "";
  const bool is_given =
      !scope.path.empty() && std::ranges::find(scope.inputs, reads[0]) != scope.inputs.end();
  const Form form = is_given ? forms_.wanted(scope, reads[0]) : forms_.of(reads[0]);
  if (const auto* inside = std::get_if<Scope*>(&item)) {
    const bool is_plain =
        (*inside)->outputs.size() == 1 && forms_.wanted(**inside, reads[0]) == form;
    return is_plain ? (*inside)->path : "";
  }
  const Layer* layer = module_.layer_of(*std::get<const Node*>(item));
  const bool is_plain = layer && !layer->gives_several && layer->padding.empty() &&
                        !layer->pads_in_call && layer->options.empty() && layer->picked.empty() &&
                        Forms::fits(*layer, reads[0], form);
  return is_plain ? layer->path : "";
}

/// How often the items of a scope read a value, and the scope gives it.
size_t Chains::reads_in(const Scope& scope, const Value* value) const {
  size_t count = static_cast<size_t>(std::ranges::count(scope.outputs, value));
  for (const ScopeItem& item : scope.items) {
    count += static_cast<size_t>(std::ranges::count(reads_of(module_, item), value));
  }
  return count;
}

size_t Chains::length(const Scope& scope, const std::vector<ScopeItem>& items, size_t first) const {
  const std::string list(parent_path(called_path(scope, items[first])));
  size_t count = 0;
  int64_t number = -1;
  const Value* last = nullptr;
  while (first + count < items.size()) {
    const ScopeItem& item = items[first + count];
    const int64_t own = number_in(list, called_path(scope, item));
    if (own <= number) break;
    number = own;
    const auto reads = reads_of(module_, item);
    const auto first_reads = reads_of(module_, items[first]);
    // What else is handed over is the same for all.
    if (!std::ranges::equal(std::span(reads).subspan(1), std::span(first_reads).subspan(1))) break;
    if (last && (reads[0] != last || reads_in(scope, last) != 1)) break;
    last = made_by(item)[0];
    ++count;
  }
  return count;
}

bool Chains::is_whole_list(const Scope& scope, const std::vector<ScopeItem>& items, size_t first,
                           size_t count) const {
  const std::string list(parent_path(called_path(scope, items[first])));
  return !list.empty() && list_length(list) == count &&
         number_in(list, called_path(scope, items[first + count - 1])) + 1 ==
             static_cast<int64_t>(count) &&
         module_.context().lists.contains(list) && !scopes_.contains(list);
}

bool Chains::is_all(const Scope& scope, const std::vector<const Value*>& inputs,
                    const std::vector<const Value*>& outputs) const {
  return inputs.size() == 1 && outputs.size() == 1 && !scope.items.empty() &&
         module_.context().lists.contains(scope.path) &&
         number_in(scope.path, called_path(scope, scope.items[0])) >= 0 &&
         reads_of(module_, scope.items[0]) == inputs && reads_in(scope, inputs[0]) == 1 &&
         length(scope, scope.items, 0) == scope.items.size() &&
         made_by(scope.items.back())[0] == outputs[0] &&
         list_length(scope.path) == scope.items.size();
}

/// How many modules a list has.
size_t Chains::list_length(const std::string& list) const {
  std::set<std::string> parts;
  const auto add = [&](std::string_view path) {
    if (is_inside(path, list) && path != list) {
      const std::string_view rest = path.substr(list.empty() ? 0 : list.size() + 1);
      parts.emplace(rest.substr(0, rest.find('.')));
    }
  };
  for (const Layer& layer : module_.layers()) add(layer.path);
  for (const std::string& path : scopes_) add(path);
  return parts.size();
}

}  // namespace onward::emit
