#include "infer/old_form_guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "infer/operand_checks.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

Refusal wrong_shape(const Value* value, std::string message) {
  return {"shape", value->name(), std::move(message)};
}

/// Axes of a tensor of that rank, each at most once.
std::optional<Refusal> check_listed_axes(std::span<const int64_t> axes, int64_t rank) {
  std::set<int64_t> seen;
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return refused_axis(axis, rank);
    }
    if (!seen.insert(axis < 0 ? axis + rank : axis).second) {
      return refused_attribute(fmt::format("axis {} is given twice", axis));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_listed_axes(const Operands& o) {
  const auto* axes = o.node().get<Integers>("axes");
  const auto rank = o.rank(0);
  return axes && rank ? check_listed_axes(*axes, *rank) : std::nullopt;
}

/// Axes of the result, which has those too.
std::optional<Refusal> guard_added_axes(const Operands& o) {
  const auto* axes = o.node().get<Integers>("axes");
  const auto rank = o.rank(0);
  if (!axes || !rank) return std::nullopt;
  return check_listed_axes(*axes, *rank + static_cast<int64_t>(axes->size()));
}

/// Up to opset 12 `axis` cuts the dimensions in two, which it may do behind the last.
std::optional<Refusal> guard_cut(const Operands& o) {
  const auto rank = o.rank(0);
  const int64_t axis = o.node().int_or("axis", 1);
  if (!rank || o.node().opset >= 13 || (axis >= -*rank && axis <= *rank)) return std::nullopt;
  return refused_axis(axis, *rank);
}

std::optional<Refusal> guard_bounds(const Operands& o) {
  const auto* starts = o.node().get<Integers>("starts");
  const auto* ends = o.node().get<Integers>("ends");
  const auto* axes = o.node().get<Integers>("axes");
  if (!starts || !ends) return std::nullopt;
  if (starts->size() != ends->size() || (axes && axes->size() != starts->size())) {
    return refused_attribute("attributes 'starts', 'ends' and 'axes' differ in length");
  }
  const auto rank = o.rank(0);
  if (rank && static_cast<int64_t>(starts->size()) > *rank) {
    return refused_attribute(
        fmt::format("attribute 'starts' has {} entries for rank {}", starts->size(), *rank));
  }
  return guard_listed_axes(o);
}

bool may_be_equal(const Shape& a, const Shape& b) {
  return !conflict(Type::tensor(DType::f32, a), Type::tensor(DType::f32, b));
}

std::optional<Refusal> check_equal_shape(const Operands& o, size_t input, const Shape& expected,
                                         std::string_view why) {
  const auto shape = o.shape(input);
  if (!shape || may_be_equal(*shape, expected)) return std::nullopt;
  return wrong_shape(
      o.node().input(input),
      fmt::format("its shape {} is not {}, and {}", to_string(*shape), to_string(expected), why));
}

/// Up to opset 7 the operands of a sum, a mean and an extremum have one shape.
std::optional<Refusal> guard_equal_shapes(const Operands& o) {
  const auto first = o.shape(0);
  if (!first || o.node().opset >= 8) return std::nullopt;
  for (size_t i = 1; i < o.node().inputs().size(); ++i) {
    auto refusal = check_equal_shape(o, i, *first, "its operator broadcasts only since opset 8");
    if (refusal) return refusal;
  }
  return std::nullopt;
}

/// Up to opset 6 only B is broadcast, and only where `broadcast` is set: a single element, or the
/// dimensions of A from `axis` on, or its last ones.
std::optional<Refusal> guard_second_operand(const Operands& o) {
  const Node& node = o.node();
  const auto a = o.shape(0), b = o.shape(1);
  if (node.opset >= 7 || !a || !b) return std::nullopt;
  if (node.int_or("broadcast", 0) == 0) {
    return check_equal_shape(o, 1, *a, "attribute 'broadcast' is not set");
  }
  if (element_count(*b) == 1) return std::nullopt;
  const auto rank_a = static_cast<int64_t>(a->size()), rank_b = static_cast<int64_t>(b->size());
  const int64_t axis = node.int_or("axis", rank_a - rank_b);
  if (axis < 0 || axis > rank_a - rank_b) {
    return refused_attribute(
        fmt::format("axis {} leaves no room for rank {} below rank {}", axis, rank_b, rank_a));
  }
  for (int64_t d = 0; d < rank_b; ++d) {
    const auto& mine = (*b)[static_cast<size_t>(d)].value;
    const auto& other = (*a)[static_cast<size_t>(axis + d)].value;
    if (!mine || !other || *mine == 1 || *mine == *other) continue;
    return wrong_shape(node.input(1),
                       fmt::format("its shape {} can't be broadcast to {} from axis {}",
                                   to_string(*b), to_string(*a), axis));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_gemm_bias(const Operands& o) {
  const Node& node = o.node();
  if (node.opset >= 7 || node.int_or("broadcast", 0) != 0 || !o.has(2)) return std::nullopt;
  const auto a = o.shape(0), b = o.shape(1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
  const Shape product = {(*a)[node.int_or("transA", 0) != 0 ? 1 : 0],
                         (*b)[node.int_or("transB", 0) != 0 ? 0 : 1]};
  return check_equal_shape(o, 2, product, "attribute 'broadcast' is not set");
}

struct OldForm {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr OldForm kOldForms[] = {
    {"Add", guard_second_operand},
    {"And", guard_second_operand},
    {"Div", guard_second_operand},
    {"Equal", guard_second_operand},
    {"Gemm", guard_gemm_bias},
    {"Greater", guard_second_operand},
    {"Hardmax", guard_cut},
    {"Less", guard_second_operand},
    {"LogSoftmax", guard_cut},
    {"Max", guard_equal_shapes},
    {"Mean", guard_equal_shapes},
    {"Min", guard_equal_shapes},
    {"Mul", guard_second_operand},
    {"Or", guard_second_operand},
    {"Pow", guard_second_operand},
    {"ReduceL1", guard_listed_axes},
    {"ReduceL2", guard_listed_axes},
    {"ReduceLogSum", guard_listed_axes},
    {"ReduceLogSumExp", guard_listed_axes},
    {"ReduceMax", guard_listed_axes},
    {"ReduceMean", guard_listed_axes},
    {"ReduceMin", guard_listed_axes},
    {"ReduceProd", guard_listed_axes},
    {"ReduceSum", guard_listed_axes},
    {"ReduceSumSquare", guard_listed_axes},
    {"Slice", guard_bounds},
    {"Softmax", guard_cut},
    {"Squeeze", guard_listed_axes},
    {"Sub", guard_second_operand},
    {"Sum", guard_equal_shapes},
    {"Unsqueeze", guard_added_axes},
    {"Xor", guard_second_operand},
};

}  // namespace

std::optional<Refusal> guard_old_form(const Operands& operands) {
  const Node& node = operands.node();
  const auto* found = std::ranges::find(kOldForms, node.op, &OldForm::op);
  if (found == std::end(kOldForms) || !node.domain.empty()) return std::nullopt;
  return found->check(operands);
}

}  // namespace onward
