#include "infer/quantization_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "infer/operand_checks.h"

namespace onward {
namespace {

using Complaint = std::optional<std::string>;

std::optional<int64_t> count_of(const Operands& o, size_t input) {
  const auto shape = o.shape(input);
  return shape ? element_count(*shape) : std::nullopt;
}

bool is_single(const Operands& o, size_t input) { return count_of(o, input) == 1; }

/// Whether sizes that are still open can make it one element.
bool may_be_single(const Operands& o, size_t input) {
  const auto shape = o.shape(input);
  return !shape ||
         std::ranges::all_of(*shape, [](const Dim& dim) { return dim.value.value_or(1) == 1; });
}

std::optional<int64_t> dim_from_end(const Operands& o, size_t input, int64_t back) {
  const auto rank = o.rank(input);
  if (!rank || *rank < back) return std::nullopt;
  return o.dim(input, static_cast<size_t>(*rank - back));
}

Complaint expect_one(const Operands& o, size_t input, size_t) {
  const auto count = count_of(o, input);
  if (!count || *count == 1) return std::nullopt;
  return fmt::format("it has {} elements, not one", *count);
}

/// One, or one for each of `wanted` places.
Complaint expect_vector(const Operands& o, size_t input, std::optional<int64_t> wanted,
                        std::string_view what) {
  const auto rank = o.rank(input);
  if (!rank || is_single(o, input)) return std::nullopt;
  if (*rank > 1) return fmt::format("it has rank {}, not 0 or 1", *rank);
  const auto length = o.dim(input, 0);
  if (*rank == 0 || !length || !wanted || *length == *wanted) return std::nullopt;
  return fmt::format("it has {} elements for {} {}", *length, *wanted, what);
}

/// One, one for each row (column) of a matrix, or one for each of each matrix: [..., M, 1].
Complaint expect_beside_matrix(const Operands& o, size_t input, size_t matrix, int64_t kept) {
  const auto own = o.shape(input), whole = o.shape(matrix);
  if (!own || !whole || is_single(o, input)) return std::nullopt;
  const char* what = kept == 2 ? "rows" : "columns";
  const auto places =
      whole->size() == 1 ? std::optional<int64_t>(1) : dim_from_end(o, matrix, kept);
  if (own->size() <= 1) return expect_vector(o, input, places, what);
  bool fits = own->size() == whole->size();
  for (size_t d = 0; fits && d < own->size(); ++d) {
    const bool is_summed = d == whole->size() - static_cast<size_t>(3 - kept);
    const auto &mine = (*own)[d].value, &other = (*whole)[d].value;
    fits = !mine || (is_summed ? *mine == 1 : !other || *mine == *other);
  }
  if (fits) return std::nullopt;
  return fmt::format("its shape {} has not one for each of the {} of {}", to_string(*own), what,
                     to_string(*whole));
}

Complaint expect_by_rows(const Operands& o, size_t input, size_t matrix) {
  return expect_beside_matrix(o, input, matrix, 2);
}
Complaint expect_by_columns(const Operands& o, size_t input, size_t matrix) {
  return expect_beside_matrix(o, input, matrix, 1);
}

Complaint expect_by_outputs(const Operands& o, size_t input, size_t kernel) {
  return expect_vector(o, input, o.dim(kernel, 0), "outputs");
}

Complaint expect_bias(const Operands& o, size_t input, size_t kernel) {
  const auto rank = o.rank(input);
  if (rank && *rank != 1) return fmt::format("it has rank {}, not 1", *rank);
  const auto length = o.dim(input, 0), outputs = o.dim(kernel, 0);
  if (!length || !outputs || *length == *outputs) return std::nullopt;
  return fmt::format("it has {} elements for {} outputs", *length, *outputs);
}

/// The shape of blocked scales is that of x, but for the axis.
Complaint expect_blocks(const Shape& own, const Shape& x, size_t axis, int64_t block) {
  bool fits = own.size() == x.size();
  for (size_t d = 0; fits && d < own.size(); ++d) {
    if (!own[d].value || !x[d].value) continue;
    const int64_t size = *x[d].value;
    const int64_t blocks = size / block + (size % block != 0 ? 1 : 0);
    fits = *own[d].value == (d == axis ? blocks : size);
  }
  if (fits) return std::nullopt;
  return fmt::format("its shape {} is not that of {} in blocks of {} along axis {}", to_string(own),
                     to_string(x), block, axis);
}

/// QuantizeLinear and DequantizeLinear: inputs x, scale, zero point.
std::optional<Refusal> guard_linear(const Operands& o) {
  const int64_t block = o.node().int_or("block_size", 0);
  if (auto refusal = check_count(o.node(), "block_size", 0, kLargestCount)) return refusal;
  const auto x = o.shape(0), scale = o.shape(1);
  if (scale && !scale->empty() && !is_single(o, 1) && x) {
    const auto rank = static_cast<int64_t>(x->size());
    const int64_t axis = o.node().int_or("axis", 1);
    if (axis < -rank || axis >= rank) {
      return refused_axis(axis, rank);
    }
    const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    const auto complaint = block == 0 ? expect_vector(o, 1, (*x)[at].value, "places along the axis")
                                      : expect_blocks(*scale, *x, at, block);
    if (complaint) return refused_operand(o, 1, "scale", *complaint);
  }
  if (!o.has(2)) return std::nullopt;
  const auto zero = o.shape(2);
  if (!zero || !scale || (may_be_single(o, 1) && may_be_single(o, 2))) return std::nullopt;
  if (!conflict(Type::tensor(DType::f32, *zero), Type::tensor(DType::f32, *scale))) {
    return std::nullopt;
  }
  return refused_operand(o, 2, "zero_point",
                         fmt::format("its shape {} is not that of the scale, {}", to_string(*zero),
                                     to_string(*scale)));
}

struct ScaleRule {
  std::string_view op;
  size_t input;
  std::string_view name;
  Complaint (*expect)(const Operands&, size_t input, size_t of);
  size_t of = 0;  // the input that it is a scale, a zero point or a bias of
};

constexpr ScaleRule kScaleRules[] = {
    {"ConvInteger", 2, "x_zero_point", expect_one},
    {"ConvInteger", 3, "w_zero_point", expect_by_outputs, 1},
    {"MatMulInteger", 2, "a_zero_point", expect_by_rows, 0},
    {"MatMulInteger", 3, "b_zero_point", expect_by_columns, 1},
    {"QLinearConv", 1, "x_scale", expect_one},
    {"QLinearConv", 2, "x_zero_point", expect_one},
    {"QLinearConv", 4, "w_scale", expect_by_outputs, 3},
    {"QLinearConv", 5, "w_zero_point", expect_by_outputs, 3},
    {"QLinearConv", 6, "y_scale", expect_one},
    {"QLinearConv", 7, "y_zero_point", expect_one},
    {"QLinearConv", 8, "B", expect_bias, 3},
    {"QLinearMatMul", 1, "a_scale", expect_by_rows, 0},
    {"QLinearMatMul", 2, "a_zero_point", expect_by_rows, 0},
    {"QLinearMatMul", 4, "b_scale", expect_by_columns, 3},
    {"QLinearMatMul", 5, "b_zero_point", expect_by_columns, 3},
    {"QLinearMatMul", 6, "y_scale", expect_one},
    {"QLinearMatMul", 7, "y_zero_point", expect_one},
};

}  // namespace

std::optional<Refusal> guard_quantization(const Operands& o) {
  const Node& node = o.node();
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") return guard_linear(o);
  for (const ScaleRule& rule : kScaleRules) {
    if (rule.op != node.op || !o.has(rule.input)) continue;
    if (const auto complaint = rule.expect(o, rule.input, rule.of)) {
      return refused_operand(o, rule.input, rule.name, *complaint);
    }
  }
  return std::nullopt;
}

}  // namespace onward
