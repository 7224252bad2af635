#include "emit/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "emit/call.h"
#include "emit/scopes.h"
#include "emit/window.h"
#include "ir/dependence.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Where the module lies that pads for a layer: "conv1_padding", and "convs.padding_1" for
/// "convs.1", since a number and more is no name.
std::string padding_path(const std::string& path) {
  const size_t last = path.rfind('.') + 1;
  if (!is_number(std::string_view(path).substr(last))) return path + "_padding";
  return path.substr(0, last) + "padding_" + path.substr(last);
}

/// What a layer is called: by its weight ("conv1" of "conv1.weight"), by its node, or by its kind.
std::string wanted_path(const Pattern& pattern, size_t number) {
  static constexpr std::string_view kEndings[] = {"weight",     "kernel", "gamma", "scale",
                                                  "embeddings", "w",      "W"};
  std::string name = pattern.weight ? pattern.weight->name() : "";
  const size_t end = name.find_last_of("./_");
  if (end != std::string::npos && end > 0 &&
      std::ranges::find(kEndings, name.substr(end + 1)) != std::end(kEndings)) {
    return name.substr(0, end);
  }
  // "lstm.weight_ih_l0", as PyTorch calls them.
  const size_t of_input = name.find(".weight_ih_l");
  if (pattern.recurrent && of_input != std::string::npos && of_input > 0) {
    return name.substr(0, of_input);
  }
  if (const auto callers = callers_of(*pattern.node);
      !callers.empty() && callers.back().is_framework()) {
    return callers.back().path;
  }
  if (pattern.kind == Pattern::Kind::global_pool) return "pool";
  if (!pattern.node->name.empty()) return pattern.node->name;
  if (!name.empty()) return name;
  static constexpr std::string_view kNames[] = {
      "conv", "linear", "batch_norm", "layer_norm", "embedding", "dropout", "pool", "rnn", "layer"};
  return fmt::format("{}{}", kNames[static_cast<size_t>(pattern.kind)], number);
}

/// The name of a tensor as a key of a file of safetensors, where "__metadata__" is taken: names
/// like it get one underscore more, all of them, so that none meets another.
std::string safetensors_key(const std::string& name) {
  constexpr std::string_view kReserved = "__metadata__";
  const bool is_like_it = name.starts_with(kReserved) &&
                          name.find_first_not_of('_', kReserved.size()) == std::string::npos;
  return is_like_it ? name + '_' : name;
}

std::string refusal(const Node& node, const Error& error) {
  return fmt::format("{} '{}': {}", node.op, node.label(), error.what());
}

/// "q", "k" or "v" where a layer is called so: "q_proj", "to_k", "value".
std::string_view attention_role(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  static constexpr std::string_view kNames[][2] = {{"query", "q"}, {"key", "k"}, {"value", "v"},
                                                   {"wq", "q"},    {"wk", "k"},  {"wv", "v"}};
  for (const auto& [word, role] : kNames) {
    if (name == word) return role;
  }
  for (const std::string_view role : {"q", "k", "v"}) {
    if (name == role || name.starts_with(fmt::format("{}_", role)) ||
        name.ends_with(fmt::format("_{}", role))) {
      return role;
    }
  }
  return "";
}

DType main_float_of(const Graph& graph) {
  for (const Value* value : graph.initializers()) {
    if (value->tensor() && is_float(value->tensor()->dtype()) && value->tensor()->size() > 1) {
      return value->tensor()->dtype();
    }
  }
  for (const Value* value : graph.inputs()) {
    if (is_float(value->type.dtype)) return value->type.dtype;
  }
  return DType::f32;
}

/// Whether all parts of a model are numbered, as those of a Sequential are: "0.weight".
bool has_numbers_alone(const Graph& graph) {
  bool has_any = false;
  for (const Value* value : graph.initializers()) {
    const auto parts = path_parts(value->name());
    if (parts.size() > 1 && !is_number(parts[0])) return false;
    has_any = has_any || parts.size() > 1;
  }
  return has_any;
}

}  // namespace

double TrainingFacts::kept_statistics(const Node& batch_norm) const {
  if (batch_momentum) return *batch_momentum;
  return std::stod(fmt::format("{}", batch_norm.float_or("momentum", 0.9F)));
}

