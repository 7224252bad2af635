#include "emit/recurrent.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

// The standard's inputs, in order.
enum Input : uint8_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

bool has_usual_activations(const Node& node, Recurrent& layer) {
  const auto* given = node.get<std::vector<std::string>>("activations");
  if (node.get<float>("clip") || node.int_or("input_forget", 0) != 0) return false;
  if (!given) return true;
  std::vector<std::string> usual = {"Sigmoid", "Tanh", "Tanh"};
  if (node.op == "GRU") usual = {"Sigmoid", "Tanh"};
  if (node.op == "RNN") {
    layer.is_relu = !given->empty() && given->front() == "Relu";
    usual = {layer.is_relu ? "Relu" : "Tanh"};
  }
  if (given->size() != usual.size() * static_cast<size_t>(layer.directions)) return false;
  for (size_t i = 0; i < given->size(); ++i) {
    if ((*given)[i] != usual[i % usual.size()]) return false;
  }
  return true;
}

bool find_weights(const Node& node, Recurrent& layer) {
  const auto w = layer.finder.find(node.input(kW)), r = layer.finder.find(node.input(kR));
  if (!w || !r || w->dims.size() != 3 || r->dims.size() != 3 || w->elements.empty() ||
      w->dims[0] != layer.directions || r->dims[0] != layer.directions) {
    return false;
  }
  layer.inputs = w->dims[2];
  layer.hidden = r->dims[2];
  const int64_t rows = w->dims[1];
  if (r->dims[1] != rows || rows % layer.hidden != 0) return false;
  std::optional<Origins> b;
  if (node.input(kB)) {
    b = layer.finder.find(node.input(kB));
    if (!b || b->dims != std::vector<int64_t>{layer.directions, 2 * rows}) return false;
  }
  std::vector<Origins> all = {*w, *r};
  for (int64_t d = 0; d < layer.directions; ++d) {
    layer.weights.push_back(part_of(*w, d));
    layer.recurrent_weights.push_back(part_of(*r, d));
    if (!b) continue;
    const Origins both = part_of(*b, d);
    layer.biases.push_back(slice_of(both, 0, rows));
    layer.recurrent_biases.push_back(slice_of(both, rows, 2 * rows));
  }
  if (b) all.push_back(*b);
  return layer.finder.are_all(all, node);
}

/// Whether the source can name all sizes of a value without having it.
bool has_named_sizes(const Value* value) {
  const auto is_named = [&](const Dim& dim) {
    return dim.value ||
           (!dim.symbol.empty() &&
            std::ranges::any_of(value->graph().inputs(), [&](const Value* input) {
              const auto& shape = input->type.shape;
              return !input->initializer() && shape &&
                     std::ranges::find(*shape, dim.symbol, &Dim::symbol) != shape->end();
            }));
  };
  return value->type.shape && std::ranges::all_of(*value->type.shape, is_named);
}

/// The node that alone reads a value, but for its sizes, or null.
const Node* only_reader(const Value* value) {
  const auto outputs = value->graph().outputs();
  if (std::ranges::find(outputs, value) != outputs.end()) return nullptr;
  const Node* reader = nullptr;
  for (const Use& use : value->uses()) {
    if (known_shape(*use.node) || (use.node->op == "Shape" && has_named_sizes(value))) continue;
    if (reader) return nullptr;
    reader = use.node;
  }
  const bool is_first = reader && reader->input(0) == value && reader->domain.empty();
  return is_first && &reader->graph() == &value->graph() ? reader : nullptr;
}

bool is_transpose(const Node* node, const std::vector<int64_t>& order) {
  const auto* given = node ? node->get<std::vector<int64_t>>("perm") : nullptr;
  return given && node->op == "Transpose" && node->domain.empty() && *given == order;
}

/// Whether a state is zeros of any number, with which layers begin anyway.
bool is_zero_state(const Value* value, const Known& known) {
  if (known.is_literal(value)) {
    return is_float(known.find(value)->dtype()) && known.find(value)->number(0) == 0;
  }
  const Node* node = value->producer();
  if (!node || !node->domain.empty() || !has_traits(*node, kMovesData)) return false;
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    const Value* input = node->input(i);
    if (input && input_role(*node, i) == InputRole::data && !is_zero_state(input, known))
      return false;
  }
  return true;
}

/// What a Squeeze makes of the last states of one direction, where that alone reads them.
const Value* without_direction(const Value* state, const Recurrent& layer, const Known& known,
                               std::vector<const Node*>& followers) {
  const Node* next = state && layer.directions == 1 ? only_reader(state) : nullptr;
  const int64_t axis = layer.has_layout ? 1 : 0;
  const auto axes = next && next->op == "Squeeze" ? known.integers(next->input(1)) : std::nullopt;
  if (!axes || (*axes != std::vector{axis} && *axes != std::vector{axis - 3})) return nullptr;
  followers.push_back(next);
  return next->output(0);
}

