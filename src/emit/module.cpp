#include "emit/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/window.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// What a layer is called: by its weight ("conv1" of "conv1.weight"), by its node, or by its kind.
std::string wanted_path(const Pattern& pattern, size_t number) {
  static constexpr std::string_view kEndings[] = {"weight", "kernel",     "gamma",
                                                  "scale",  "embeddings", "w"};
  std::string name = pattern.weight ? pattern.weight->name() : "";
  const size_t end = name.find_last_of("./_");
  if (end != std::string::npos && end > 0 &&
      std::ranges::find(kEndings, name.substr(end + 1)) != std::end(kEndings)) {
    return name.substr(0, end);
  }
  if (!pattern.node->name.empty()) return pattern.node->name;
  if (!name.empty()) return name;
  static constexpr std::string_view kNames[] = {"conv",       "linear",    "batch_norm",
                                                "layer_norm", "embedding", "dropout"};
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

}  // namespace

double TrainingFacts::kept_statistics(const Node& batch_norm) const {
  if (batch_momentum) return *batch_momentum;
  return std::stod(fmt::format("{}", batch_norm.float_or("momentum", 0.9F)));
}

Module::Module(const Graph& graph, const Dialect& dialect, TrainingFacts training)
    : graph_(graph),
      training_(std::move(training)),
      known_(graph, training_.state),
      paths_(dialect) {
  context_.dialect = &dialect;
  context_.known = &known_;
  context_.main_float = main_float_of(graph);
  context_.hold = [this](const Value* value) { hold(value); };
  find_layers();
}

void Module::find_layers() {
  if (!context_.dialect->layer) return;
  for (const Pattern& pattern : find_patterns(graph_, known_)) {
    // A Dropout that the job never switches on stays what it is: nothing.
    const bool idle = pattern.kind == Pattern::Kind::dropout && training_.is_job &&
                      !training_.paired.contains(pattern.node);
    if (!idle) add_layer(pattern);
  }
}

void Module::add_layer(const Pattern& pattern) {
  const auto remember = [&](size_t layer) {
    layer_ends_[pattern.end] = {patterns_.size(), layer};
    if (pattern.end != pattern.node) absorbed_.insert(pattern.node);
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
  layer.path = paths_.take(wanted_path(pattern, layers_.size() + 1));
  if (!layer.padding.empty()) paths_.take(layer.path + "_padding");
  for (const LayerTensor& tensor : layer.tensors) {
    const std::string inside = fmt::format("{}.{}", layer.path, tensor.attribute);
    context_.held[tensor.value] = {
        .value = tensor.value,
        .expression = AttributePaths::expression(inside),
        .key = context_.dialect->keys_are_paths ? inside : safetensors_key(tensor.value->name()),
        .permutation = tensor.permutation,
        .dims = tensor.dims,
        .trained = training_.trained.contains(tensor.value)};
  }
  remember(layers_.size());
  layers_.push_back(std::move(layer));
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
  const std::string path = paths_.take(wanted);
  const Dialect& dialect = *context_.dialect;
  const std::string key = dialect.keys_are_paths ? path : safetensors_key(value->name());
  context_.held[value] = {.value = value,
                          .expression = dialect.held_tensor ? dialect.held_tensor(key)
                                                            : AttributePaths::expression(path),
                          .key = key,
                          .permutation = {},
                          .dims = tensor->dims(),
                          .trained = training_.trained.contains(value)};
  paths_of_tensors_[value] = path;
  plain_tensors_.push_back(value);
}

void Module::write_layer(const Pattern& pattern, const Layer& layer, Body& body) {
  Form form = layer.form;
  if (layer.follows && body.has(pattern.input, Form::channels_last) &&
      !body.has(pattern.input, Form::plain)) {
    form = Form::channels_last;
  }
  std::string x = body.tensor(pattern.input, form);
  if (!layer.padding.empty()) {
    x = fmt::format("{}({})", AttributePaths::expression(layer.path + "_padding"), x);
  } else if (pattern.kind == Pattern::Kind::conv) {
    const auto& dims = pattern.weight->tensor()->dims();
    const WindowFacts window = window_facts(*pattern.node, {dims.begin() + 2, dims.end()});
    if (!window.pads && !layer.pads_itself) {
      x = context_.dialect->padded(Call(*pattern.node, body, form), window);
    }
  }
  const std::string result = body.declare(pattern.output(), form);
  body.add_line(fmt::format("{} = {}({}{}){}", result, AttributePaths::expression(layer.path), x,
                            layer.options, layer.picked));
}

void Module::write_node(const Node& node, Body& body) {
  if (absorbed_.contains(&node)) return;
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
  for (const Node* node : needed_nodes(graph_, results, known_, body)) write_node(*node, body);
}

void Module::throw_if_refused() const {
  if (refusals_.empty()) return;
  throw Error(fmt::format("{} can't say this model exactly:\n  {}", context_.dialect->name,
                          fmt::join(refusals_, "\n  ")));
}

}  // namespace onward::emit