Module::Module(const Graph& graph, const Dialect& dialect, TrainingFacts training)
    : graph_(graph),
      training_(std::move(training)),
      known_(graph, training_.state),
      sizes_(graph, known_),
      root_(dialect.nests_modules && has_numbers_alone(graph) ? dialect.numbered_modules : ""),
      paths_(dialect, dialect.nests_modules && root_.empty() && has_numbers_alone(graph)) {
  context_.dialect = &dialect;
  context_.known = &known_;
  if (dialect.nests_modules) context_.sizes = &sizes_;
  context_.main_float = main_float_of(graph);
  context_.hold = [this](const Value* value) { hold(value); };
  find_layers();
  if (dialect.nests_modules) {
    find_plain_layers();
    find_lists();
    find_layers_between();
  }
  refused_layers_ = refusals_.size();
}

void Module::find_layers() {
  if (!context_.dialect->layer) return;
  std::vector<Pattern> patterns;
  if (context_.dialect->patterns) patterns = context_.dialect->patterns(graph_, known_);
  for (Pattern& each : find_patterns(graph_, known_)) patterns.push_back(std::move(each));
  for (const Pattern& found : patterns) {
    if (found.recurrent && !context_.dialect->recurrent) continue;
    Pattern pattern = with_activation(found);
    if (context_.dialect->states_lack_directions) {
      pattern.followers.insert(pattern.followers.end(), pattern.state_followers.begin(),
                               pattern.state_followers.end());
    }
    // A Dropout that the job never switches on stays what it is: nothing.
    const bool idle = pattern.kind == Pattern::Kind::dropout && training_.is_job &&
                      !training_.paired.contains(pattern.node);
    if (!idle) add_layer(pattern);
  }
}

/// A layer applies the activation that alone reads it, where the file does not say that this is a
/// module of its own.
Pattern Module::with_activation(Pattern pattern) const {
  const auto find = context_.dialect->activation;
  const Value* output = pattern.output();
  const bool can = find &&
                   (pattern.kind == Pattern::Kind::conv || pattern.kind == Pattern::Kind::linear) &&
                   pattern.weight->uses().size() == 1 && output->uses().size() == 1;
  if (!can || std::ranges::find(graph_.outputs(), output) != graph_.outputs().end() ||
      std::ranges::find(training_.loss_reads, output) != training_.loss_reads.end()) {
    return pattern;
  }
  const Node* next = output->uses()[0].node;
  const auto callers = callers_of(*next), own = callers_of(*pattern.node);
  const bool is_apart = !callers.empty() && callers.back().is_framework() &&
                        (own.empty() || own.back().path != callers.back().path);
  if (&next->graph() != &graph_ || next->input(0) != output || is_apart) return pattern;
  pattern.activation = find(*next);
  if (pattern.activation.empty()) return pattern;
  pattern.inner.push_back(pattern.end);
  pattern.end = next;
  return pattern;
}

void Module::add_layer(const Pattern& pattern) {
  const auto remember = [&](size_t layer) {
    layer_ends_[pattern.end] = {patterns_.size(), layer};
    for (const Node* follower : pattern.followers) {
      layer_ends_[follower] = {patterns_.size(), layer};
      followers_.insert(follower);
    }
    absorbed_.insert(pattern.inner.begin(), pattern.inner.end());
    patterns_.push_back(pattern);
  };
  for (const auto& [end, indices] : layer_ends_) {
    if (same_layer(patterns_[indices.first], pattern)) return remember(indices.second);
  }
  // Tensors that another layer holds already are used by a call instead.
  for (const Value* value : {pattern.weight, pattern.bias, pattern.mean, pattern.variance}) {
    if (value && context_.held.contains(value)) return;
  }
  Layer layer;
  try {
    layer = context_.dialect->layer(pattern, training_, context_);
  } catch (const Error& error) {
    refusals_.push_back(refusal(*pattern.node, error));
    return;
  }
  layer.path = paths_.take(placed(wanted_path(pattern, layers_.size() + 1)));
  // A list has no place for a second module of a number.
  if (!layer.padding.empty() && is_number(layer.path.substr(layer.path.rfind('.') + 1)) &&
      context_.dialect->channels_last) {
    layer.padding.clear();
    layer.pads_in_call = true;
  }
  if (!layer.padding.empty()) layer.padding_path = paths_.take(padding_path(layer.path));
  for (const LayerTensor& tensor : layer.tensors) {
    const std::string inside = fmt::format("{}.{}", layer.path, tensor.attribute);
    const std::string key =
        context_.dialect->keys_are_paths ? inside : safetensors_key(tensor.value->name());
    HeldTensor held = {.value = tensor.value,
                       .expression = AttributePaths::expression(inside),
                       .key = key,
                       .path = inside,
                       .permutation = tensor.permutation,
                       .dims = tensor.dims,
                       .trained = training_.trained.contains(tensor.value)};
    const auto before = context_.held.find(tensor.value);
    if (before != context_.held.end() && tensor.arrangement) held = before->second;
    if (tensor.arrangement) held.parts.push_back({key, inside, *tensor.arrangement});
    context_.held[tensor.value] = std::move(held);
  }
  remember(layers_.size());
  layers_.push_back(std::move(layer));
}

