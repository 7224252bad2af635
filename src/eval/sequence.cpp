// Sequences of tensors, and values that may be there or not.

#include <fmt/format.h>

#include <numeric>

#include "eval/families.h"
#include "eval/pieces.h"

namespace onward::eval {
namespace {

using Values = std::vector<RuntimeValue>;

Values identity_of_value(const ValueContext& c) { return {c.input(0)}; }

RuntimeValue truth_of(bool value) {
  return Tensor::from_bytes(DType::boolean, {},
                            std::make_shared<const std::string>(1, value ? '\1' : '\0'));
}

/// A place in a sequence of `size` elements, counted from the front; `last` places are valid.
ptrdiff_t position(const ValueContext& c, size_t input, size_t size, size_t last) {
  const auto count = static_cast<int64_t>(size);
  const int64_t at = c.integer(input);
  if (at < -count || at >= static_cast<int64_t>(last)) {
    throw Error(fmt::format("position {} is out of range in a sequence of {}", at, count));
  }
  return static_cast<ptrdiff_t>(at < 0 ? at + count : at);
}

/// Elements of a sequence have one element type, and any shapes.
void require_element(const RuntimeSequence& sequence, const RuntimeValue& value) {
  const Type type = Type::tensor(value.tensor().dtype());
  if (const auto why = conflict(sequence.element, type)) {
    throw Error(fmt::format("a sequence of {} can't hold {}", to_string(sequence.element),
                            to_string(value.type())));
  }
}

RuntimeSequence sequence_of(DType dtype) { return {.element = Type::tensor(dtype), .values = {}}; }

Values sequence_empty(const ValueContext& c) {
  const auto dtype = dtype_from_onnx(c.node().int_or("dtype", 1));
  if (!dtype) throw Error("its dtype is unknown");
  return {sequence_of(*dtype)};
}

Values sequence_construct(const ValueContext& c) {
  RuntimeSequence sequence = sequence_of(c.input(0).tensor().dtype());
  for (size_t i = 0; i < c.inputs(); ++i) {
    require_element(sequence, c.input(i));
    sequence.values.push_back(c.input(i));
  }
  return {std::move(sequence)};
}

Values sequence_at(const ValueContext& c) {
  const auto& values = c.input(0).sequence().values;
  return {values[static_cast<size_t>(position(c, 1, values.size(), values.size()))]};
}

Values sequence_insert(const ValueContext& c) {
  RuntimeSequence sequence = c.input(0).sequence();
  require_element(sequence, c.input(1));
  const size_t size = sequence.values.size();
  const auto at = c.has(2) ? position(c, 2, size, size + 1) : static_cast<ptrdiff_t>(size);
  sequence.values.insert(sequence.values.begin() + at, c.input(1));
  return {std::move(sequence)};
}

Values sequence_erase(const ValueContext& c) {
  RuntimeSequence sequence = c.input(0).sequence();
  const size_t size = sequence.values.size();
  if (size == 0) throw Error("an empty sequence has nothing to erase");
  const auto at = c.has(1) ? position(c, 1, size, size) : static_cast<ptrdiff_t>(size) - 1;
  sequence.values.erase(sequence.values.begin() + at);
  return {std::move(sequence)};
}

Values sequence_length(const ValueContext& c) {
  return {Tensor::scalar(static_cast<int64_t>(c.input(0).sequence().values.size()))};
}

/// The sizes of the parts: as given, of one given size with a smaller rest, or 1 each.
std::vector<int64_t> part_sizes(const ValueContext& c, int64_t size) {
  if (!c.has(1)) return std::vector<int64_t>(static_cast<size_t>(size), 1);
  const Tensor& split = c.input(1).tensor();
  std::vector<int64_t> sizes = split.integers();
  if (split.dims().empty()) {
    const int64_t each = sizes[0];
    if (each < 1) throw Error(fmt::format("parts of {} elements", each));
    sizes.clear();
    for (int64_t left = size; left > 0; left -= each) sizes.push_back(std::min(left, each));
    return sizes;
  }
  int64_t total = 0;
  for (const int64_t each : sizes) {
    if (each < 0 || each > size - total) {
      throw Error(fmt::format("parts of {} elements do not fit {}", to_string(sizes), size));
    }
    total += each;
  }
  if (total != size) {
    throw Error(fmt::format("parts of {} elements do not fit {}", to_string(sizes), size));
  }
  return sizes;
}

Values split_to_sequence(const ValueContext& c) {
  const Tensor& x = c.input(0).tensor();
  const int64_t axis =
      checked_axis(c.node().int_or("axis", 0), static_cast<int64_t>(x.dims().size()));
  const bool drops_axis = !c.has(1) && c.node().int_or("keepdims", 1) == 0;
  RuntimeSequence sequence = sequence_of(x.dtype());
  int64_t begin = 0;
  for (const int64_t size : part_sizes(c, x.dims()[static_cast<size_t>(axis)])) {
    sequence.values.emplace_back(drops_axis ? at_index(x, axis, begin)
                                            : cut(x, axis, begin, begin + size));
    begin += size;
  }
  return {std::move(sequence)};
}

Values concat_from_sequence(const ValueContext& c) {
  const RuntimeSequence& sequence = c.input(0).sequence();
  if (sequence.values.empty()) throw Error("an empty sequence has nothing to join");
  std::vector<const Tensor*> parts;
  for (const RuntimeValue& value : sequence.values) parts.push_back(&value.tensor());
  const int64_t axis = c.node().int_or("axis", 0);
  const bool stacks = c.node().int_or("new_axis", 0) != 0;
  return {stacks ? stacked(parts, axis) : concatenated(parts, axis)};
}

/// Each result of the body for each element, as sequences.
Values sequence_map(const ValueContext& c) {
  const Graph& body = c.subgraph("body");
  const size_t length = c.input(0).sequence().values.size();
  std::vector<RuntimeSequence> results;
  for (const Value* output : body.outputs()) {
    results.push_back({.element = Type::tensor(output->type.dtype), .values = {}});
  }
  for (size_t i = 1; i < c.inputs(); ++i) {
    if (c.input(i).is_tensor() || c.input(i).sequence().values.size() == length) continue;
    throw Error(fmt::format("input {} has {} elements, and input 0 has {}", i,
                            c.input(i).sequence().values.size(), length));
  }
  for (size_t at = 0; at < length; ++at) {
    Values arguments;
    for (size_t i = 0; i < c.inputs(); ++i) {
      const RuntimeValue& input = c.input(i);
      arguments.push_back(input.is_tensor() ? input : input.sequence().values[at]);
    }
    const Values values = c.run(body, std::move(arguments), static_cast<int64_t>(at));
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].element = Type::tensor(values.at(i).tensor().dtype());
      results[i].values.push_back(values[i]);
    }
  }
  return {results.begin(), results.end()};
}

