#include "emit/patterns.h"

#include <algorithm>

#include "emit/recurrent.h"
#include "ir/rewrite.h"

namespace onward::emit {
namespace {

using Kind = Pattern::Kind;

const Tensor* weight_of(const Value* value, size_t rank) {
  const Tensor* tensor = value ? value->tensor() : nullptr;
  const bool fits = tensor && is_float(tensor->dtype()) && tensor->dims().size() == rank;
  return fits ? tensor : nullptr;
}

/// A float vector of `size` elements, or left out.
bool is_vector(const Value* value, int64_t size) {
  const Tensor* tensor = weight_of(value, 1);
  return tensor && tensor->dims()[0] == size;
}

/// Zeros of any number, which exporters write where a convolution has no bias.
bool is_zeros(const Value* value, const Known& known) {
  const Node* node = value ? value->producer() : nullptr;
  const Tensor* zero = node && node->op == "Expand" ? known.find(node->input(0)) : nullptr;
  return zero && zero->size() == 1 && is_float(zero->dtype()) && zero->number(0) == 0;
}

std::optional<Pattern> conv(const Node& node, const Known& known) {
  const Tensor* weight = node.input(1) ? node.input(1)->tensor() : nullptr;
  if (!weight || !is_float(weight->dtype()) || weight->dims().size() < 3 ||
      weight->dims().size() > 5) {
    return std::nullopt;
  }
  const Value* bias = is_zeros(node.input(2), known) ? nullptr : node.input(2);
  if (bias && !is_vector(bias, weight->dims()[0])) return std::nullopt;
  return Pattern{.kind = Kind::conv,
                 .node = &node,
                 .end = &node,
                 .input = node.input(0),
                 .weight = node.input(1),
                 .bias = bias};
}

std::optional<Pattern> gemm(const Node& node, const Known&) {
  const Tensor* weight = weight_of(node.input(1), 2);
  const bool plain = node.int_or("transA", 0) == 0 && node.float_or("alpha", 1) == 1 &&
                     (!node.input(2) || node.float_or("beta", 1) == 1);
  if (!weight || !plain) return std::nullopt;
  const int64_t outputs = weight->dims()[node.int_or("transB", 0) != 0 ? 0 : 1];
  if (node.input(2) && !is_vector(node.input(2), outputs)) return std::nullopt;
  return Pattern{.kind = Kind::linear,
                 .node = &node,
                 .end = &node,
                 .input = node.input(0),
                 .weight = node.input(1),
                 .bias = node.input(2),
                 .is_transposed = node.int_or("transB", 0) != 0};
}

/// The weight behind a transposed one, as exporters write a linear layer; else null.
const Value* behind_transpose(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  const auto* order = node ? node->get<std::vector<int64_t>>("perm") : nullptr;
  if (!node || node->op != "Transpose" || !node->domain.empty()) return nullptr;
  const bool swaps = !order || *order == std::vector<int64_t>{1, 0};
  return swaps ? node->input(0) : nullptr;
}

bool is_output(const Value* value) {
  const auto outputs = value->graph().outputs();
  return std::ranges::find(outputs, value) != outputs.end();
}

/// MatMul, with the Add of a bias where that is all that reads it.
std::optional<Pattern> matmul(const Node& node, const Known&) {
  const Value* turned = behind_transpose(node.input(1));
  const Tensor* weight = weight_of(turned ? turned : node.input(1), 2);
  const auto dimensions = rank(node.input(0));
  if (!weight || !dimensions || *dimensions < 2) return std::nullopt;
  Pattern found{.kind = Kind::linear,
                .node = &node,
                .end = &node,
                .input = node.input(0),
                .weight = turned ? turned : node.input(1),
                .is_transposed = turned != nullptr};
  const Value* product = node.output(0);
  if (product->uses().size() != 1 || is_output(product)) return found;
  const Node* next = product->uses()[0].node;
  if (next->op != "Add" || !next->domain.empty() || &next->graph() != &node.graph()) return found;
  const Value* other = next->input(0) == product ? next->input(1) : next->input(0);
  if (!is_vector(other, weight->dims()[turned ? 0 : 1])) return found;
  found.bias = other;
  found.inner = {&node};
  found.end = next;
  return found;
}

std::optional<Pattern> batch_norm(const Node& node, const Known&) {
  const Tensor* scale = weight_of(node.input(1), 1);
  const auto dimensions = rank(node.input(0));
  if (!scale || !dimensions || *dimensions < 2 || *dimensions > 5 || node.outputs().size() > 1 ||
      node.int_or("training_mode", 0) != 0) {
    return std::nullopt;
  }
  for (size_t i = 2; i < 5; ++i) {
    if (!is_vector(node.input(i), scale->dims()[0])) return std::nullopt;
  }
  return Pattern{.kind = Kind::batch_norm,
                 .node = &node,
                 .end = &node,
                 .input = node.input(0),
                 .weight = node.input(1),
                 .bias = node.input(2),
                 .mean = node.input(3),
                 .variance = node.input(4)};
}

std::optional<Pattern> layer_norm(const Node& node, const Known&) {
  const auto& shape = node.input(0)->type.shape;
  const Tensor* scale = node.input(1) ? node.input(1)->tensor() : nullptr;
  if (!shape || !scale || !is_float(scale->dtype())) return std::nullopt;
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i) && is_needed(*node.output(i))) return std::nullopt;
  }
  int64_t axis = node.int_or("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(shape->size());
  const auto first = static_cast<size_t>(axis);
  if (scale->dims().size() + first != shape->size()) return std::nullopt;
  for (size_t d = 0; d < scale->dims().size(); ++d) {
    const auto size = (*shape)[first + d].value;
    // Where it is not declared, the scale may be broadcast; and Keras's layer asks for it.
    if (size != scale->dims()[d]) return std::nullopt;
  }
  const Value* bias = node.input(2);
  if (bias && (!bias->tensor() || bias->tensor()->dims() != scale->dims())) return std::nullopt;
  return Pattern{.kind = Kind::layer_norm,
                 .node = &node,
                 .end = &node,
                 .input = node.input(0),
                 .weight = node.input(1),
                 .bias = bias};
}

