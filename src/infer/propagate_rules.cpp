#include <fmt/format.h>

#include <numeric>

#include "infer/propagate.h"
#include "ir/dim_arithmetic.h"

namespace onward {
namespace {

using Position = std::span<const int64_t>;
using Found = std::optional<PartialTensor>;

/// A longer name of a dimension is not worth copying from shape to shape.
constexpr size_t kLongestName = 256;
/// Of all operands of one node together.
constexpr size_t kMaxElements = 4 * PartialTensor::kMaxElements;

/// A node with what is known of its inputs.
class KnownOperands {
 public:
  KnownOperands(const Node& node, size_t output, const KnownData& known)
      : node(node), output(output), known_(known) {}

  const Node& node;
  const size_t output;

  Found operator[](size_t index) const {
    const Value* value = node.input(index);
    return value ? known_.find(*value) : std::nullopt;
  }

  /// All inputs, or nothing where one is left out or can't be followed.
  std::optional<std::vector<PartialTensor>> all() const {
    std::vector<PartialTensor> tensors;
    size_t elements = 0;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      auto tensor = (*this)[i];
      if (!tensor) return std::nullopt;
      elements += std::max<size_t>(tensor->elements.size(), 1);
      if (elements > kMaxElements) return std::nullopt;
      tensors.push_back(std::move(*tensor));
    }
    return tensors;
  }

  /// A list of integers that older forms of an operator have as an attribute, newer ones as an
  /// input. Empty lists and parameters that are left out are `fallback`; nothing where it is not
  /// known.
  std::optional<std::vector<int64_t>> list(std::string_view attribute, size_t input,
                                           std::vector<int64_t> fallback) const {
    if (const auto* list = node.get<std::vector<int64_t>>(attribute)) return *list;
    if (!node.input(input)) return fallback;
    const auto tensor = (*this)[input];
    if (!tensor || !tensor->all_known()) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const Dim& element : tensor->elements) numbers.push_back(*element.value);
    return numbers;
  }

  /// The dimensions of an output, where inference found numbers for all of them.
  std::optional<std::vector<int64_t>> output_dims(size_t index) const {
    const Value* value = node.output(index);
    if (!value || !value->type.is_tensor() || !value->type.shape) return std::nullopt;
    std::vector<int64_t> dims;
    for (const Dim& dim : *value->type.shape) {
      if (!dim.value) return std::nullopt;
      dims.push_back(*dim.value);
    }
    return dims;
  }

 private:
  const KnownData& known_;
};

std::optional<size_t> normalized_axis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

template <Dim (*combine)(const Dim&, const Dim&)>
Found fold_operands(const KnownOperands& operands, std::optional<DType> result = std::nullopt) {
  // Before opset 7 an `axis` says how to broadcast.
  if (operands.node.attribute("axis")) return std::nullopt;
  const auto tensors = operands.all();
  if (!tensors || tensors->empty()) return std::nullopt;
  auto dims = broadcast_dims(*tensors);
  if (!dims) return std::nullopt;
  return generate(result.value_or(tensors->front().dtype), std::move(*dims), [&](Position at) {
    Dim total = broadcast_element(tensors->front(), at);
    for (const PartialTensor& tensor : std::span(*tensors).subspan(1)) {
      total = combine(total, broadcast_element(tensor, at));
    }
    return total;
  });
}

template <Dim (*combine)(const Dim&, const Dim&)>
Found arithmetic(const KnownOperands& operands) {
  return fold_operands<combine>(operands);
}

template <Dim (*holds)(const Dim&, const Dim&)>
Found comparison(const KnownOperands& operands) {
  return fold_operands<holds>(operands, DType::boolean);
}

template <Dim (*combine)(const Dim&, const Dim&)>
Found reduce_all(const KnownOperands& operands) {
  const auto tensor = operands[0];
  auto dims = operands.output_dims(0);
  if (!tensor || !dims || element_count(*dims) != 1 || tensor->elements.empty())
    return std::nullopt;
  const Dim total = std::accumulate(tensor->elements.begin() + 1, tensor->elements.end(),
                                    tensor->elements.front(), combine);
  return generate(tensor->dtype, std::move(*dims), [&](Position) { return total; });
}

