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

/// An Add's or Mul's operand is a parameter where the other side says so.
std::optional<std::string> operand_role(const Node& node, size_t input) {
  const Value* other = node.input(input == 0 ? 1 : 0);
  if (!other) return std::nullopt;
  if (is(&node, "Add")) {
    if (const Node* layer = linear_layer(other)) {
      return fmt::format("bias of {} '{}', added by Add '{}'", layer->op, layer->label(),
                         node.label());
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