std::optional<Pattern> embedding(const Node& node, const Known& known) {
  if (!weight_of(node.input(0), 2) || node.int_or("axis", 0) != 0 || known.find(node.input(1))) {
    return std::nullopt;
  }
  return Pattern{.kind = Kind::embedding,
                 .node = &node,
                 .end = &node,
                 .input = node.input(1),
                 .weight = node.input(0)};
}

std::optional<Pattern> dropout(const Node& node, const Known& known) {
  const Tensor* ratio = known.find(node.input(1));
  if (node.input(1) && (!ratio || ratio->size() != 1)) return std::nullopt;
  const Value* training = node.input(2);
  const Tensor* in_training = known.find(training);
  if (training && (!in_training || in_training->integer(0) != 0)) return std::nullopt;
  if (node.outputs().size() > 1 && node.output(1) && is_needed(*node.output(1))) {
    return std::nullopt;
  }
  return Pattern{.kind = Kind::dropout,
                 .node = &node,
                 .end = &node,
                 .input = node.input(0),
                 .ratio = ratio ? ratio->number(0) : 0.5};
}

struct Finder {
  std::string_view op;
  std::optional<Pattern> (*find)(const Node&, const Known&);
};

constexpr Finder kFinders[] = {
    {"BatchNormalization", batch_norm},
    {"Conv", conv},
    {"Dropout", dropout},
    {"GRU", recurrent},
    {"Gather", embedding},
    {"Gemm", gemm},
    {"LSTM", recurrent},
    {"LayerNormalization", layer_norm},
    {"MatMul", matmul},
    {"RNN", recurrent},
};

template <typename T>
bool same_value(const Attribute& a, const Attribute& b) {
  const T *of_a = std::get_if<T>(&a.value), *of_b = std::get_if<T>(&b.value);
  return of_a && of_b && *of_a == *of_b;
}

/// The attributes that layers have are numbers, words and lists of numbers.
bool same_attributes(const Node& a, const Node& b) {
  return a.attributes().size() == b.attributes().size() &&
         std::ranges::all_of(a.attributes(), [&](const Attribute& attribute) {
           const Attribute* other = b.attribute(attribute.name);
           return other &&
                  (same_value<int64_t>(attribute, *other) || same_value<float>(attribute, *other) ||
                   same_value<std::string>(attribute, *other) ||
                   same_value<std::vector<int64_t>>(attribute, *other));
         });
}

}  // namespace

std::vector<Pattern> find_patterns(const Graph& graph, const Known& known) {
  std::vector<Pattern> patterns;
  for (const auto& node : graph.nodes()) {
    if (!node->domain.empty()) continue;
    const auto* finder = std::ranges::find(kFinders, node->op, &Finder::op);
    if (finder == std::end(kFinders)) continue;
    // Of recurrent layers any result may be left out.
    if (!node->output(0) && finder->find != recurrent) continue;
    if (const auto found = finder->find(*node, known)) patterns.push_back(*found);
  }
  return patterns;
}

bool same_layer(const Pattern& a, const Pattern& b) {
  return a.kind == b.kind && !a.recurrent && a.weight && a.weight == b.weight && a.bias == b.bias &&
         a.mean == b.mean && a.variance == b.variance && a.is_transposed == b.is_transposed &&
         a.activation == b.activation && same_attributes(*a.node, *b.node);
}

}  // namespace onward::emit