/// Operators that keep the elements in their order: the inferred type has the new dimensions.
Found same_elements(const KnownOperands& operands) {
  auto tensor = operands[0];
  auto dims = operands.output_dims(0);
  if (!tensor || !dims || !can_be_partial(tensor->dtype, *dims)) return std::nullopt;
  if (element_count(*dims) != static_cast<int64_t>(tensor->elements.size())) return std::nullopt;
  tensor->dims = std::move(*dims);
  return tensor;
}

Found cast(const KnownOperands& operands) {
  const auto tensor = operands[0];
  const Value* output = operands.node.output(0);
  if (!tensor || !output) return std::nullopt;
  const DType to = output->type.dtype;
  return generate(to, tensor->dims, [&](Position at) -> Dim {
    const Dim& element = broadcast_element(*tensor, at);
    if (to != DType::boolean) return element;
    return element.value ? Dim::known(*element.value != 0) : Dim{};
  });
}

Found shape_of(const KnownOperands& operands) {
  const Value* value = operands.node.input(0);
  if (!value || !value->type.is_tensor() || !value->type.shape) return std::nullopt;
  const Shape& shape = *value->type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto bound = [&](std::string_view name, int64_t fallback) {
    const int64_t place = operands.node.int_or(name, fallback);
    return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank);
  };
  const int64_t start = bound("start", 0);
  const int64_t count = std::max<int64_t>(bound("end", rank) - start, 0);
  return generate(DType::i64, {count}, [&](Position at) -> Dim {
    const Dim& dim = shape[static_cast<size_t>(start + at[0])];
    if (dim.value) return *dim.value < 0 ? Dim{} : Dim::known(*dim.value);
    return dim.symbol.size() > kLongestName ? Dim{} : Dim::named(dim.symbol);
  });
}

Found size_of(const KnownOperands& operands) {
  const Value* value = operands.node.input(0);
  if (!value || !value->type.is_tensor() || !value->type.shape) return std::nullopt;
  const auto count = element_count(*value->type.shape);
  if (!count) return std::nullopt;
  return generate(DType::i64, {}, [&](Position) { return Dim::known(*count); });
}

Found gather(const KnownOperands& operands) {
  const auto data = operands[0];
  const auto indices = operands[1];
  if (!data || !indices || !indices->all_known()) return std::nullopt;
  const auto axis = normalized_axis(operands.node.int_or("axis", 0), data->dims.size());
  if (!axis) return std::nullopt;
  const int64_t size = data->dims[*axis];
  for (const Dim& index : indices->elements) {
    if (*index.value < -size || *index.value >= size) return std::nullopt;
  }
  std::vector<int64_t> dims(data->dims.begin(), data->dims.begin() + static_cast<int64_t>(*axis));
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), data->dims.begin() + static_cast<int64_t>(*axis) + 1, data->dims.end());
  return generate(data->dtype, std::move(dims), [&](Position at) {
    const size_t rank = indices->dims.size();
    const int64_t index = *broadcast_element(*indices, at.subspan(*axis, rank)).value;
    std::vector<int64_t> from(at.begin(), at.begin() + static_cast<int64_t>(*axis));
    from.push_back(index < 0 ? index + size : index);
    from.insert(from.end(), at.begin() + static_cast<int64_t>(*axis + rank), at.end());
    return broadcast_element(*data, from);
  });
}

/// One dimension of a slice, as the standard clamps it.
struct Cut {
  int64_t start, step, count;
};

Cut cut(int64_t start, int64_t end, int64_t step, int64_t size) {
  const auto clamped = [&](int64_t place, int64_t low) {
    if (place < 0) place += size;
    return std::min(std::max(place, low), step > 0 ? size : size - 1);
  };
  const int64_t first = clamped(start, 0), last = clamped(end, step > 0 ? 0 : -1);
  const int64_t length = step > 0 ? last - first : first - last;
  // A step as long as the dimension takes one element; longer ones only invite overflow.
  const int64_t stride = std::min(step > 0 ? step : step < -size ? size + 1 : -step, size + 1);
  return {first, step > 0 ? stride : -stride, length <= 0 ? 0 : (length + stride - 1) / stride};
}