void Module::find_plain_layers() {
  std::unordered_map<std::string, size_t> found;  // by path
  for (const auto& node : graph_.nodes()) {
    const auto callers = callers_of(*node);
    const Value* result = node->output(0);
    if (callers.empty() || !callers.back().is_framework() || !result || !node->input(0) ||
        layer_ends_.contains(node.get()) || absorbed_.contains(node.get()) || known_.find(result) ||
        sizes_.find(result) || node->input(0)->initializer() ||
        reads(*node) != std::vector<const Value*>{node->input(0)}) {
      continue;
    }
    const auto layer = context_.dialect->plain_layer(*node, callers.back().name(), context_);
    if (!layer) continue;
    const std::string path = placed(callers.back().path);
    const auto before = found.find(path);
    if (before == found.end() && paths_.take(path) != path) continue;
    if (before != found.end() && layers_[before->second].constructor != layer->constructor) {
      continue;
    }
    if (before == found.end()) {
      found.emplace(path, layers_.size());
      add_plain_layer(*node, path, *layer);
    } else {
      layer_ends_[node.get()] = {patterns_.size(), before->second};
      patterns_.push_back({.kind = Pattern::Kind::plain,
                           .node = node.get(),
                           .end = node.get(),
                           .input = node->input(0)});
    }
  }
}

void Module::add_plain_layer(const Node& node, std::string path, Layer layer) {
  layer_ends_[&node] = {patterns_.size(), layers_.size()};
  layer.path = std::move(path);
  layers_.push_back(std::move(layer));
  patterns_.push_back(
      {.kind = Pattern::Kind::plain, .node = &node, .end = &node, .input = node.input(0)});
}

/// What stands between two numbered layers of a list has the numbers between theirs.
void Module::find_layers_between() {
  std::unordered_map<const Value*, size_t> ends;  // layers by what they give
  for (const auto& [node, indices] : layer_ends_) {
    ends[patterns_[indices.first].output()] = indices.second;
  }
  const size_t count = patterns_.size();
  for (size_t i = 0; i < count; ++i) {
    const auto first = ends.find(patterns_[i].output());
    if (first == ends.end()) continue;
    const std::string path = layers_[first->second].path;
    const std::string list(parent_path(path));
    if (!context_.lists.contains(list)) continue;
    std::vector<std::pair<const Node*, Layer>> between;
    const Value* at = patterns_[i].output();
    const Layer* last = nullptr;
    while (at->uses().size() == 1 && !last) {
      const Node* next = at->uses()[0].node;
      const auto layer = std::ranges::find_if(patterns_, [&](const Pattern& pattern) {
        return pattern.input == at && layer_ends_.contains(pattern.end);
      });
      if (layer != patterns_.end()) {
        last = layer_of(*layer->end);
        break;
      }
      if (&next->graph() != &graph_ || !next->output(0) ||
          reads(*next) != std::vector<const Value*>{at} || !callers_of(*next).empty()) {
        break;
      }
      const auto plain = context_.dialect->plain_layer(*next, "", context_);
      if (!plain) break;
      between.emplace_back(next, *plain);
      at = next->output(0);
    }
    if (!last || between.empty() || parent_path(last->path) != list) continue;
    const size_t cut = list.empty() ? 0 : list.size() + 1;
    const size_t from = std::stoul(path.substr(cut)), to = std::stoul(last->path.substr(cut));
    if (to <= from || between.size() > to - from - 1) continue;
    for (size_t k = 0; k < between.size(); ++k) {
      const std::string own = fmt::format("{}{}{}", list, list.empty() ? "" : ".", from + 1 + k);
      if (paths_.take(own) != own) break;
      add_plain_layer(*between[k].first, own, between[k].second);
    }
  }
}

