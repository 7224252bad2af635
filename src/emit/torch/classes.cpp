#include "emit/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "emit/job.h"
#include "emit/places.h"
#include "emit/scopes.h"
#include "emit/source.h"
#include "emit/torch/containers.h"
#include "emit/torch/dialect.h"

namespace onward::emit {
namespace {

class TorchClasses {
 public:
  TorchClasses(const SourceParts& parts, std::string name)
      : graph_(*parts.graph), module_(*parts.module), job_(parts.job), name_(std::move(name)) {
    results_.assign(graph_.outputs().begin(), graph_.outputs().end());
    predictions_ = job_ ? job_->predictions : results_;
    std::vector<const Value*> all = predictions_;
    all.insert(all.end(), results_.begin(), results_.end());
    places_ = find_places(module_, all);
    names_ = module_.context().names;
    helpers_ = module_.context().helpers;
    modules_ = module_.context().modules;
  }

  std::string text() {
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

 private:
  /// Makes a tensor an argument of the modules that read it without holding it; false where it is
  /// one already.
  bool hand_over(const Value* tensor) {
    if (!handed_over_.insert(tensor).second) return false;
    for (ScopeUnit& unit : places_.units) {
      if (std::ranges::find(unit.node->inputs(), tensor) != unit.node->inputs().end()) {
        unit.reads.push_back(tensor);
      }
    }
    return true;
  }

  // Classes.

  std::string attempt() {
    std::vector<const Value*> read = predictions_;
    read.insert(read.end(), results_.begin(), results_.end());
    const auto root = find_scopes(places_.units, places_.paths, read);
    constructors_.clear();
    scopes_.clear();
    ClassMaker maker(names_);
    module_.context().helpers = helpers_;
    module_.context().modules = modules_;
    std::vector<Scope*> all;
    collect(*root, all);
    for (int height = 0; height < root->height(); ++height) {
      std::vector<ModuleText> texts;
      std::vector<const Scope*> of;
      for (const Scope* scope : all) {
        if (scope == root.get() || scope->height() != height) continue;
        if (auto chain = sequential(*scope)) {
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
    for (const SharedClass& each : maker.classes()) text += class_text(each, "Module") + "\n\n";
    std::vector<std::string> init;
    for (const std::string& line : model.init_lines) init.push_back(plain_sizes(line));
    const bool is_list = module_.context().lists.contains("");
    const bool is_plain =
        is_list && predictions_ == results_ && is_chain(*root, real_inputs(graph_), results_);
    return text +
           class_text({name_, {}, init, is_plain ? std::vector<std::string>{} : model.other_lines},
                      is_list ? "Sequential" : "Module") +
           train_text();
  }

  void collect(Scope& scope, std::vector<Scope*>& all) {
    all.push_back(&scope);
    std::erase_if(scope.inputs, [&](const Value* input) {
      return handed_over_.contains(input) &&
             is_inside(module_.context().held.at(input).path, scope.path);
    });
    scopes_.insert(scope.path);
    for (const auto& child : scope.children) collect(*child, all);
  }

  static std::string class_text(const SharedClass& shared, std::string_view base) {
    std::string text = fmt::format("class {}(nn.{}):\n", shared.name, base);
    if (!shared.init_lines.empty()) {
      std::string parameters;
      for (const std::string& parameter : shared.parameters) parameters += ", " + parameter;
      text += fmt::format("    def __init__(self{}):\n{}{}", parameters,
                          indented(shared.init_lines, 2), shared.other_lines.empty() ? "" : "\n");
    }
    return text + indented(shared.other_lines, 1);
  }

  ModuleText module_text(const Scope& scope) {
    ModuleText text;
    text.wanted = wanted_name(scope.path);
    text.other_lines = forward_lines(scope);
    text.init_lines = init_lines(scope, text.attributes);
    return text;
  }

  /// "EncoderBlock" as the file says, else "Attn" of "blocks.0.attn" and "Block" of "blocks.0".
  std::string wanted_name(const std::string& path) const {
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

  // Forward functions.

  std::vector<std::string> forward_lines(const Scope& scope) {
    Body body(module_.context(), scope.path);
    const bool is_model = scope.path.empty();
    std::vector<std::string> arguments;
    for (const Value* input : is_model ? real_inputs(graph_) : scope.inputs) {
      arguments.push_back(body.add_argument(input));
    }
    std::vector<ScopeItem> items = scope.items;
    if (is_model && predictions_ != results_) {
      const auto first = items_for(scope, predictions_);
      write_items(scope, first, body);
      std::erase_if(items, [&](const ScopeItem& item) {
        return std::ranges::find(first, item) != first.end();
      });
      const std::string read = names_of(body, predictions_);
      body.add_line("if self.training:");
      body.add_line(fmt::format("    return {}  # what the loss reads", read));
    }
    write_items(scope, items, body);
    body.add_line(fmt::format("return {}", names_of(body, is_model ? results_ : scope.outputs)));
    std::vector<std::string> lines = body.written(arguments);
    for (std::string& line : lines) line = line.empty() ? line : "    " + line;
    arguments.insert(arguments.begin(), "self");
    lines.insert(lines.begin(), fmt::format("def forward({}):", fmt::join(arguments, ", ")));
    return lines;
  }

  static std::string names_of(Body& body, const std::vector<const Value*>& values) {
    std::vector<std::string> names;
    for (const Value* value : values) names.push_back(body.tensor(value));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::vector<const Value*> reads_of(const ScopeItem& item) const {
    if (const auto* inside = std::get_if<Scope*>(&item)) return (*inside)->inputs;
    return module_.reads(*std::get<const Node*>(item));
  }

  static std::vector<const Value*> made_by(const ScopeItem& item) {
    if (const auto* inside = std::get_if<Scope*>(&item)) return (*inside)->outputs;
    std::vector<const Value*> made;
    for (const auto& output : std::get<const Node*>(item)->outputs()) {
      if (output) made.push_back(output.get());
    }
    return made;
  }

  /// The items of a scope that some values need.
  std::vector<ScopeItem> items_for(const Scope& scope, std::span<const Value* const> values) const {
    std::set<const Value*> needed(values.begin(), values.end());
    std::vector<ScopeItem> items;
    for (auto item = scope.items.rbegin(); item != scope.items.rend(); ++item) {
      const auto made = made_by(*item);
      if (std::ranges::none_of(made, [&](const Value* each) { return needed.contains(each); })) {
        continue;
      }
      items.insert(items.begin(), *item);
      const auto reads = reads_of(*item);
      needed.insert(reads.begin(), reads.end());
    }
    return items;
  }

  void write_items(const Scope& scope, const std::vector<ScopeItem>& items, Body& body) {
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

  static void write_module(const Scope& inside, Body& body) {
    const std::string arguments = names_of(body, inside.inputs);
    const std::string called = body.attribute(inside.path);
    std::vector<std::string> made;
    for (const Value* output : inside.outputs) made.push_back(body.declare(output, Form::plain));
    body.add_line(fmt::format("{} = {}({})", fmt::join(made, ", "), called, arguments), true);
  }

  /// The path of the module that an item calls with one value for one value; empty for others.
  std::string called_path(const ScopeItem& item) const {
    if (const auto* inside = std::get_if<Scope*>(&item)) {
      const bool is_plain = !(*inside)->inputs.empty() && (*inside)->outputs.size() == 1;
      return is_plain ? (*inside)->path : "";
    }
    const Layer* layer = module_.layer_of(*std::get<const Node*>(item));
    const bool is_plain =
        layer && layer->padding.empty() && layer->options.empty() && layer->picked.empty();
    return is_plain ? layer->path : "";
  }

  /// How often the items of a scope read a value, and the scope gives it.
  size_t reads_in(const Scope& scope, const Value* value) const {
    size_t count = static_cast<size_t>(std::ranges::count(scope.outputs, value));
    for (const ScopeItem& item : scope.items) {
      count += static_cast<size_t>(std::ranges::count(reads_of(item), value));
    }
    return count;
  }

  /// How many items from `first` on are calls of the modules of a list, one after the other.
  size_t chain_length(const Scope& scope, const std::vector<ScopeItem>& items, size_t first) const {
    const std::string list(parent_path(called_path(items[first])));
    size_t count = 0;
    int64_t number = -1;
    const Value* last = nullptr;
    while (first + count < items.size()) {
      const ScopeItem& item = items[first + count];
      const int64_t own = number_in(list, called_path(item));
      if (own <= number) break;
      number = own;
      const auto reads = reads_of(item);
      const auto first_reads = reads_of(items[first]);
      // What else is handed over is the same for all.
      if (!std::ranges::equal(std::span(reads).subspan(1), std::span(first_reads).subspan(1)))
        break;
      if (last && (reads[0] != last || reads_in(scope, last) != 1)) break;
      last = made_by(item)[0];
      ++count;
    }
    return count;
  }

  /// The number of a module of a list, or -1.
  static int64_t number_in(const std::string& list, const std::string& path) {
    if (path.empty() || parent_path(path) != list) return -1;
    const std::string part = path.substr(list.empty() ? 0 : list.size() + 1);
    return is_number(part) && part.size() < 6 ? std::stoll(part) : -1;
  }

  size_t write_loop(const Scope& scope, const std::vector<ScopeItem>& items, size_t first,
                    Body& body) {
    const size_t count = chain_length(scope, items, first);
    const std::string list(parent_path(called_path(items[first])));
    if (count < 2 || list_length(list) != count || list.empty() ||
        number_in(list, called_path(items[first + count - 1])) + 1 != static_cast<int64_t>(count) ||
        !module_.context().lists.contains(list) || scopes_.contains(list)) {
      return 0;
    }
    std::string each(list.substr(list.rfind('.') + 1));
    each = each.size() > 1 && each.ends_with('s') ? each.substr(0, each.size() - 1) : "block";
    const auto reads = reads_of(items[first]);
    const Value *in = reads[0], *out = made_by(items[first + count - 1])[0];
    std::string more;
    for (size_t i = 1; i < reads.size(); ++i) more += ", " + body.tensor(reads[i]);
    const std::string first_x = body.tensor(in), x = body.declare(out, Form::plain);
    body.add_line(fmt::format("{} = {}", x, first_x));
    const std::string variable = body.variable({each, true});
    body.add_line(fmt::format("for {} in {}:", variable, body.attribute(list)));
    body.add_line(fmt::format("    {0} = {1}({0}{2})", x, variable, more));
    return count;
  }

  /// How many modules a list has.
  size_t list_length(const std::string& list) const {
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

  /// Whether a module only calls those in it, one after the other.
  bool is_chain(const Scope& scope, const std::vector<const Value*>& inputs,
                const std::vector<const Value*>& outputs) const {
    return inputs.size() == 1 && outputs.size() == 1 && !scope.items.empty() &&
           module_.context().lists.contains(scope.path) &&
           number_in(scope.path, called_path(scope.items[0])) >= 0 &&
           reads_of(scope.items[0]) == inputs && reads_in(scope, inputs[0]) == 1 &&
           chain_length(scope, scope.items, 0) == scope.items.size() &&
           made_by(scope.items.back())[0] == outputs[0] &&
           list_length(scope.path) == scope.items.size();
  }

  /// Such a module is none of ours.
  std::optional<std::string> sequential(const Scope& scope) const {
    if (!is_chain(scope, scope.inputs, scope.outputs)) return std::nullopt;
    for (const Value* value : module_.plain_tensors()) {
      if (is_inside(module_.path_of(value), scope.path)) {
        if (owner_of(module_.path_of(value)) == scope.path) return std::nullopt;
      }
    }
    return sequential_text(numbered_modules(scope));
  }

  /// The modules of a list by their numbers; torch's Identity where there is none.
  std::vector<std::string> numbered_modules(const Scope& scope) const {
    std::vector<std::string> modules;
    const auto add = [&](const std::string& path, const std::string& constructor) {
      const int64_t number = number_in(scope.path, path);
      if (number < 0) return;
      const auto at = static_cast<size_t>(number);
      if (modules.size() <= at) modules.resize(at + 1, "nn.Identity()");
      modules[at] = constructor;
    };
    for (const Layer& layer : module_.layers()) add(layer.path, layer.constructor);
    for (const auto& child : scope.children) add(child->path, constructors_.at(child->path));
    return modules;
  }

  // Constructors.

  /// The innermost scope that a path is strictly inside of.
  std::string owner_of(std::string_view path) const {
    for (path = parent_path(path); !path.empty(); path = parent_path(path)) {
      if (scopes_.contains(std::string(path))) return std::string(path);
    }
    return "";
  }

  std::vector<std::string> init_lines(const Scope& scope, std::vector<std::string>& attributes) {
    const size_t skipped = scope.path.empty() ? 0 : scope.path.size() + 1;
    Containers containers;
    const auto add = [&](const std::string& path, const std::string& constructor) {
      if (owner_of(path) == scope.path) containers.add(path.substr(skipped), constructor);
    };
    const auto add_layer = [&](const Layer& layer) {
      if (!layer.padding.empty()) add(layer.path + "_padding", layer.padding);
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
    std::vector<const Value*> tensors;
    for (const Value* value : module_.plain_tensors()) {
      const std::string& path = module_.path_of(value);
      if (owner_of(path) != scope.path) continue;
      tensors.push_back(value);
      containers.add_parents(path.substr(skipped));
    }
    Body body(module_.context(), scope.path);
    const bool is_list = scope.path.empty() && module_.context().lists.contains("");
    std::vector<std::string> lines = {"super().__init__()"};
    if (is_list) {
      const auto modules = numbered_modules(scope);
      lines = {"super().__init__("};
      for (const std::string& module : modules) {
        for (std::string& line : lines_of(module + ",")) lines.push_back("    " + std::move(line));
      }
      lines.emplace_back(")");
    } else {
      const auto more = containers.lines(scope.path, module_.context().lists);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    for (const Value* value : tensors) lines.push_back(tensor_line(value, body));
    attributes = containers.names();
    // No attribute is called "0": such a module is a list of the one around it.
    if (!scope.path.empty() && std::ranges::any_of(attributes, is_number)) {
      throw LeavesScope{scope.path};
    }
    if (scope.path.empty()) add_freezing(lines, body);
    if (lines.size() == 1) lines.clear();
    return lines;
  }

  std::string tensor_line(const Value* value, const Body& body) const {
    const HeldTensor& held = module_.context().held.at(value);
    const DType dtype = value->type.dtype;
    const std::string made = fmt::format(
        "torch.empty({}{})",
        held.dims.empty() ? "()" : fmt::format("{}", fmt::join(held.dims, ", ")),
        dtype == DType::f32 ? "" : fmt::format(", dtype=torch.{}", python_dtype(dtype)));
    if (held.trained) return fmt::format("{} = nn.Parameter({})", body.attribute(held.path), made);
    const std::string parent(parent_path(held.path));
    const std::string owner = owner_of(held.path) == parent ? "self" : body.attribute(parent);
    return fmt::format("{}.register_buffer(\"{}\", {})", owner,
                       held.path.substr(parent.empty() ? 0 : parent.size() + 1), made);
  }

  /// What the job does not train keeps its values.
  void add_freezing(std::vector<std::string>& lines, const Body& body) const {
    if (!module_.training().is_job) return;
    for (const Layer& layer : module_.layers()) {
      for (const LayerTensor& tensor : layer.tensors) {
        const HeldTensor& held = module_.context().held.at(tensor.value);
        const bool is_buffer = tensor.attribute.starts_with("running_");
        if (!held.trained && !is_buffer) {
          lines.push_back(fmt::format("{}.requires_grad_(False)", body.attribute(held.path)));
        }
      }
    }
  }

  std::string train_text() const {
    const Body body(module_.context(), "");
    std::vector<std::string> frozen;
    for (const Layer& layer : module_.layers()) {
      if (layer.stays_in_eval) {
        frozen.push_back(fmt::format("{}.eval()", body.attribute(layer.path)));
      }
    }
    if (frozen.empty()) return "";
    return "\n    def train(self, mode=True):\n"
           "        \"\"\"The statistics of these normalizations stay as they are.\"\"\"\n"
           "        super().train(mode)\n" +
           indented(frozen, 2) + "        return self\n";
  }

  const Graph& graph_;
  Module& module_;
  const Job* job_;
  std::string name_;
  std::vector<const Value*> results_, predictions_;
  Places places_;
  PythonNames names_;                                // that classes can't have
  std::set<std::string> helpers_, modules_;          // of layers
  std::set<const Value*> handed_over_;               // tensors that are arguments of modules
  std::set<std::string> scopes_;                     // paths
  std::map<std::string, std::string> constructors_;  // of scopes
};

}  // namespace

std::string torch_classes(const SourceParts& parts, const std::string& name) {
  return TorchClasses(parts, name).text();
}

}  // namespace onward::emit