Found slice(const KnownOperands& operands) {
  const auto data = operands[0];
  if (!data) return std::nullopt;
  const auto starts = operands.list("starts", 1, {});
  const auto ends = operands.list("ends", 2, {});
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  std::vector<int64_t> all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = operands.list("axes", 3, all);
  const auto steps = operands.list("steps", 4, std::vector<int64_t>(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size())
    return {};

  std::vector<int64_t> dims = data->dims;
  std::vector<Cut> cuts;
  for (const int64_t size : dims) cuts.push_back({0, 1, size});
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normalized_axis((*axes)[i], dims.size());
    if (!axis || (*steps)[i] == 0) return std::nullopt;
    cuts[*axis] = cut((*starts)[i], (*ends)[i], (*steps)[i], data->dims[*axis]);
    dims[*axis] = cuts[*axis].count;
  }
  return generate(data->dtype, std::move(dims), [&](Position at) {
    std::vector<int64_t> from;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      from.push_back(cuts[axis].start + at[axis] * cuts[axis].step);
    }
    return broadcast_element(*data, from);
  });
}

Found concat(const KnownOperands& operands) {
  const auto tensors = operands.all();
  if (!tensors || tensors->empty()) return std::nullopt;
  std::vector<int64_t> dims = tensors->front().dims;
  const auto axis = normalized_axis(operands.node.int_or("axis", 1), dims.size());
  if (!axis) return std::nullopt;
  dims[*axis] = 0;
  for (const PartialTensor& tensor : *tensors) {
    std::vector<int64_t> expected = dims;
    if (tensor.dims.size() != dims.size()) return std::nullopt;
    expected[*axis] = tensor.dims[*axis];
    if (expected != tensor.dims) return std::nullopt;
    dims[*axis] += tensor.dims[*axis];
  }
  return generate(tensors->front().dtype, std::move(dims), [&](Position at) {
    std::vector<int64_t> from(at.begin(), at.end());
    size_t piece = 0;
    while (from[*axis] >= (*tensors)[piece].dims[*axis]) {
      from[*axis] -= (*tensors)[piece++].dims[*axis];
    }
    return broadcast_element((*tensors)[piece], from);
  });
}

Found split(const KnownOperands& operands) {
  const auto data = operands[0];
  auto dims = operands.output_dims(operands.output);
  if (!data || !dims || dims->size() != data->dims.size()) return std::nullopt;
  const auto axis = normalized_axis(operands.node.int_or("axis", 0), dims->size());
  if (!axis) return std::nullopt;
  int64_t offset = 0;
  for (size_t i = 0; i < operands.output; ++i) {
    const auto before = operands.output_dims(i);
    if (!before || before->size() != dims->size()) return std::nullopt;
    if (__builtin_add_overflow(offset, (*before)[*axis], &offset)) return std::nullopt;
  }
  for (size_t i = 0; i < dims->size(); ++i) {
    const int64_t available = i == *axis ? data->dims[i] - offset : data->dims[i];
    if ((*dims)[i] > available) return std::nullopt;
  }
  return generate(data->dtype, std::move(*dims), [&](Position at) {
    std::vector<int64_t> from(at.begin(), at.end());
    from[*axis] += offset;
    return broadcast_element(*data, from);
  });
}

Found expand(const KnownOperands& operands) {
  const auto data = operands[0];
  auto dims = operands.output_dims(0);
  if (!data || !dims) return std::nullopt;
  const PartialTensor result{.dtype = data->dtype, .dims = *dims, .elements = {}};
  if (broadcast_dims(std::vector<PartialTensor>{result, *data}) != *dims) return std::nullopt;
  return generate(data->dtype, std::move(*dims),
                  [&](Position at) { return broadcast_element(*data, at); });
}

Found where(const KnownOperands& operands) {
  const auto tensors = operands.all();
  if (!tensors || tensors->size() != 3) return std::nullopt;
  auto dims = broadcast_dims(*tensors);
  if (!dims) return std::nullopt;
  return generate((*tensors)[1].dtype, std::move(*dims), [&](Position at) -> Dim {
    const Dim& condition = broadcast_element((*tensors)[0], at);
    const Dim& yes = broadcast_element((*tensors)[1], at);
    const Dim& no = broadcast_element((*tensors)[2], at);
    if (condition.value) return *condition.value ? yes : no;
    return same(yes, no) ? yes : Dim{};
  });
}