/// Follows the nodes that bring the directions side by side, into the layer's own form.
const Value* side_by_side(const Value* y, const Recurrent& layer, const Known& known,
                          std::vector<const Node*>& followers) {
  const Node* next = only_reader(y);
  if (!next) return nullptr;
  const int64_t axis = layer.has_layout ? 2 : 1;
  if (layer.directions == 1 && next->op == "Squeeze") {
    const auto axes = known.integers(next->input(1));
    if (!axes || (*axes != std::vector{axis} && *axes != std::vector{axis - 4})) return nullptr;
    followers = {next};
    return next->output(0);
  }
  if (!layer.has_layout) {
    if (!is_transpose(next, {0, 2, 1, 3})) return nullptr;
    followers = {next};
    next = only_reader(next->output(0));
    if (!next) return nullptr;
  }
  if (next->op != "Reshape" || !next->output(0)) return nullptr;
  // Whatever says the sizes: both first ones are kept.
  const auto &from = next->input(0)->type.shape, &to = next->output(0)->type.shape;
  const auto sizes = known.integers(next->input(1));
  const bool keeps = sizes && sizes->size() == 3 && (*sizes)[0] == 0 && (*sizes)[1] == 0 &&
                     next->int_or("allowzero", 0) == 0;
  const auto same = [&](size_t i) {
    return (*from)[i] == (*to)[i] && ((*from)[i].value || !(*from)[i].symbol.empty());
  };
  if (!keeps && !(from && to && to->size() == 3 && same(0) && same(1))) return nullptr;
  followers.push_back(next);
  return next->output(0);
}

}  // namespace

std::shared_ptr<const Recurrent> recurrent_layer(const Node& node) {
  auto layer = std::make_shared<Recurrent>();
  const std::string direction = node.string_or("direction", "forward");
  layer->directions = direction == "bidirectional" ? 2 : 1;
  layer->is_reverse = direction == "reverse";
  layer->has_layout = layer->batch_first = node.int_or("layout", 0) != 0;
  layer->resets_after = node.int_or("linear_before_reset", 0) != 0;
  layer->initial_h = node.input(kInitialH);
  layer->initial_c = node.input(kInitialC);
  const bool is_plain = !node.input(kLengths) && !node.input(kPeepholes) &&
                        (node.op != "LSTM" || !layer->initial_h == !layer->initial_c);
  if (!is_plain || !has_usual_activations(node, *layer) || !find_weights(node, *layer)) {
    return nullptr;
  }
  return layer;
}

std::optional<Pattern> recurrent(const Node& node, const Known& known) {
  const auto found = recurrent_layer(node);
  if (!found) return std::nullopt;
  Recurrent layer = *found;
  Pattern pattern{.kind = Pattern::Kind::recurrent,
                  .node = &node,
                  .end = &node,
                  .input = node.input(kX),
                  .weight = layer.finder.first_of(layer.weights[0])};
  const Value* y = node.output(0);
  const bool gives_all = y && is_needed(*y);
  if (gives_all) layer.sequences = side_by_side(y, layer, known, pattern.followers);
  // Between transposes it reads and gives the batch first.
  const Node* before = pattern.input->producer();
  const Node* after = layer.sequences ? only_reader(layer.sequences) : nullptr;
  const bool turns_back = is_transpose(after, {1, 0, 2});
  if (!layer.has_layout && is_transpose(before, {1, 0, 2}) && (turns_back || !gives_all)) {
    layer.batch_first = true;
    pattern.input = before->input(0);
    if (turns_back) {
      pattern.followers.push_back(after);
      layer.sequences = after->output(0);
    }
  }
  layer.last_h = without_direction(node.output(1), layer, known, pattern.state_followers);
  layer.last_c = without_direction(node.output(2), layer, known, pattern.state_followers);
  const auto begins_at_zero = [&](const Value* state) {
    return !state || is_zero_state(state, known);
  };
  if (begins_at_zero(layer.initial_h) && begins_at_zero(layer.initial_c)) {
    layer.initial_h = layer.initial_c = nullptr;
  }
  pattern.more_inputs = {layer.initial_h, layer.initial_c};
  std::erase(pattern.more_inputs, nullptr);
  pattern.recurrent = std::make_shared<const Recurrent>(std::move(layer));
  return pattern;
}

}  // namespace onward::emit
