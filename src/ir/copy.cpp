#include "ir/copy.h"

#include <fmt/format.h>

#include <set>

#include "ir/clone.h"
#include "ir/source.h"
#include "onward/error.h"

namespace onward {
namespace {

/// Copies graphs and remembers what became of each.
class Copier {
 public:
  void copy_graph(const Graph& from, Graph& to) {
    to.name = from.name;
    to.doc = from.doc;
    to.metadata = from.metadata;
    to.annotations = from.annotations;
    clone_into(from, to, values_);
    for (Value* output : from.outputs()) to.add_output(mapped(values_, output));
    graphs_.emplace_back(&from, &to);
  }

  std::unique_ptr<Graph> copy_graph(const std::unique_ptr<Graph>& from, Graph* inside) {
    if (!from) return nullptr;
    auto to = std::make_unique<Graph>(inside);
    copy_graph(*from, *to);
    return to;
  }

  std::vector<Binding> copy_bindings(const std::vector<Binding>& bindings) const {
    std::vector<Binding> copies;
    for (const Binding& binding : bindings) {
      copies.push_back({mapped(values_, binding.target), mapped(values_, binding.source)});
    }
    return copies;
  }

  /// What the copy remembers of the file: the copy's graphs count their changes anew.
  std::shared_ptr<const Source> copy_source(const Source& source) const {
    auto copied = std::make_shared<Source>();
    copied->proto = source.proto;
    copied->folder = source.folder;
    copied->inlined_functions = source.inlined_functions;
    for (const auto& [value, data] : source.as_read) {
      const auto found = values_.find(value);
      if (found != values_.end()) copied->as_read.emplace(found->second, data);
    }
    for (const auto& [from, to] : graphs_) {
      const auto found = source.edits.find(from);
      if (found == source.edits.end()) continue;
      const bool unchanged = found->second == from->edits();
      copied->edits.emplace(to, unchanged ? to->edits() : -1);
    }
    return copied;
  }

 private:
  ValueMap values_;
  std::vector<std::pair<const Graph*, const Graph*>> graphs_;
};

}  // namespace

Model copy(const Model& model) {
  Model result;
  result.ir_version = model.ir_version;
  result.opsets = model.opsets;
  result.producer_name = model.producer_name;
  result.producer_version = model.producer_version;
  result.domain = model.domain;
  result.doc = model.doc;
  result.version = model.version;
  result.metadata = model.metadata;
  result.device_configurations = model.device_configurations;
  result.from_draft = model.from_draft;

  Copier copier;
  copier.copy_graph(*model.graph, *result.graph);
  for (const TrainingInfo& info : model.training) {
    TrainingInfo& added = result.training.emplace_back();
    added.initialization = copier.copy_graph(
        info.initialization,
        info.initialization && info.initialization->inside() ? result.graph.get() : nullptr);
    added.algorithm = copier.copy_graph(info.algorithm, result.graph.get());
    added.initialization_bindings = copier.copy_bindings(info.initialization_bindings);
    added.update_bindings = copier.copy_bindings(info.update_bindings);
  }
  if (model.source) result.source = copier.copy_source(*model.source);
  return result;
}

void set_initializers(Model& model, const std::map<std::string, Tensor, std::less<>>& tensors) {
  std::set<std::string> names;
  for_each_top_level_graph(model, [&](Graph& graph, GraphRole) {
    for (Value* value : graph.initializers()) {
      const auto given = tensors.find(value->name());
      if (given == tensors.end()) continue;
      const Type wanted = value->initializer()->type();
      if (given->second.type() != wanted) {
        throw Error(fmt::format("'{}' is {}, not {}", value->name(), to_string(wanted),
                                to_string(given->second.type())));
      }
      graph.set_initializer(value, given->second);
      names.insert(value->name());
    }
  });
  for (const auto& [name, tensor] : tensors) {
    if (!names.contains(name)) throw Error(fmt::format("there is no initializer '{}'", name));
  }
}

}  // namespace onward
