#include "recipe/parameter_roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/op_def.h"

namespace onward {
namespace {

/// What an input with that role is, where it is an initializer.
TensorRole tensor_role(InputRole role) {
  switch (role) {
    case InputRole::weight:
    case InputRole::recurrent_weight:
    case InputRole::peephole_weight:
    case InputRole::bias:
    case InputRole::scale:
    case InputRole::slope:
    case InputRole::embedding:
      return TensorRole::parameter;
    case InputRole::running_mean:
    case InputRole::running_variance:
      return TensorRole::statistic;
    default:
      return TensorRole::other;
  }
}

bool is(const Node* node, std::string_view op) {
  return node && node->domain.empty() && node->op == op;
}

bool is_given(const Value* value) {
  return value && (value->initializer() || is(value->producer(), "Constant"));
}

bool moves(const Node& node, size_t input) {
  if (!has_traits(node, kMovesData)) return false;
  const InputRole role = input_role(node, input);
  // Picking by fixed indices is a way of slicing; by computed ones it is an embedding.
  return role == InputRole::data || (role == InputRole::embedding && is_given(node.input(1)));
}

/// The value behind nodes that only move elements.
const Value* origin(const Value* value) {
  for (int depth = 0; value && value->producer() && depth < 100; ++depth) {
    const Node& node = *value->producer();
    const bool joins = node.inputs().size() > 1 && moves(node, 1);
    if (joins || !moves(node, 0)) break;
    value = node.input(0);
  }
  return value;
}

/// A layer's product: what a bias is added to. A product of two computed values is none: what is
/// added to it may be a mask.
const Node* linear_layer(const Value* value) {
  const Value* made = origin(value);
  const Node* node = made ? made->producer() : nullptr;
  for (size_t i = 0; node && i < node->inputs().size(); ++i) {
    const bool is_weight = input_role(*node, i) == InputRole::weight;
    if (is_weight && is_given(origin(node->input(i)))) return node;
  }
  return nullptr;
}

/// x / sqrt(...), or x times the reciprocal of such: a normalization that was written out.
bool is_normalized(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  if (is(node, "Div")) return node->input(1) && is(node->input(1)->producer(), "Sqrt");
  if (!is(node, "Mul")) return false;
  return std::any_of(node->inputs().begin(), node->inputs().end(), [](const Value* input) {
    const Node* maker = input->producer();
    return is(maker, "Reciprocal") && maker->input(0) && is(maker->input(0)->producer(), "Sqrt");
  });
}

bool is_scaled_normalized(const Value* value) {
  const Node* node = value ? value->producer() : nullptr;
  return is(node, "Mul") && (is_normalized(node->input(0)) || is_normalized(node->input(1)));
}

/// A number that scales everything alike: sqrt(d) of token embeddings.
bool is_scalar(const Value* value) {
  return is_given(value) && value->type.shape && element_count(*value->type.shape) == 1;
}

/// Vectors of tokens or patches: rows that computed indices pick from a table, a layer's results
/// with a class token in front, or the sum of such.
bool is_token_embedding(const Value* value, int depth = 0) {
  const Value* made = origin(value);
  const Node* node = made ? made->producer() : nullptr;
  if (!node || depth > 8) return false;
  if (input_role(*node, 0) == InputRole::embedding) {
    return is_given(origin(node->input(0))) && !is_given(node->input(1));
  }
  if (is(node, "Mul") && is_scalar(node->input(1))) {
    return is_token_embedding(node->input(0), depth + 1);
  }
  const auto embeds = [&](const Value* x) { return is_token_embedding(x, depth + 1); };
  if (is(node, "Add")) return std::ranges::any_of(node->inputs(), embeds);
  if (!is(node, "Concat")) return false;
  return std::ranges::any_of(
      node->inputs(), [&](const Value* x) { return linear_layer(x) != nullptr || embeds(x); });
}

/// [T,C] or [1,T,C]: a vector for each place.
bool has_vector_for_each_place(const Value& value) {
  if (!value.type.shape) return false;
  const Shape& shape = *value.type.shape;
  const auto is_some = [](const Dim& dim) { return dim.value.value_or(1) > 1; };
  return (shape.size() == 2 || (shape.size() == 3 && shape[0].value == 1)) &&
         is_some(shape.end()[-2]) && is_some(shape.back());
}

/// Sines and cosines of the place, whose first row is sin 0 = 0 and cos 0 = 1 throughout.
bool is_sinusoidal(const Value& value) {
  const Value* origin_of = origin(&value);
  const Tensor* table = origin_of ? origin_of->tensor() : nullptr;
  if (!table && is(origin_of->producer(), "Constant")) {
    table = origin_of->producer()->get<Tensor>("value");
  }
  if (!table || table->dims().empty() || table->size() == 0) return false;
  for (int64_t i = 0; i < table->dims().back(); ++i) {
    const double number = table->number(i);
    if (number != 0 && number != 1) return false;
  }
  return table->number(table->dims().back() - 1) == 1;
}

/// A learned embedding of places, which is added to that of tokens.
bool is_positional_embedding(const Node& node, size_t input, const Value* tokens) {
  const Value& places = *node.input(input);
  return has_vector_for_each_place(places) && is_given(origin(&places)) &&
         is_token_embedding(tokens) && !is_sinusoidal(places);
}

/// An Add's or Mul's operand is a parameter where the other side says so.
std::optional<std::string> operand_role(const Node& node, size_t input) {
  const Value* other = node.input(input == 0 ? 1 : 0);
  if (!other) return std::nullopt;
  if (is(&node, "Add")) {
    if (const Node* layer = linear_layer(other)) {
      return fmt::format("bias of {} '{}', added by Add '{}'", layer->op, layer->label(),
                         node.label());
    }
    if (is_positional_embedding(node, input, other)) {
      return fmt::format("positional embedding, added by Add '{}'", node.label());
    }
    if (is_scaled_normalized(other)) {
      return fmt::format("bias of a decomposed normalization, Add '{}'", node.label());
    }
  }
  if (is(&node, "Mul") && is_normalized(other)) {
    return fmt::format("scale of a decomposed normalization, Mul '{}'", node.label());
  }
  return std::nullopt;
}

/// A constant tensor, written shortly: torch gives a convolution without bias one of zeros.
bool repeats_a_number(const Node& node, const Value& value) {
  return is(&node, "Expand") && value.type.shape && element_count(*value.type.shape) == 1;
}

class RoleFinder {
 public:
  void follow(const Value& value, const std::string& way, int depth) {
    for (const Use& use : value.uses()) {
      if (use.input < 0) continue;
      const Node& node = *use.node;
      const auto input = static_cast<size_t>(use.input);
      if (repeats_a_number(node, value)) {
        other_ = {TensorRole::other,
                  fmt::format("a scalar that Expand '{}' repeats", node.label())};
      } else if (moves(node, input) && depth < 100) {
        for (const auto& output : node.outputs()) {
          if (output) follow(*output, way.empty() ? node.op : way + ", " + node.op, depth + 1);
        }
      } else {
        note(node, input, way);
      }
    }
  }

