#include "recipe/parameter_roles.h"

#include <fmt/format.h>

#include <algorithm>

namespace onward {
namespace {

constexpr int kAnyInput = -1;

/// What a node's input is, where it is an initializer.
struct InputRole {
  std::string_view op;
  int input;
  TensorRole role;
  std::string_view what;
};

constexpr InputRole kInputRoles[] = {
    {"Conv", 1, TensorRole::parameter, "weight"},
    {"Conv", 2, TensorRole::parameter, "bias"},
    {"ConvTranspose", 1, TensorRole::parameter, "weight"},
    {"ConvTranspose", 2, TensorRole::parameter, "bias"},
    {"DeformConv", 1, TensorRole::parameter, "weight"},
    {"DeformConv", 3, TensorRole::parameter, "bias"},
    {"Gemm", 0, TensorRole::parameter, "weight"},
    {"Gemm", 1, TensorRole::parameter, "weight"},
    {"Gemm", 2, TensorRole::parameter, "bias"},
    {"MatMul", 0, TensorRole::parameter, "weight"},
    {"MatMul", 1, TensorRole::parameter, "weight"},
    {"Einsum", kAnyInput, TensorRole::parameter, "weight"},
    {"Gather", 0, TensorRole::parameter, "embedding"},
    {"PRelu", 1, TensorRole::parameter, "slope"},
    {"BatchNormalization", 1, TensorRole::parameter, "scale"},
    {"BatchNormalization", 2, TensorRole::parameter, "bias"},
    {"BatchNormalization", 3, TensorRole::statistic, "running mean"},
    {"BatchNormalization", 4, TensorRole::statistic, "running variance"},
    {"InstanceNormalization", 1, TensorRole::parameter, "scale"},
    {"InstanceNormalization", 2, TensorRole::parameter, "bias"},
    {"LayerNormalization", 1, TensorRole::parameter, "scale"},
    {"LayerNormalization", 2, TensorRole::parameter, "bias"},
    {"GroupNormalization", 1, TensorRole::parameter, "scale"},
    {"GroupNormalization", 2, TensorRole::parameter, "bias"},
    {"RMSNormalization", 1, TensorRole::parameter, "scale"},
    {"RNN", 1, TensorRole::parameter, "weight"},
    {"RNN", 2, TensorRole::parameter, "recurrent weight"},
    {"RNN", 3, TensorRole::parameter, "bias"},
    {"GRU", 1, TensorRole::parameter, "weight"},
    {"GRU", 2, TensorRole::parameter, "recurrent weight"},
    {"GRU", 3, TensorRole::parameter, "bias"},
    {"LSTM", 1, TensorRole::parameter, "weight"},
    {"LSTM", 2, TensorRole::parameter, "recurrent weight"},
    {"LSTM", 3, TensorRole::parameter, "bias"},
    {"LSTM", 7, TensorRole::parameter, "peephole weight"},
};

/// Operators whose first input's elements come out again, moved or converted.
constexpr std::string_view kMovers[] = {"Identity", "Transpose", "Reshape", "Cast",
                                        "Squeeze",  "Unsqueeze", "Flatten", "Slice",
                                        "Split",    "Expand",    "CastLike"};

bool is(const Node* node, std::string_view op) {
  return node && node->domain.empty() && node->op == op;
}

bool is_given(const Value* value) {
  return value && (value->initializer() || is(value->producer(), "Constant"));
}

bool moves(const Node& node, int input) {
  if (!node.domain.empty()) return false;
  if (node.op == "Concat") return true;
  // Picking by fixed indices is a way of slicing; by computed ones it is an embedding.
  if (node.op == "Gather" && input == 0) return is_given(node.input(1));
  return input == 0 &&
         std::find(std::begin(kMovers), std::end(kMovers), node.op) != std::end(kMovers);
}

/// The value behind nodes that only move elements.
const Value* origin(const Value* value) {
  for (int depth = 0; value && value->producer() && depth < 100; ++depth) {
    const Node& node = *value->producer();
    if (node.op == "Concat" || !moves(node, 0)) break;
    value = node.input(0);
  }
  return value;
}

/// A layer's product: what a bias is added to. A product of two computed values is none: what is
/// added to it may be a mask.
const Node* linear_layer(const Value* value) {
  const Value* made = origin(value);
  const Node* node = made ? made->producer() : nullptr;
  for (const InputRole& role : kInputRoles) {
    if (role.what != "weight" || !is(node, role.op)) continue;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (role.input != kAnyInput && role.input != static_cast<int>(i)) continue;
      if (is_given(origin(node->input(i)))) return node;
    }
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
std::optional<std::string> operand_role(const Node& node, int input) {
  const Value* other = node.input(input == 0 ? 1 : 0);
  if (!other) return std::nullopt;
  if (is(&node, "Add")) {
    if (const Node* layer = linear_layer(other)) {
      return fmt::format("bias of {} '{}', added by Add '{}'", layer->op, layer->label(),
                         node.label());
    }
    if (is_scaled_normalized(other)) {
      return fmt::format("bias of a written-out normalization, Add '{}'", node.label());
    }
  }
  if (is(&node, "Mul") && is_normalized(other)) {
    return fmt::format("scale of a written-out normalization, Mul '{}'", node.label());
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
      if (repeats_a_number(node, value)) {
        other_ = {TensorRole::other,
                  fmt::format("a single number that Expand '{}' repeats", node.label())};
      } else if (moves(node, use.input) && depth < 100) {
        for (const auto& output : node.outputs()) {
          if (output) follow(*output, way.empty() ? node.op : way + ", " + node.op, depth + 1);
        }
      } else {
        note(node, use.input, way);
      }
    }
  }

  RoleOfTensor result() const {
    // Whatever else reads it, a tensor that is a weight somewhere is trained (tied embeddings).
    for (const auto* found : {&parameter_, &statistic_, &other_}) {
      if (*found) return **found;
    }
    return {TensorRole::other, "no node reads it"};
  }

 private:
  void note(const Node& node, int input, const std::string& way) {
    const std::string through = way.empty() ? "" : fmt::format(" (through {})", way);
    for (const InputRole& role : kInputRoles) {
      if (!is(&node, role.op) || (role.input != kAnyInput && role.input != input)) continue;
      auto& found = role.role == TensorRole::parameter ? parameter_ : statistic_;
      if (!found) {
        found = {role.role,
                 fmt::format("{} of {} '{}'{}", role.what, node.op, node.label(), through)};
      }
      return;
    }
    if (const auto operand = operand_role(node, input)) {
      if (!parameter_) parameter_ = {TensorRole::parameter, *operand + through};
      return;
    }
    if (!other_) {
      other_ = {TensorRole::other, fmt::format("operand of {} '{}'{}, no weight of a layer",
                                               node.op, node.label(), through)};
    }
  }

  std::optional<RoleOfTensor> parameter_, statistic_, other_;
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
