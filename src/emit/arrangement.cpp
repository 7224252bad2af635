#include "emit/arrangement.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "emit/known.h"
#include "eval/array.h"
#include "eval/kernel.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "proto/mapped_tensors.h"

namespace onward::emit {
namespace {

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Calls `visit` with the places of each element in the framework's tensor and in the model's.
template <typename Visit>
void for_each_element(const Arrangement& arrangement, const Visit& visit) {
  const auto strides = eval::strides_of(arrangement.dims);
  const auto axis = static_cast<size_t>(arrangement.axis);
  for (const Block& block : arrangement.blocks) {
    std::vector<int64_t> dims = arrangement.dims;
    if (!dims.empty()) dims[axis] = block.count;
    eval::for_each_position(dims, [&](std::span<const int64_t> position, int64_t) {
      int64_t there = dims.empty() ? 0 : block.begin * strides[axis], here = block.offset;
      for (size_t d = 0; d < position.size(); ++d) {
        there += position[d] * strides[d];
        here += position[d] * block.strides[d];
      }
      visit(there, here);
    });
  }
}

/// More than indices and shapes need.
constexpr int64_t kMaxIndices = 4096;

/// What is the same at every run: an initializer, a constant, or what is computed from such.
std::optional<Tensor> constant_of(const Value* value) {
  if (value->tensor()) return *value->tensor();
  const Node* node = value->producer();
  if (node) {
    if (auto shape = known_shape(*node)) return shape;
  }
  if (!node || !node->domain.empty() || has_traits(*node, kRandom) || !node->subgraphs().empty() ||
      !eval::find_kernel(node->domain, node->op)) {
    return std::nullopt;
  }
  std::vector<std::optional<Tensor>> tensors;
  std::vector<const Tensor*> inputs;
  for (const Value* input : node->inputs()) {
    tensors.push_back(input ? constant_of(input) : std::nullopt);
    if (input && (!tensors.back() || tensors.back()->size() > kMaxIndices)) return std::nullopt;
  }
  for (const auto& tensor : tensors) inputs.push_back(tensor ? &*tensor : nullptr);
  try {
    return eval::run_node(*node, inputs).at(static_cast<size_t>(value->output_index()));
  } catch (const Error&) {
    return std::nullopt;  // what is wrong with it shows when the source runs
  }
}

/// A block of the origins at `index` of an axis, of one place; nothing where its elements do not
/// lie in even steps.
std::optional<Block> block_at(const Origins& wanted, size_t axis, int64_t index, int64_t first) {
  const auto strides = eval::strides_of(wanted.dims);
  const auto element = [&](int64_t place) {
    return wanted.elements[static_cast<size_t>(place)] - first;
  };
  const int64_t begin = index * strides[axis];
  Block block{.begin = index, .count = 1, .offset = element(begin), .strides = {}};
  for (size_t d = 0; d < wanted.dims.size(); ++d) {
    const bool is_single = d == axis || wanted.dims[d] < 2;
    block.strides.push_back(is_single ? 0 : element(begin + strides[d]) - block.offset);
  }
  return block;
}

bool is_sound(const Arrangement& arrangement) {
  const auto rank = static_cast<int64_t>(arrangement.dims.size());
  return arrangement.axis >= 0 && arrangement.axis < rank &&
         std::ranges::all_of(
             arrangement.blocks,
             [&](const Block& block) {
               const int64_t size = arrangement.dims[static_cast<size_t>(arrangement.axis)];
               return std::ssize(block.strides) == rank && block.begin >= 0 && block.count >= 0 &&
                      block.begin <= size && block.count <= size - block.begin;
             });
}

bool holds(const Origins& wanted, const Arrangement& found, int64_t first) {
  bool all = true;
  for_each_element(found, [&](int64_t there, int64_t here) {
    all = all && wanted.elements[static_cast<size_t>(there)] == first + here;
  });
  return all;
}

}  // namespace

Tensor arranged(const Tensor& tensor, const Arrangement& arrangement) {
  const auto width = static_cast<size_t>(bits(tensor.dtype()) / 8);
  const Tensor read = in_memory(tensor);
  const auto* from = reinterpret_cast<const char*>(read.bytes().data());
  auto bytes =
      std::make_shared<std::string>(static_cast<size_t>(product(arrangement.dims)) * width, '\0');
  for_each_element(arrangement, [&](int64_t there, int64_t here) {
    std::memcpy(bytes->data() + static_cast<size_t>(there) * width,
                from + static_cast<size_t>(here) * width, width);
  });
  return Tensor::from_bytes(tensor.dtype(), arrangement.dims, std::move(bytes));
}

bool put_back(const Tensor& tensor, const Arrangement& arrangement, std::string& bytes) {
  if (tensor.dims() != arrangement.dims || !is_sound(arrangement)) return false;
  const auto width = static_cast<size_t>(bits(tensor.dtype()) / 8);
  const Tensor read = in_memory(tensor);
  const auto* from = reinterpret_cast<const char*>(read.bytes().data());
  const auto size = static_cast<int64_t>(bytes.size() / width);
  bool fits = true;
  for_each_element(arrangement, [&](int64_t there, int64_t here) {
    fits = fits && here >= 0 && here < size && there >= 0 && there < tensor.size();
    if (!fits) return;
    std::memcpy(bytes.data() + static_cast<size_t>(here) * width,
                from + static_cast<size_t>(there) * width, width);
  });
  return fits;
}

Origins part_of(const Origins& all, int64_t index) {
  const std::vector<int64_t> dims(all.dims.begin() + 1, all.dims.end());
  const auto first = all.elements.begin() + index * product(dims);
  return {dims, {first, first + product(dims)}};
}

Origins slice_of(const Origins& all, int64_t from, int64_t to) {
  std::vector<int64_t> dims = all.dims;
  const int64_t row = dims[0] > 0 ? all.size() / dims[0] : 0;
  dims[0] = to - from;
  return {dims, {all.elements.begin() + from * row, all.elements.begin() + to * row}};
}

Origins reordered(const Origins& all, const std::vector<int64_t>& order) {
  Origins result{.dims = all.dims, .elements = {}};
  const int64_t rows = all.dims[0] / static_cast<int64_t>(order.size());
  for (const int64_t part : order) {
    const Origins block = slice_of(all, part * rows, (part + 1) * rows);
    result.elements.insert(result.elements.end(), block.elements.begin(), block.elements.end());
  }
  return result;
}

Origins transposed(const Origins& matrix) {
  const int64_t rows = matrix.dims[0], columns = matrix.dims[1];
  Origins result{.dims = {columns, rows}, .elements = {}};
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      result.elements.push_back(matrix.elements[static_cast<size_t>(i * columns + j)]);
    }
  }
  return result;
}