Found constant_of_shape(const KnownOperands& operands) {
  const auto* value = operands.node.get<Tensor>("value");
  auto dims = operands.output_dims(0);
  if (!value || !dims || value->size() != 1 || !can_be_partial(value->dtype(), *dims)) return {};
  const Dim element = Dim::known(value->integer(0));
  return generate(value->dtype(), std::move(*dims), [&](Position) { return element; });
}

Found range(const KnownOperands& operands) {
  const auto tensors = operands.all();
  if (!tensors || tensors->size() != 3) return std::nullopt;
  for (const PartialTensor& tensor : *tensors) {
    if (tensor.elements.size() != 1 || !tensor.all_known()) return std::nullopt;
  }
  const int64_t start = *(*tensors)[0].elements[0].value;
  const int64_t limit = *(*tensors)[1].elements[0].value;
  const int64_t delta = *(*tensors)[2].elements[0].value;
  const Dim length = subtract(Dim::known(limit), Dim::known(start));
  const Dim quotient = divide(length, Dim::known(delta));
  if (!length.value || !quotient.value) return std::nullopt;
  const int64_t count = std::max<int64_t>(*quotient.value + (*length.value % delta ? 1 : 0), 0);
  // The quotient is rounded toward zero: with a step of the wrong sign there is no element.
  const bool backwards = (*length.value < 0) != (delta < 0);
  return generate((*tensors)[0].dtype, {backwards ? 0 : count}, [&](Position at) {
    return add(Dim::known(start), multiply(Dim::known(at[0]), Dim::known(delta)));
  });
}

Found negate(const KnownOperands& operands) {
  const auto tensor = operands[0];
  if (!tensor) return std::nullopt;
  return generate(tensor->dtype, tensor->dims, [&](Position at) {
    return subtract(Dim::known(0), broadcast_element(*tensor, at));
  });
}

Found logical_not(const KnownOperands& operands) {
  const auto tensor = operands[0];
  if (!tensor) return std::nullopt;
  return generate(tensor->dtype, tensor->dims, [&](Position at) {
    return subtract(Dim::known(1), broadcast_element(*tensor, at));
  });
}

struct Rule {
  std::string_view op;
  Found (*run)(const KnownOperands&);
};

constexpr Rule kRules[] = {
    {"Shape", shape_of},
    {"Size", size_of},
    {"Identity", same_elements},
    {"Reshape", same_elements},
    {"Flatten", same_elements},
    {"Squeeze", same_elements},
    {"Unsqueeze", same_elements},
    {"Cast", cast},
    {"CastLike", cast},
    {"Gather", gather},
    {"Slice", slice},
    {"Concat", concat},
    {"Split", split},
    {"Expand", expand},
    {"Where", where},
    {"ConstantOfShape", constant_of_shape},
    {"Range", range},
    {"Neg", negate},
    {"Not", logical_not},
    {"Add", arithmetic<add>},
    {"Sub", arithmetic<subtract>},
    {"Mul", arithmetic<multiply>},
    {"Div", arithmetic<divide>},
    {"Min", arithmetic<smaller>},
    {"Max", arithmetic<larger>},
    {"And", arithmetic<smaller>},
    {"Or", arithmetic<larger>},
    {"Equal", comparison<is_equal>},
    {"Less", comparison<is_less>},
    {"Greater", comparison<is_greater>},
    {"LessOrEqual", comparison<is_at_most>},
    {"GreaterOrEqual", comparison<is_at_least>},
    {"ReduceSum", reduce_all<add>},
    {"ReduceProd", reduce_all<multiply>},
    {"ReduceMin", reduce_all<smaller>},
    {"ReduceMax", reduce_all<larger>},
};

}  // namespace

std::optional<PartialTensor> propagate(const Node& node, size_t output, const KnownData& known) {
  const auto rule = std::ranges::find(kRules, std::string_view(node.op), &Rule::op);
  if (rule == std::end(kRules)) return std::nullopt;
  return rule->run(KnownOperands(node, output, known));
}

}  // namespace onward
