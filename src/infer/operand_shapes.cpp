#include "infer/operand_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "infer/attention_guard.h"
#include "infer/quantization_guard.h"
#include "infer/recurrent_guard.h"

namespace onward {
namespace {

using Complaint = std::optional<std::string>;

/// Says why input `input` does not fit, or nothing where it does or where too little is known.
using Expectation = Complaint (*)(const Operands&, size_t input);

std::optional<int64_t> elements(const Operands& o, size_t input) {
  const auto shape = o.shape(input);
  return shape ? element_count(*shape) : std::nullopt;
}

Complaint is_one_number(const Operands& o, size_t input) {
  const auto count = elements(o, input);
  if (!count || *count == 1) return std::nullopt;
  return fmt::format("it has {} elements, not one", *count);
}

Complaint is_vector(const Operands& o, size_t input) {
  const auto rank = o.rank(input);
  if (!rank || *rank == 1) return std::nullopt;
  return fmt::format("it has rank {}, not 1", *rank);
}

Complaint is_vector_or_scalar(const Operands& o, size_t input) {
  const auto rank = o.rank(input);
  if (!rank || *rank <= 1) return std::nullopt;
  return fmt::format("it has rank {}, not 1", *rank);
}

Complaint is_vector_of(const Operands& o, size_t input, std::optional<int64_t> count,
                       std::string_view what) {
  if (auto complaint = is_vector(o, input)) return complaint;
  const auto length = o.dim(input, 0);
  if (!length || !count || *length == *count) return std::nullopt;
  return fmt::format("it has {} elements for {} {}", *length, *count, what);
}

/// One for each channel: dimension 1 of the first input, or one where that has none.
Complaint is_for_each_channel(const Operands& o, size_t input) {
  if (o.node().int_or("spatial", 1) == 0) return std::nullopt;  // an old form: one for each place
  const auto rank = o.rank(0);
  const auto channels = rank && *rank < 2 ? std::optional<int64_t>(1) : o.dim(0, 1);
  return is_vector_of(o, input, channels, "channels");
}

Complaint is_for_each_group_or_channel(const Operands& o, size_t input) {
  if (o.node().opset >= 21) return is_for_each_channel(o, input);
  return is_vector_of(o, input, o.node().int_or("num_groups", 1), "groups");
}

Complaint is_two_numbers(const Operands& o, size_t input) {
  return is_vector_of(o, input, 2, "values");
}

/// Each dimension, from the last one, is 1 or that of `to`.
Complaint broadcasts_to(const Operands& o, size_t input, const std::optional<Shape>& to) {
  const auto from = o.shape(input);
  if (!from || !to) return std::nullopt;
  bool fits = from->size() <= to->size();
  for (size_t i = 0; fits && i < from->size(); ++i) {
    const auto& mine = (*from)[from->size() - 1 - i].value;
    const auto& other = (*to)[to->size() - 1 - i].value;
    fits = !mine || *mine == 1 || !other || *mine == *other;
  }
  if (fits) return std::nullopt;
  return fmt::format("its shape {} can't be broadcast to {}", to_string(*from), to_string(*to));
}

Complaint broadcasts_to_first(const Operands& o, size_t input) {
  return broadcasts_to(o, input, o.shape(0));
}

/// The slopes of older forms go by channel.
Complaint is_slope(const Operands& o, size_t input) {
  return o.node().opset >= 7 ? broadcasts_to_first(o, input) : std::nullopt;
}

Dim dim_or_unknown(const Operands& o, size_t input, size_t index) {
  const auto shape = o.shape(input);
  return shape && index < shape->size() ? (*shape)[index] : Dim{};
}

Complaint is_matrix(const Operands& o, size_t input) {
  const auto rank = o.rank(input);
  if (!rank || *rank == 2) return std::nullopt;
  return fmt::format("it has rank {}, not 2", *rank);
}

/// B of Gemm: a matrix with as many rows as A has columns, either transposed where asked for.
Complaint is_right_factor(const Operands& o, size_t input) {
  if (auto complaint = is_matrix(o, input)) return complaint;
  const auto inner_a = o.dim(0, o.node().int_or("transA", 0) != 0 ? 0 : 1);
  const auto inner_b = o.dim(input, o.node().int_or("transB", 0) != 0 ? 1 : 0);
  if (!inner_a || !inner_b || *inner_a == *inner_b) return std::nullopt;
  return fmt::format("inner dimensions differ: {} and {}", *inner_a, *inner_b);
}

Complaint broadcasts_to_product(const Operands& o, size_t input) {
  return broadcasts_to(o, input,
                       Shape{dim_or_unknown(o, 0, o.node().int_or("transA", 0) != 0 ? 1 : 0),
                             dim_or_unknown(o, 1, o.node().int_or("transB", 0) != 0 ? 0 : 1)});
}

/// Weights of a convolution: [outputs, channels / group, kernel...]; transposed, [channels, outputs
/// / group, kernel...].
Complaint is_kernel(const Operands& o, size_t input) {
  const Node& node = o.node();
  const auto rank = o.rank(0), own = o.rank(input);
  if (rank && own && *rank != *own) {
    return fmt::format("it has rank {}, but the input has rank {}", *own, *rank);
  }
  const int64_t group = node.int_or("group", 1);
  if (group < 1) return fmt::format("attribute 'group' is {}, but must be positive", group);
  const bool transposed = node.op == "ConvTranspose";
  const auto channels = o.dim(0, 1), first = o.dim(input, 0), second = o.dim(input, 1);
  if (first && *first % group != 0) {
    return fmt::format("its dimension 0, {}, is not divisible by {} groups", *first, group);
  }
  const auto per_group = transposed ? first : second;
  const int64_t groups = transposed ? 1 : group;
  if (channels && per_group && (*channels % groups != 0 || *channels / groups != *per_group)) {
    return fmt::format("it is for {} channels in {} group{}, but the input has {} channels",
                       *per_group, groups, groups == 1 ? "" : "s each", *channels);
  }
  const auto* kernel = node.get<std::vector<int64_t>>("kernel_shape");
  for (int64_t d = 2; own && d < *own; ++d) {
    const auto at = static_cast<size_t>(d);
    const auto size = o.dim(input, at);
    if (size && *size == 0) return "its kernel is empty";
    if (!size || !kernel || kernel->size() <= at - 2 || (*kernel)[at - 2] == *size) continue;
    return fmt::format("its shape {} contradicts kernel_shape {}", to_string(*o.shape(input)),
                       to_string(std::span<const int64_t>(*kernel)));
  }
  return std::nullopt;
}

Complaint is_for_each_output(const Operands& o, size_t input) {
  const int64_t group = o.node().int_or("group", 1);
  auto outputs = o.dim(1, 0);
  if (o.node().op == "ConvTranspose") {
    outputs = o.dim(1, 1);
    if (outputs && __builtin_mul_overflow(*outputs, group, &*outputs)) return std::nullopt;
  }
  return is_vector_of(o, input, outputs, "outputs");
}

/// Labels: the scores' shape without the dimension of the classes, which is 1.
Complaint is_label_of_each_score(const Operands& o, size_t input) {
  auto expected = o.shape(0);
  const auto own = o.shape(input);
  if (!expected || !own) return std::nullopt;
  if (expected->size() < 2) return "the scores have no dimension for the classes";
  expected->erase(expected->begin() + 1);
  if (!conflict(Type::tensor(DType::i64, *expected), Type::tensor(DType::i64, *own))) {
    return std::nullopt;
  }
  return fmt::format("labels of shape {} do not fit scores of shape {}", to_string(*own),
                     to_string(*o.shape(0)));
}

Complaint is_for_each_class(const Operands& o, size_t input) {
  return is_vector_of(o, input, o.dim(0, 1), "classes");
}

/// Indices that are known lie within the dimension that they pick from.
Complaint picks_along_axis(const Operands& o, size_t input) {
  const auto rank = o.rank(0);
  if (!rank) return std::nullopt;
  const int64_t axis = o.node().int_or("axis", 0);
  const auto size = o.dim(0, static_cast<size_t>(axis < 0 ? axis + *rank : axis));
  const auto indices = o.numbers(input);
  if (!size || !indices) return std::nullopt;
  const auto limit = static_cast<double>(*size);
  for (const double index : *indices) {
    if (index >= -limit && index < limit) continue;
    return fmt::format("index {} is out of range for a dimension of {}", index, *size);
  }
  return std::nullopt;
}

/// Of the rank of the data, and nowhere larger but along the axis.
Complaint picks_elements(const Operands& o, size_t input) {
  const auto data = o.shape(0), own = o.shape(input);
  if (!data || !own) return std::nullopt;
  if (data->size() != own->size()) {
    return fmt::format("it has rank {}, but the data has rank {}", own->size(), data->size());
  }
  const auto rank = static_cast<int64_t>(data->size());
  const int64_t axis = o.node().int_or("axis", 0);
  for (int64_t d = 0; d < rank; ++d) {
    const auto& mine = (*own)[static_cast<size_t>(d)].value;
    const auto& other = (*data)[static_cast<size_t>(d)].value;
    if (d == axis || d == axis + rank || !mine || !other || *mine <= *other) continue;
    return fmt::format("its dimension {} is {}, but that of the data only {}", d, *mine, *other);
  }
  return picks_along_axis(o, input);
}

Complaint has_shape_of(const Operands& o, size_t input, size_t other) {
  const auto own = o.shape(input), expected = o.shape(other);
  if (!own || !expected) return std::nullopt;
  const auto reason = conflict(Type::tensor(DType::f32, *own), Type::tensor(DType::f32, *expected));
  if (!reason) return std::nullopt;
  return fmt::format("its shape {} is not that of '{}', {}", to_string(*own),
                     o.node().input(other)->name(), to_string(*expected));
}

Complaint has_shape_of_indices(const Operands& o, size_t input) {
  return has_shape_of(o, input, 1);
}

Complaint has_shape_of_first(const Operands& o, size_t input) { return has_shape_of(o, input, 0); }

/// Of the first form the repeats are one number.
Complaint repeats_each_axis(const Operands& o, size_t input) {
  if (o.node().opset < 6) return std::nullopt;
  return is_vector_of(o, input, o.rank(0), "dimensions");
}

/// Only a constant can be put around a dimension that has nothing.
Complaint pads_with_something(const Operands& o, size_t input) {
  const auto numbers = o.numbers(input);
  const auto rank = o.rank(0);
  if (!numbers || !rank || o.has(3) || o.node().string_or("mode", "constant") == "constant") {
    return std::nullopt;
  }
  for (size_t d = 0; 2 * d < numbers->size(); ++d) {
    if (o.dim(0, d) != 0 || (*numbers)[d] + (*numbers)[d + numbers->size() / 2] <= 0) continue;
    return fmt::format("dimension {} is empty, and has nothing to pad with", d);
  }
  return std::nullopt;
}

/// One beginning and one end for each axis.
Complaint pads_each_axis(const Operands& o, size_t input) {
  if (auto complaint = is_vector(o, input)) return complaint;
  const auto axes = o.has(3) ? elements(o, 3) : o.rank(0);
  const auto count = axes ? std::optional(2 * *axes) : std::nullopt;
  if (auto complaint = is_vector_of(o, input, count, "pads")) return complaint;
  return pads_with_something(o, input);
}

/// Axes of a tensor of that rank, each at most once.
Complaint are_axes(std::span<const double> numbers, int64_t rank) {
  std::set<double> seen;
  for (const double axis : numbers) {
    if (axis < static_cast<double>(-rank) || axis >= static_cast<double>(rank)) {
      return fmt::format("axis {} is out of range for rank {}", axis, rank);
    }
    if (!seen.insert(axis < 0 ? axis + static_cast<double>(rank) : axis).second) {
      return fmt::format("axis {} is given twice", axis);
    }
  }
  return std::nullopt;
}

Complaint names_axis(const Operands& o, size_t input) {
  if (auto complaint = is_one_number(o, input)) return complaint;
  const auto numbers = o.numbers(input);
  const auto rank = o.rank(0);
  return numbers && rank ? are_axes(*numbers, *rank) : std::nullopt;
}

Complaint names_axes(const Operands& o, size_t input) {
  if (auto complaint = is_vector_or_scalar(o, input)) return complaint;
  const auto numbers = o.numbers(input);
  const auto rank = o.rank(0);
  return numbers && rank ? are_axes(*numbers, *rank) : std::nullopt;
}

/// Axes of the result, which has those too.
Complaint names_new_axes(const Operands& o, size_t input) {
  if (auto complaint = is_vector_or_scalar(o, input)) return complaint;
  const auto numbers = o.numbers(input);
  const auto rank = o.rank(0);
  if (!numbers || !rank) return std::nullopt;
  return are_axes(*numbers, *rank + static_cast<int64_t>(numbers->size()));
}

Complaint names_reduced_axes(const Operands& o, size_t input) {
  if (auto complaint = is_vector(o, input)) return complaint;
  return names_axes(o, input);
}

/// As many elements as the data has: 0 copies a dimension, unless it is meant, and one may be -1.
Complaint reshapes(const Operands& o, size_t input) {
  if (auto complaint = is_vector(o, input)) return complaint;
  const auto data = o.shape(0);
  const auto numbers = o.numbers(input);
  if (!data || !numbers) return std::nullopt;
  const bool zero_is_zero = o.node().int_or("allowzero", 0) != 0;
  std::vector<int64_t> dims;
  size_t open = 0;
  for (size_t i = 0; i < numbers->size(); ++i) {
    const auto number = static_cast<int64_t>((*numbers)[i]);
    if (number == -1) {
      ++open;
      continue;
    }
    if (number != 0 || zero_is_zero) {
      dims.push_back(number);
      continue;
    }
    if (i >= data->size()) return fmt::format("its dimension {} has nothing to copy", i);
    if (!(*data)[i].value) return std::nullopt;
    dims.push_back(*(*data)[i].value);
  }
  if (open > 1) return "more than one dimension is -1";
  const auto count = element_count(*data), given = element_count(dims);
  if (!count) return std::nullopt;
  const bool fits = given && (open == 0 ? *given == *count : *given > 0 && *count % *given == 0);
  if (fits || (open == 1 && given && *given == 0 && *count == 0 && !zero_is_zero)) {
    return std::nullopt;
  }
  return fmt::format("{} elements cannot be reshaped to [{}]", *count, fmt::join(*numbers, ","));
}

Complaint has_length_of_starts(const Operands& o, size_t input) {
  return is_vector_of(o, input, o.dim(1, 0), "starts");
}

Complaint names_sliced_axes(const Operands& o, size_t input) {
  if (auto complaint = has_length_of_starts(o, input)) return complaint;
  return names_axes(o, input);
}

Complaint steps_over_slices(const Operands& o, size_t input) {
  if (auto complaint = has_length_of_starts(o, input)) return complaint;
  const auto numbers = o.numbers(input);
  if (numbers && std::ranges::find(*numbers, 0) != numbers->end()) return "a step is 0";
  return std::nullopt;
}

/// Starts where no axes are given are for the first ones.
Complaint starts_slices(const Operands& o, size_t input) {
  if (auto complaint = is_vector(o, input)) return complaint;
  const auto rank = o.rank(0), length = o.dim(input, 0);
  if (!rank || !length || *length <= *rank) return std::nullopt;
  return fmt::format("it has {} elements for rank {}", *length, *rank);
}

Complaint is_for_each_part(const Operands& o, size_t input) {
  return is_vector_of(o, input, static_cast<int64_t>(o.node().outputs().size()), "outputs");
}

struct OperandRule {
  std::string_view op;
  size_t input;
  std::string_view name;
  Expectation expectation;
};

constexpr OperandRule kOperandRules[] = {
    {"BatchNormalization", 1, "scale", is_for_each_channel},
    {"BatchNormalization", 2, "B", is_for_each_channel},
    {"BatchNormalization", 3, "input_mean", is_for_each_channel},
    {"BatchNormalization", 4, "input_var", is_for_each_channel},
    {"Clip", 1, "min", is_one_number},
    {"Clip", 2, "max", is_one_number},
    {"ConstantOfShape", 0, "input", is_vector},
    {"Conv", 1, "W", is_kernel},
    {"Conv", 2, "B", is_for_each_output},
    {"ConvInteger", 1, "w", is_kernel},
    {"ConvTranspose", 1, "W", is_kernel},
    {"ConvTranspose", 2, "B", is_for_each_output},
    {"CumProd", 1, "axis", names_axis},
    {"CumSum", 1, "axis", names_axis},
    {"Dropout", 1, "ratio", is_one_number},
    {"Dropout", 2, "training_mode", is_one_number},
    {"Expand", 1, "shape", is_vector},
    {"Gather", 1, "indices", picks_along_axis},
    {"GatherElements", 1, "indices", picks_elements},
    {"Gemm", 0, "A", is_matrix},
    {"Gemm", 1, "B", is_right_factor},
    {"Gemm", 2, "C", broadcasts_to_product},
    {"GroupNormalization", 1, "scale", is_for_each_group_or_channel},
    {"GroupNormalization", 2, "bias", is_for_each_group_or_channel},
    {"InstanceNormalization", 1, "scale", is_for_each_channel},
    {"InstanceNormalization", 2, "B", is_for_each_channel},
    {"LayerNormalization", 1, "Scale", broadcasts_to_first},
    {"LayerNormalization", 2, "B", broadcasts_to_first},
    {"NegativeLogLikelihoodLoss", 1, "target", is_label_of_each_score},
    {"NegativeLogLikelihoodLoss", 2, "weight", is_for_each_class},
    {"OneHot", 1, "depth", is_one_number},
    {"OneHot", 2, "values", is_two_numbers},
    {"PRelu", 1, "slope", is_slope},
    {"Pad", 1, "pads", pads_each_axis},
    {"Pad", 2, "constant_value", is_one_number},
    {"Pad", 3, "axes", names_axes},
    {"QLinearConv", 3, "w", is_kernel},
    {"RMSNormalization", 1, "scale", broadcasts_to_first},
    {"Range", 0, "start", is_one_number},
    {"Range", 1, "limit", is_one_number},
    {"Range", 2, "delta", is_one_number},
    {"ReduceL1", 1, "axes", names_reduced_axes},
    {"ReduceL2", 1, "axes", names_reduced_axes},
    {"ReduceLogSum", 1, "axes", names_reduced_axes},
    {"ReduceLogSumExp", 1, "axes", names_reduced_axes},
    {"ReduceMax", 1, "axes", names_reduced_axes},
    {"ReduceMean", 1, "axes", names_reduced_axes},
    {"ReduceMin", 1, "axes", names_reduced_axes},
    {"ReduceProd", 1, "axes", names_reduced_axes},
    {"ReduceSum", 1, "axes", names_reduced_axes},
    {"ReduceSumSquare", 1, "axes", names_reduced_axes},
    {"Reshape", 1, "shape", reshapes},
    {"ScatterElements", 1, "indices", picks_elements},
    {"ScatterElements", 2, "updates", has_shape_of_indices},
    {"Slice", 1, "starts", starts_slices},
    {"Slice", 2, "ends", has_length_of_starts},
    {"Slice", 3, "axes", names_sliced_axes},
    {"Slice", 4, "steps", steps_over_slices},
    {"SoftmaxCrossEntropyLoss", 1, "labels", is_label_of_each_score},
    {"SoftmaxCrossEntropyLoss", 2, "weights", is_for_each_class},
    {"Split", 1, "split", is_for_each_part},
    {"Squeeze", 1, "axes", names_axes},
    {"SwiGLU", 1, "B", has_shape_of_first},
    {"Tile", 1, "repeats", repeats_each_axis},
    {"Trilu", 1, "k", is_one_number},
    {"Unsqueeze", 1, "axes", names_new_axes},
};

/// Lists of as many tensors each follow the rate and the number of steps of the standard's
/// optimizers: parameters, gradients, then slots.
struct OptimizerLists {
  std::string_view op;
  size_t lists;
};
constexpr OptimizerLists kOptimizers[] = {{"Adagrad", 3}, {"Adam", 4}, {"Momentum", 3}};

std::optional<Refusal> refused(const Operands& o, size_t input, std::string_view name,
                               const std::string& complaint) {
  return Refusal{"shape", o.node().input(input)->name(),
                 fmt::format("input {} ({}): {}", input, name, complaint)};
}

std::optional<Refusal> guard_optimizer(const Operands& o) {
  const auto* found = std::ranges::find(kOptimizers, o.node().op, &OptimizerLists::op);
  if (found == std::end(kOptimizers)) return std::nullopt;
  const size_t inputs = o.node().inputs().size();
  if (inputs < 2 || (inputs - 2) % found->lists != 0) {
    return Refusal{"arity", "",
                   "the lists of parameters, gradients and optimizer states differ in length"};
  }
  for (const size_t scalar : {size_t{0}, size_t{1}}) {
    if (auto complaint = is_one_number(o, scalar)) {
      return refused(o, scalar, scalar == 0 ? "R" : "T", *complaint);
    }
  }
  const size_t trained = (inputs - 2) / found->lists;
  for (size_t input = 2 + trained; input < inputs; ++input) {
    if (auto complaint = has_shape_of(o, input, 2 + (input - 2) % trained)) {
      return refused(o, input, "inputs", *complaint);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> guard_operand_shapes(const Operands& operands) {
  const Node& node = operands.node();
  if (node.domain == kTrainingDomain) return guard_optimizer(operands);
  if (!node.domain.empty()) return std::nullopt;
  if (auto refusal = guard_recurrent(operands)) return refusal;
  if (auto refusal = guard_quantization(operands)) return refusal;
  if (auto refusal = guard_attention(operands)) return refusal;
  for (const OperandRule& rule : kOperandRules) {
    if (rule.op != node.op || !operands.has(rule.input)) continue;
    if (auto complaint = rule.expectation(operands, rule.input)) {
      return refused(operands, rule.input, rule.name, *complaint);
    }
  }
  return std::nullopt;
}

}  // namespace onward