Origins stacked(const Origins& first, const Origins& second) {
  Origins result{.dims = {2, first.dims[0]}, .elements = first.elements};
  result.elements.insert(result.elements.end(), second.elements.begin(), second.elements.end());
  return result;
}

bool is_all_zeros(const Origins& origins) {
  return std::ranges::all_of(origins.elements, [](int64_t element) { return element == 0; });
}

std::optional<Origins> OriginFinder::find(const Value* value) {
  const auto found = numbers(value);
  if (!found) return std::nullopt;
  return Origins{found->dims(), found->integers()};
}

std::optional<Tensor> OriginFinder::numbers(const Value* value) {
  if (!value || !is_float(value->type.dtype)) return std::nullopt;
  if (const Tensor* tensor = value->tensor()) {
    const auto known =
        std::ranges::find(first_, value, [](const auto& each) { return each.first; });
    const int64_t first = known == first_.end() ? next_ : known->second;
    if (known == first_.end()) {
      first_.emplace_back(value, first);
      next_ += tensor->size();
    }
    std::vector<int64_t> elements(static_cast<size_t>(tensor->size()));
    std::iota(elements.begin(), elements.end(), first);
    return Tensor::of<int64_t>(tensor->dims(), elements);
  }
  const Node* node = value->producer();
  if (node && node->inputs().empty()) {
    const auto constant = constant_of(value);
    if (!constant) return std::nullopt;
    for (int64_t i = 0; i < constant->size(); ++i) {
      if (constant->number(i) != 0) return std::nullopt;
    }
    return Tensor::of<int64_t>(constant->dims(),
                               std::vector<int64_t>(static_cast<size_t>(constant->size())));
  }
  return node ? moved(*node, value) : std::nullopt;
}