/// Modules with nothing but numbered ones in them, without many gaps.
void Module::find_lists() {
  std::map<std::string, std::set<std::string>> children;
  const auto add = [&](std::string_view path) {
    for (; !path.empty(); path = parent_path(path)) {
      const std::string_view parent = parent_path(path);
      children[std::string(parent)].emplace(path.substr(parent.empty() ? 0 : parent.size() + 1));
    }
  };
  for (const Layer& layer : layers_) {
    add(layer.path);
    if (!layer.padding.empty()) add(layer.padding_path);
  }
  for (const Value* value : graph_.initializers()) {
    if (!context_.held.contains(value)) add(parent_path(placed(value->name())));
  }
  for (const auto& [path, parts] : children) {
    const auto fits = [&](const std::string& part) {
      return is_number(part) && part.size() < 6 && std::stoul(part) < 2 * parts.size() + 4 &&
             std::to_string(std::stoul(part)) == part;
    };
    const bool may_be = !path.empty() || (root_.empty() && has_numbers_alone(graph_));
    if (may_be && std::ranges::all_of(parts, fits)) context_.lists.insert(path);
  }
}

std::string Module::placed(std::string_view path) const {
  const auto parts = path_parts(path);
  if (root_.empty() || parts.empty() || !is_number(parts[0])) return std::string(path);
  return fmt::format("{}.{}", root_, path);
}

void Module::find_dicts(const std::set<std::string>& scopes) {
  if (context_.dialect->numbered_modules.empty()) return;  // modules in modules have attributes
  context_.dicts.clear();
  const auto add = [&](std::string_view path) {
    for (path = parent_path(path); !path.empty(); path = parent_path(path)) {
      const std::string each(path);
      if (!scopes.contains(each) && !context_.lists.contains(each)) context_.dicts.insert(each);
    }
  };
  for (const Layer& layer : layers_) add(layer.path);
  for (const Value* value : plain_tensors_) add(path_of(value));
}

const Layer* Module::layer_of(const Node& node) const {
  const auto found = layer_ends_.find(&node);
  return found == layer_ends_.end() ? nullptr : &layers_[found->second.second];
}

std::vector<const Value*> Module::reads(const Node& node) const {
  if (followers_.contains(&node)) return {node.input(0)};
  if (const auto layer = layer_ends_.find(&node); layer != layer_ends_.end()) {
    const Pattern& pattern = patterns_[layer->second.first];
    std::vector<const Value*> reads = {pattern.input};
    for (const Value* each : pattern.more_inputs) {
      if (!known_.find(each) && !each->initializer()) reads.push_back(each);
    }
    return reads;
  }
  const std::vector<Value*> read = all_reads(node);
  std::vector<const Value*> all(read.begin(), read.end());
  if (context_.dialect->idiom) {
    if (const auto idiom = context_.dialect->idiom(node, known_)) all = idiom->reads;
  }
  std::vector<const Value*> reads;
  for (const Value* value : all) {
    if (!value || known_.find(value)) continue;
    if (context_.sizes && sizes_.find(value)) {
      const auto bases = sizes_.bases(value);
      reads.insert(reads.end(), bases.begin(), bases.end());
    } else if (!value->initializer()) {
      reads.push_back(value);
    }
  }
  return reads;
}