Values optional(const ValueContext& c) {
  if (c.has(0)) return {RuntimeOptional{.element = c.input(0).type(), .value = {c.input(0)}}};
  const auto* type = c.node().get<Type>("type");
  if (!type) throw Error("it has neither a value nor a type");
  return {RuntimeOptional{.element = *type, .value = {}}};
}

Values optional_get_element(const ValueContext& c) {
  if (!c.input(0).is_optional()) return {c.input(0)};
  if (c.input(0).optional().value.empty()) throw Error("there is no element");
  return {c.input(0).optional().value[0]};
}

Values optional_has_element(const ValueContext& c) {
  const bool is_there =
      c.has(0) && (!c.input(0).is_optional() || !c.input(0).optional().value.empty());
  return {truth_of(is_there)};
}

constexpr KernelDef kSequenceKernels[] = {
    {.op = "ConcatFromSequence", .of_values = concat_from_sequence},
    {.op = "Identity", .of_values = identity_of_value},
    {.op = "Optional", .of_values = optional},
    {.op = "OptionalGetElement", .of_values = optional_get_element},
    {.op = "OptionalHasElement", .of_values = optional_has_element},
    {.op = "SequenceAt", .of_values = sequence_at},
    {.op = "SequenceConstruct", .of_values = sequence_construct},
    {.op = "SequenceEmpty", .of_values = sequence_empty},
    {.op = "SequenceErase", .of_values = sequence_erase},
    {.op = "SequenceInsert", .of_values = sequence_insert},
    {.op = "SequenceLength", .of_values = sequence_length},
    {.op = "SequenceMap", .of_values = sequence_map},
    {.op = "SplitToSequence", .of_values = split_to_sequence},
};

}  // namespace

std::span<const KernelDef> sequence_kernels() { return kSequenceKernels; }

}  // namespace onward::eval
