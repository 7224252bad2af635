// layers.SimpleRNN, GRU and LSTM, alone or in a Bidirectional.

#include "emit/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/classes.h"
#include "emit/keras/calls.h"
#include "emit/keras/dialect.h"
#include "emit/module.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// One of a cell's variables, as the model holds it.
struct CellWeight {
  std::string attribute;
  Held held;
  std::vector<int64_t> dims;
};

/// The variables of the cells of all directions, and what these are.
struct Cells {
  std::vector<CellWeight> weights;
  bool use_bias = false;
  bool has_two_biases = false;  // which only a cell of ours has
};

std::vector<int64_t> keras_gate_order(std::string_view op) {
  if (op == "LSTM") return {0, 2, 3, 1};  // i, o, f, c there; i, f, c, o here
  if (op == "GRU") return {0, 1, 2};      // z, r, h
  return {0};
}

bool adds_biases(const Node& node, const Recurrent& facts) {
  return node.op != "GRU" || !facts.resets_after;
}

std::string cell_path(const Recurrent& facts, size_t direction) {
  if (facts.directions == 1) return "cell";
  return direction == 0 ? "forward_layer.cell" : "backward_layer.cell";
}

/// Nothing where a variable would hold parts of several tensors.
std::optional<Cells> cells_of(const Node& node, const Recurrent& facts) {
  const auto order = keras_gate_order(node.op);
  const auto is_used = [](const std::vector<Origins>& biases) {
    return std::ranges::any_of(biases, [](const Origins& each) { return !is_all_zeros(each); });
  };
  const bool has_first = is_used(facts.biases), has_second = is_used(facts.recurrent_biases);
  // Keras has both of a GRU in one tensor, which two of the model's do not make.
  const bool is_joined = adds_biases(node, facts) || !has_first || !has_second ||
                         facts.finder.held(stacked(facts.biases[0], facts.recurrent_biases[0]), 1);
  Cells cells{
      .weights = {},
      .use_bias = has_first || has_second,
      .has_two_biases = has_first && has_second && (adds_biases(node, facts) || !is_joined)};
  bool all = !cells.has_two_biases || node.op != "GRU" || facts.resets_after;
  for (size_t d = 0; d < facts.weights.size(); ++d) {
    const auto add = [&](const char* attribute, const Origins& origins) {
      const auto held = facts.finder.held(origins, std::ssize(origins.dims) - 1);
      all = all && held;
      if (!held) return;
      cells.weights.push_back(
          {fmt::format("{}.{}", cell_path(facts, d), attribute), *held, origins.dims});
    };
    add("kernel", transposed(reordered(facts.weights[d], order)));
    add("recurrent_kernel", transposed(reordered(facts.recurrent_weights[d], order)));
    if (!cells.use_bias) continue;
    const Origins first = reordered(facts.biases[d], order);
    const Origins second = reordered(facts.recurrent_biases[d], order);
    if (!adds_biases(node, facts) && !cells.has_two_biases) {
      add("bias", stacked(first, second));
    } else {
      add("bias", has_first ? first : second);
      if (cells.has_two_biases) add("recurrent_bias", second);
    }
  }
  return all ? std::optional(std::move(cells)) : std::nullopt;
}

/// Writes what a call gives: sequences or the last output, then states.
class KerasRecurrentCall {
 public:
  KerasRecurrentCall(const Pattern& pattern, const Layer& layer, Body& body)
      : node_(*pattern.node),
        facts_(*pattern.recurrent),
        pattern_(pattern),
        layer_(layer),
        body_(body) {}

  void write() {
    const bool wants_all = gives(0), wants_states = gives(1) || gives(2);
    const std::string call = fmt::format("{}({}{})", body_.attribute(layer_.path),
                                         batch_first(body_.tensor(pattern_.input)), first_states());
    const Value* all = facts_.sequences ? facts_.sequences : node_.output(0);
    const bool as_it_is = facts_.sequences && facts_.batch_first && !facts_.is_reverse;
    std::vector<std::string> made = {"_"};
    std::string y;
    if (wants_all) made[0] = y = as_it_is ? body_.declare(all, Form::plain) : body_.variable({});
    std::vector<std::string> h, c;
    for (int64_t d = 0; wants_states && d < facts_.directions; ++d) {
      for (auto* states : {&h, &c}) {
        if (states == &c && node_.op != "LSTM") continue;
        states->push_back(body_.variable({states == &h ? "h" : "c", true}));
        made.push_back(states->back());
      }
    }
    body_.add_line(fmt::format("{} = {}", fmt::join(made, ", "), call));
    if (wants_all && !as_it_is) {
      if (facts_.is_reverse) y = fmt::format("ops.flip({}, axis=1)", y);
      body_.add_line(fmt::format("{} = {}", body_.declare(all, Form::plain), apart(y)));
    }
    finish(1, h);
    finish(2, c);
  }

 private:
  bool gives(size_t output) const {
    const Value* value = node_.output(output);
    return value && is_needed(*value);
  }

  std::string batch_first(const std::string& x) const {
    return facts_.batch_first ? x : fmt::format("ops.transpose({}, (1, 0, 2))", x);
  }