std::vector<const Node*> Module::needed(std::span<const Value* const> results,
                                        const Body* body) const {
  std::unordered_set<const Node*> needed;
  std::vector<const Value*> open;
  for (const Value* result : results) {
    if (!context_.sizes || !sizes_.find(result)) {
      open.push_back(result);
      continue;
    }
    const auto bases = sizes_.bases(result);
    open.insert(open.end(), bases.begin(), bases.end());
  }
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (!value || !value->producer() || known_.find(value) || (body && body->has(value))) continue;
    if (!needed.insert(value->producer()).second) continue;
    const auto more = reads(*value->producer());
    open.insert(open.end(), more.begin(), more.end());
  }
  std::vector<const Node*> order;
  for (const auto& node : graph_.nodes()) {
    if (needed.contains(node.get())) order.push_back(node.get());
  }
  return order;
}

void Module::hold(const Value* value) {
  const Tensor* tensor = known_.find(value);
  if (!tensor) tensor = value->tensor();
  if (!tensor) throw Bug(fmt::format("value '{}' is no tensor to hold", value->name()));
  python_dtype(tensor->dtype());  // refuses what no framework has
  // A ModuleDict has modules by number, and no tensors.
  std::string wanted = value->name();
  const size_t dot = wanted.find_last_of("./");
  if (dot != std::string::npos && is_number(std::string_view(wanted).substr(dot + 1))) {
    wanted[dot] = '_';
  }
  const std::string path = paths_.take(placed(wanted));
  const Dialect& dialect = *context_.dialect;
  const std::string key = dialect.keys_are_paths ? path : safetensors_key(value->name());
  context_.held[value] = {.value = value,
                          .expression = dialect.held_tensor ? dialect.held_tensor(key)
                                                            : AttributePaths::expression(path),
                          .key = key,
                          .path = dialect.held_tensor ? "" : path,
                          .permutation = {},
                          .dims = tensor->dims(),
                          .trained = training_.trained.contains(value)};
  paths_of_tensors_[value] = path;
  plain_tensors_.push_back(value);
}

void Module::write_layer(const Pattern& pattern, const Layer& layer, Body& body) {
  if (pattern.recurrent) return context_.dialect->recurrent(pattern, layer, body);
  Form form = layer.form;
  if (layer.follows && body.has(pattern.input, Form::channels_last) &&
      body.first_form(pattern.input) == Form::channels_last) {
    form = Form::channels_last;
  }
  std::string x = body.tensor(pattern.input, form);
  if (!layer.padding.empty()) {
    x = fmt::format("{}({})", body.attribute(layer.padding_path), x);
  } else if (pattern.kind == Pattern::Kind::conv) {
    const auto& dims = pattern.weight->tensor()->dims();
    const WindowFacts window = window_facts(*pattern.node, {dims.begin() + 2, dims.end()});
    if (layer.pads_in_call || (!window.pads && !layer.pads_itself)) {
      x = context_.dialect->padded(Call(*pattern.node, body, form), window);
    }
  }
  const std::string called = body.attribute(layer.path);
  const std::string_view role = attention_role(layer.path);
  const std::string result = role.empty()
                                 ? body.declare(pattern.output(), form)
                                 : body.declare(pattern.output(), form, {std::string(role), true});
  body.add_line(fmt::format("{} = {}({}{}){}", result, called, x, layer.options, layer.picked),
                pattern.kind == Pattern::Kind::dropout);
}

void Module::write_node(const Node& node, Body& body) {
  if (absorbed_.contains(&node) || followers_.contains(&node)) return;
  try {
    const auto layer = layer_ends_.find(&node);
    if (layer != layer_ends_.end()) {
      write_layer(patterns_[layer->second.first], layers_[layer->second.second], body);
    } else {
      write_call(node, body);
    }
  } catch (const Error& error) {
    refusals_.push_back(refusal(node, error));
    // Later nodes are still looked at, so that everything is named at once.
    for (const auto& output : node.outputs()) {
      if (output && !body.has(output.get())) body.declare(output.get(), Form::plain);
    }
  }
}

void Module::write(Body& body, std::span<const Value* const> results) {
  for (const Node* node : needed(results, &body)) write_node(*node, body);
}

void Module::throw_if_refused() const {
  if (refusals_.empty()) return;
  throw Error(fmt::format("this model cannot be exported exactly to {}:\n  {}",
                          context_.dialect->name, fmt::join(refusals_, "\n  ")));
}

}  // namespace onward::emit