std::optional<Tensor> OriginFinder::moved(const Node& node, const Value* value) {
  if (!node.domain.empty() || !has_traits(node, kMovesData) || !node.subgraphs().empty() ||
      !eval::find_kernel(node.domain, node.op)) {
    return std::nullopt;
  }
  std::vector<Tensor> made(node.inputs().size());
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    if (!input) {
      inputs.push_back(nullptr);
      continue;
    }
    if (input_role(node, i) != InputRole::data) {
      const auto constant = constant_of(input);
      if (!constant) return std::nullopt;
      made[i] = *constant;
    } else {
      // Of another type it would be rounded.
      auto each = input->type.dtype == value->type.dtype ? numbers(input) : std::nullopt;
      if (!each) return std::nullopt;
      made[i] = std::move(*each);
    }
    inputs.push_back(&made[i]);
  }
  nodes_.insert(&node);
  try {
    const auto results = eval::run_node(node, inputs);
    const Tensor& result = results.at(static_cast<size_t>(value->output_index()));
    return result.dtype() == DType::i64 ? std::optional(result) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // what is wrong with it shows when the source runs
  }
}

const Value* OriginFinder::first_of(const Origins& origins) const {
  const Value* owner = nullptr;  // numbers rise from initializer to initializer
  for (const auto& [value, number] : first_) {
    if (!origins.elements.empty() && number <= origins.elements[0]) owner = value;
  }
  return owner;
}

std::optional<Held> OriginFinder::held(const Origins& wanted, int64_t axis) const {
  const Value* owner = first_of(wanted);
  if (!owner) return std::nullopt;
  const int64_t first =
      std::ranges::find(first_, owner, [](const auto& each) { return each.first; })->second;
  const int64_t end = first + owner->tensor()->size();
  if (!std::ranges::all_of(wanted.elements,
                           [&](int64_t each) { return each >= first && each < end; })) {
    return std::nullopt;
  }
  Held found{owner, {.dims = wanted.dims, .axis = axis, .blocks = {}}};
  const auto along = static_cast<size_t>(axis);
  std::vector<Block>& blocks = found.arrangement.blocks;
  for (int64_t i = 0; i < wanted.dims[along]; ++i) {
    const auto next = block_at(wanted, along, i, first);
    Block* last = blocks.empty() ? nullptr : &blocks.back();
    std::vector<int64_t> strides = next->strides;
    if (last)
      strides[along] = last->count == 1 ? next->offset - last->offset : last->strides[along];
    const bool goes_on = last && next->offset == last->offset + last->count * strides[along] &&
                         (last->count > 1 ? strides == last->strides : strides[along] > 0);
    if (goes_on) {
      last->strides = strides;
      ++last->count;
    } else {
      blocks.push_back(*next);
    }
  }
  if (!holds(wanted, found.arrangement, first)) return std::nullopt;
  return found;
}

bool OriginFinder::are_all(const std::vector<Origins>& tensors, const Node& reader) const {
  std::vector<bool> seen(static_cast<size_t>(next_));
  int64_t count = 0;
  for (const Origins& tensor : tensors) {
    for (const int64_t element : tensor.elements) {
      if (element == 0) continue;
      if (seen[static_cast<size_t>(element)]) return false;
      seen[static_cast<size_t>(element)] = true;
      ++count;
    }
  }
  const auto is_ours = [&](const Value* value) {
    const auto outputs = value->graph().outputs();
    return std::ranges::find(outputs, value) == outputs.end() &&
           std::ranges::all_of(value->uses(), [&](const Use& use) {
             return use.node == &reader || nodes_.contains(use.node);
           });
  };
  return count == next_ - 1 &&
         std::ranges::all_of(first_, [&](const auto& each) { return is_ours(each.first); }) &&
         std::ranges::all_of(nodes_, [&](const Node* node) {
           return std::ranges::all_of(node->outputs(), [&](const auto& output) {
             return !output || is_ours(output.get());
           });
         });
}

}  // namespace onward::emit