  RoleOfTensor result() const {
    // Whatever else reads it, a tensor that is a weight somewhere is trained (tied embeddings).
    for (const auto* found : {&parameter_, &statistic_, &other_}) {
      if (!*found) continue;
      RoleOfTensor role = **found;
      role.is_bias_or_scale = found == &parameter_ && !is_weight_;
      return role;
    }
    return {TensorRole::other, "unused"};
  }

 private:
  void note(const Node& node, size_t input, const std::string& way) {
    const std::string through = way.empty() ? "" : fmt::format(" (through {})", way);
    const InputRole role = input_role(node, input);
    if (const TensorRole of_tensor = tensor_role(role); of_tensor != TensorRole::other) {
      auto& found = of_tensor == TensorRole::parameter ? parameter_ : statistic_;
      is_weight_ = is_weight_ || (role != InputRole::bias && role != InputRole::scale);
      if (!found) {
        found = {of_tensor,
                 fmt::format("{} of {} '{}'{}", name(role), node.op, node.label(), through)};
      }
      return;
    }
    if (const auto operand = operand_role(node, input)) {
      if (!parameter_) parameter_ = {TensorRole::parameter, *operand + through};
      return;
    }
    if (!other_) {
      other_ = {TensorRole::other, fmt::format("operand of {} '{}'{}, not a layer's weight",
                                               node.op, node.label(), through)};
    }
  }

  std::optional<RoleOfTensor> parameter_, statistic_, other_;
  bool is_weight_ = false;
};

}  // namespace

RoleOfTensor role_of(const Value& value) {
  RoleFinder finder;
  finder.follow(value, "", 0);
  return finder.result();
}

std::string torch_kind(const Value& value) {
  constexpr std::string_view kKey = "InputSpec.kind";
  for (const auto& [key, kind] : value.metadata) {
    if (key.ends_with(kKey)) return kind;
  }
  return "";
}

}  // namespace onward