  std::string first_states() const {
    if (!facts_.initial_h) return "";
    std::vector<std::string> states;
    for (int64_t d = 0; d < facts_.directions; ++d) {
      for (const Value* value : {facts_.initial_h, facts_.initial_c}) {
        if (!value) continue;
        states.push_back(fmt::format(fmt::runtime(facts_.has_layout ? "{}[:, {}]" : "{}[{}]"),
                                     body_.tensor(value), d));
      }
    }
    return fmt::format(", initial_state=[{}]", fmt::join(states, ", "));
  }

  /// The sequences in the order of dimensions that the node gives them in.
  std::string apart(const std::string& y) const {
    if (facts_.sequences) return batch_first(y);
    if (facts_.directions == 1) {
      return fmt::format("ops.expand_dims({}, {})", batch_first(y), facts_.has_layout ? 2 : 1);
    }
    const std::string both = fmt::format("ops.stack(ops.split({}, 2, axis=-1), axis=2)", y);
    return facts_.has_layout ? both : fmt::format("ops.transpose({}, (1, 2, 0, 3))", both);
  }

  void finish(size_t output, const std::vector<std::string>& states) {
    if (!gives(output)) return;
    if (const Value* alone = output == 1 ? facts_.last_h : facts_.last_c) {
      return body_.alias(alone, Form::plain, states[0]);
    }
    const int axis = facts_.has_layout ? 1 : 0;
    const std::string y = body_.declare(node_.output(output), Form::plain);
    const std::string all =
        states.size() == 1 ? fmt::format("ops.expand_dims({}, {})", states[0], axis)
                           : fmt::format("ops.stack([{}], axis={})", fmt::join(states, ", "), axis);
    body_.add_line(fmt::format("{} = {}", y, all));
  }

  const Node& node_;
  const Recurrent& facts_;
  const Pattern& pattern_;
  const Layer& layer_;
  Body& body_;
};

}  // namespace

Layer keras_recurrent_layer(const Pattern& p, const TrainingFacts& training,
                            SourceContext& context) {
  const Recurrent& facts = *p.recurrent;
  const Node& node = *p.node;
  const Cells cells = *cells_of(node, facts);
  const auto gives = [&](size_t output) {
    return node.output(output) && is_needed(*node.output(output));
  };
  std::string cell_options, options;
  const auto add = [](std::string& texts, const std::string& text) { texts += ", " + text; };
  if (facts.is_relu) add(cell_options, "activation=\"relu\"");
  if (!cells.use_bias) add(cell_options, "use_bias=False");
  if (node.op == "GRU" && !facts.resets_after) add(cell_options, "reset_after=False");
  if (gives(0)) add(options, "return_sequences=True");
  if (gives(1) || gives(2)) add(options, "return_state=True");
  if (facts.is_reverse) add(options, "go_backwards=True");
  const DType dtype = p.weight->type.dtype;
  const std::string type =
      dtype == context.main_float ? "" : fmt::format(", dtype=\"{}\"", python_dtype(dtype));
  const bool is_frozen =
      training.is_job && std::ranges::none_of(cells.weights, [&](const CellWeight& each) {
        return training.trained.contains(each.held.value);
      });
  if (is_frozen) add(cells.has_two_biases ? cell_options : options, "trainable=False");
  const std::string units = size_argument("units", facts.hidden);
  const std::string_view kind = node.op == "RNN" ? "SimpleRNN" : std::string_view(node.op);
  Layer layer;
  layer.gives_several = true;
  if (cells.has_two_biases) {
    const std::string cell = fmt::format("TwoBias{}Cell", node.op);
    context.helpers.emplace(cell);
    layer.constructor =
        fmt::format("layers.RNN({}({}{}{}){}{})", cell, units, cell_options, type, options, type);
  } else {
    layer.constructor =
        fmt::format("layers.{}({}{}{}{})", kind, units, cell_options, options, type);
  }
  if (facts.directions > 1) {
    layer.constructor = fmt::format("layers.Bidirectional({}{})", layer.constructor, type);
  }
  for (const CellWeight& weight : cells.weights) {
    layer.tensors.push_back({.value = weight.held.value,
                             .attribute = weight.attribute,
                             .permutation = {},
                             .dims = weight.dims,
                             .arrangement = weight.held.arrangement});
  }
  layer.build_shape = fmt::format("(None, None, {})", facts.inputs);
  const auto& shape = p.input->type.shape;
  layer.is_built_by_call = shape && shape->size() == 3 && shape->back().value;
  return layer;
}

void keras_recurrent(const Pattern& pattern, const Layer& layer, Body& body) {
  KerasRecurrentCall(pattern, layer, body).write();
}

namespace keras {

std::string recurrent(const Call&) { throw Bug("a recurrent layer has no call"); }

std::string_view refuse_recurrent(const Node& node) {
  const auto layer = recurrent_layer(node);
  if (layer && cells_of(node, *layer)) return "";
  return "Keras's layers have their own weights, and neither other activations nor lengths";
}

}  // namespace keras
}  // namespace onward::emit
