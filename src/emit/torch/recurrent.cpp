// nn.RNN, nn.GRU and nn.LSTM.

#include "emit/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/classes.h"
#include "emit/module.h"
#include "emit/torch/calls.h"
#include "emit/torch/dialect.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// The order that PyTorch has the standard's gates in.
std::vector<int64_t> gate_order(std::string_view op) {
  if (op == "LSTM") return {0, 2, 3, 1};  // i, o, f, c there; i, f, g, o here
  if (op == "GRU") return {1, 0, 2};      // z, r, h there; r, z, n here
  return {0};
}

/// One of the layer's tensors; of zeros alone where it is none of the model's.
struct Weight {
  std::string attribute;
  Origins origins;
  std::optional<Held> held;
};

/// All of them; nothing where one holds parts of several of the model's.
std::optional<std::vector<Weight>> weights_of(const Node& node, const Recurrent& facts) {
  std::vector<Weight> weights;
  const auto order = gate_order(node.op);
  const auto add = [&](const std::string& attribute, const Origins& origins) {
    Weight weight{attribute, reordered(origins, order), {}};
    weight.held = facts.finder.held(weight.origins, 0);
    weights.push_back(std::move(weight));
  };
  for (size_t d = 0; d < facts.weights.size(); ++d) {
    const std::string ending = d == 0 ? "_l0" : "_l0_reverse";
    add("weight_ih" + ending, facts.weights[d]);
    add("weight_hh" + ending, facts.recurrent_weights[d]);
    if (!facts.has_bias()) continue;
    add("bias_ih" + ending, facts.biases[d]);
    add("bias_hh" + ending, facts.recurrent_biases[d]);
  }
  const bool all = std::ranges::all_of(
      weights, [](const Weight& each) { return each.held || is_all_zeros(each.origins); });
  return all ? std::optional(std::move(weights)) : std::nullopt;
}

Tensor zeros(DType dtype, const std::vector<int64_t>& dims) {
  size_t bytes = static_cast<size_t>(bits(dtype)) / 8;
  for (const int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  return Tensor::from_bytes(dtype, dims, std::make_shared<std::string>(bytes, '\0'));
}

/// What the layer's call gives, as variables.
struct Results {
  std::string sequences, h, c;
};

class RecurrentCall {
 public:
  RecurrentCall(const Pattern& pattern, const Layer& layer, Body& body)
      : node_(*pattern.node),
        facts_(*pattern.recurrent),
        pattern_(pattern),
        layer_(layer),
        body_(body) {}

  void write() {
    const bool is_lstm = node_.op == "LSTM";
    const std::string call = fmt::format("{}({}{})", body_.attribute(layer_.path),
                                         turned(body_.tensor(pattern_.input)), first_states());
    const Value* all = facts_.sequences ? facts_.sequences : node_.output(0);
    const bool as_it_is = facts_.sequences && !facts_.is_reverse;
    const std::string y = as_it_is ? body_.declare(all, Form::plain) : body_.variable({});
    const std::string h = state(1, "h"), c = is_lstm ? state(2, "c") : "";
    body_.add_line(is_lstm ? fmt::format("{}, ({}, {}) = {}", y, h, c, call)
                           : fmt::format("{}, {} = {}", y, h, call));
    if (!as_it_is && all && is_needed(*all)) {
      body_.add_line(fmt::format("{} = {}", body_.declare(all, Form::plain), apart(turned(y))));
    }
    finish(1, h);
    if (is_lstm) finish(2, c);
  }

 private:
  /// PyTorch has no layer that goes backwards alone.
  std::string turned(const std::string& x) const {
    return facts_.is_reverse ? fmt::format("{}.flip({})", x, facts_.batch_first ? 1 : 0) : x;
  }

  std::string first_states() const {
    if (!facts_.initial_h) return "";
    const std::string h = first_state(facts_.initial_h);
    if (!facts_.initial_c) return ", " + h;
    return fmt::format(", ({}, {})", h, first_state(facts_.initial_c));
  }

  std::string first_state(const Value* value) const {
    return body_.tensor(value) + (facts_.has_layout ? ".transpose(0, 1)" : "");
  }

  /// The directions in a dimension of their own, as the node gives them.
  std::string apart(const std::string& y) const {
    if (facts_.sequences) return y;
    if (facts_.directions == 1)
      return fmt::format("{}.unsqueeze({})", y, facts_.has_layout ? 2 : 1);
    const std::string both = fmt::format("{}.unflatten(2, (2, {}))", y, facts_.hidden);
    return facts_.has_layout ? both : both + ".transpose(1, 2)";
  }

  std::string state(size_t output, const char* name) {
    const Value* value = node_.output(output);
    if (!value || facts_.has_layout) return body_.variable({name, true});
    return body_.declare(value, Form::plain, {name, true});
  }

  void finish(size_t output, const std::string& state) {
    const Value* value = node_.output(output);
    if (!value || !facts_.has_layout || !is_needed(*value)) return;
    body_.add_line(
        fmt::format("{} = {}.transpose(0, 1)", body_.declare(value, Form::plain), state));
  }

  const Node& node_;
  const Recurrent& facts_;
  const Pattern& pattern_;
  const Layer& layer_;
  Body& body_;
};

}  // namespace

Layer torch_recurrent_layer(const Pattern& p) {
  const Recurrent& facts = *p.recurrent;
  const Node& node = *p.node;
  const DType dtype = p.weight->type.dtype;
  Layer layer;
  layer.gives_several = true;
  layer.constructor = fmt::format("nn.{}({}, {}", node.op, size_argument("inputs", facts.inputs),
                                  size_argument("hidden", facts.hidden));
  if (facts.is_relu) layer.constructor += ", nonlinearity=\"relu\"";
  if (!facts.has_bias()) layer.constructor += ", bias=False";
  if (facts.batch_first) layer.constructor += ", batch_first=True";
  if (facts.directions > 1) layer.constructor += ", bidirectional=True";
  if (dtype != DType::f32) {
    layer.constructor += fmt::format(", dtype=torch.{}", python_dtype(dtype));
  }
  layer.constructor += ")";
  const auto weights = weights_of(node, facts);
  for (const Weight& weight : *weights) {
    if (!weight.held) {
      layer.own.push_back({weight.attribute, zeros(dtype, weight.origins.dims)});
      continue;
    }
    layer.tensors.push_back({.value = weight.held->value,
                             .attribute = weight.attribute,
                             .permutation = {},
                             .dims = weight.origins.dims,
                             .arrangement = weight.held->arrangement});
  }
  return layer;
}

void torch_recurrent(const Pattern& pattern, const Layer& layer, Body& body) {
  RecurrentCall(pattern, layer, body).write();
}

namespace torch {

std::string recurrent(const Call&) { throw Bug("a recurrent layer has no call"); }

std::string_view refuse_recurrent(const Node& node) {
  const auto layer = recurrent_layer(node);
  if (!layer || !weights_of(node, *layer)) {
    return "PyTorch's layers have their own weights, and neither other activations nor lengths";
  }
  if (node.op == "GRU" && !layer->resets_after) {
    return "PyTorch's GRU applies the reset gate behind the product";
  }
  return "";
}

}  // namespace torch
}  // namespace onward::emit
