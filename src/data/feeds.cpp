#include "data/feeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/convert.h"
#include "ir/training_infos.h"
#include "onward/error.h"

namespace onward {
namespace {

/// The array's type with the number of examples left open.
Type type_of_batches(const Tensor& array) {
  Type type = array.type();
  if (!type.shape->empty()) type.shape->front() = Dim{};
  return type;
}

}  // namespace

std::vector<InputSlot> input_slots(const Model& model) {
  return input_slots(model, chosen_infos(model, std::nullopt));
}

std::vector<InputSlot> input_slots(const Model& model, std::span<const size_t> infos) {
  std::vector<InputSlot> slots;
  const auto add = [&](const Graph& graph) {
    for (const Value* input : graph.inputs()) {
      if (std::ranges::find(slots, input->name(), &InputSlot::name) != slots.end()) continue;
      slots.push_back({input->name(), input->type, input->initializer() != nullptr});
    }
  };
  add(*model.graph);
  for (const size_t info : infos) {
    if (model.training[info].algorithm) add(*model.training[info].algorithm);
  }
  return slots;
}

Feeds::Feeds(Dataset data, const std::vector<InputSlot>& inputs, const ArrayNames& names)
    : data_(std::move(data)) {
  std::string problems;
  const auto report = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "\n  ") + problem;
  };
  for (const auto& [input, array] : names) {
    if (std::ranges::find(inputs, input, &InputSlot::name) == inputs.end()) {
      report(fmt::format("--feed: the model has no input '{}' for array '{}'", input, array));
    }
  }
  for (const InputSlot& slot : inputs) {
    if (const auto problem = add(slot, names)) report(*problem);
  }
  if (problems.empty()) return;
  report(fmt::format("the data has {}", data_.description()));
  throw Error(problems);
}

std::optional<std::string> Feeds::add(const InputSlot& slot, const ArrayNames& names) {
  const auto renamed = names.find(slot.name);
  const std::string& name = renamed == names.end() ? slot.name : renamed->second;
  const auto found = data_.arrays().find(name);
  if (found == data_.arrays().end()) {
    if (slot.optional && renamed == names.end()) return std::nullopt;
    return fmt::format(
        "there is no array '{}' for input '{}' {}: name the array so, or give --feed {}=ARRAY",
        name, slot.name, to_string(slot.type), slot.name);
  }
  const Tensor& whole = found->second;
  if (!slot.type.is_tensor()) return fmt::format("input '{}' is not a tensor", slot.name);
  const Tensor array = with_fitting_rank(whole, slot.type);
  Type type = type_of_batches(array);
  type.dtype = slot.type.dtype;
  if (const auto reason = conflict(slot.type, type)) {
    return fmt::format("array '{}' {} does not fit input '{}' {}: {}", name,
                       to_string(whole.type()), slot.name, to_string(slot.type), *reason);
  }
  if (const auto problem = conversion_problem(array, slot.type.dtype)) {
    return fmt::format("array '{}' is {}, but input '{}' takes {}: {}", name,
                       onward::name(array.dtype()), slot.name, onward::name(slot.type.dtype),
                       *problem);
  }
  feeds_.push_back({slot.name, array, slot.type.dtype});
  const bool fixes = !array.dims().empty() && slot.type.shape && slot.type.shape->front().value;
  return fixes ? fix_batch(slot, *slot.type.shape->front().value) : std::nullopt;
}

std::optional<std::string> Feeds::fix_batch(const InputSlot& slot, int64_t size) {
  if (fixed_batch_.value_or(size) != size) {
    return fmt::format("input '{}' has a fixed batch size of {}, another input of {}", slot.name,
                       size, *fixed_batch_);
  }
  fixed_batch_ = size;
  return std::nullopt;
}

Arrays Feeds::batch(std::span<const int64_t> rows) const {
  Arrays batch;
  for (const Feed& feed : feeds_) {
    batch.emplace(feed.input, converted(take_rows(feed.array, rows), feed.dtype));
  }
  return batch;
}

}  // namespace onward
