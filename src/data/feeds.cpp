#include "data/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/convert.h"
#include "data/image_reader.h"
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

/// Adds the names of images, features and labels for inputs that are called otherwise: a model that
/// somebody else made has names of its own.
void name_usual_inputs(const Dataset& data, const std::vector<InputSlot>& inputs,
                       ArrayNames& names) {
  const auto add = [&](const std::string& array, auto takes) {
    const InputSlot* found = nullptr;
    for (const InputSlot& slot : inputs) {
      const auto named = names.find(slot.name);
      if ((named == names.end() ? slot.name : named->second) == array) return;
      const bool is_named = named != names.end() || data.arrays().contains(slot.name) ||
                            (data.images() && slot.name == kImageArray) ||
                            (data.masks() && slot.name == kLabelArray);
      if (is_named || slot.optional || !slot.type.is_tensor() || !takes(slot.type)) continue;
      if (found) return;
      found = &slot;
    }
    if (found) names[found->name] = array;
  };
  const auto has_rank = [](const Type& type, size_t rank) {
    return type.shape && type.shape->size() == rank;
  };
  if (data.images()) {
    const bool has_form = !data.options().preprocess;  // a model may make anything of an image
    add(kImageArray, [&](const Type& type) {
      const bool has_samples = is_float(type.dtype) || type.dtype == DType::u8;
      return has_samples && (!has_form || has_rank(type, 3) || has_rank(type, 4));
    });
  }
  if (data.options().schema) {
    const bool has_form = !data.options().preprocess;
    add(kFeatureArray,
        [&](const Type& type) { return is_float(type.dtype) && (!has_form || has_rank(type, 2)); });
  }
  add(kLabelArray, [&](const Type& type) {
    const bool has_pixels = has_rank(type, 3) || has_rank(type, 4);
    return is_integer(type.dtype) && (!data.masks() || has_pixels);
  });
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

Feeds::Feeds(Dataset data, const std::vector<InputSlot>& inputs, const ArrayNames& given)
    : data_(std::move(data)) {
  ArrayNames names = given;
  if (data_.images() || data_.options().schema) name_usual_inputs(data_, inputs, names);
  std::string problems;
  const auto report = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "\n  ") + problem;
  };
  for (const auto& [input, array] : names) {
    if (std::ranges::find(inputs, input, &InputSlot::name) == inputs.end()) {
      report(fmt::format("--feed: the model has no input '{}' for array '{}'", input, array));
    }
  }
  const auto array_of = [&](const InputSlot& slot) {
    const auto renamed = names.find(slot.name);
    return renamed == names.end() ? slot.name : renamed->second;
  };
  for (const InputSlot& slot : inputs) {
    if (data_.masks() && array_of(slot) == kLabelArray) continue;
    if (const auto problem = add(slot, names)) report(*problem);
  }
  for (const InputSlot& slot : inputs) {  // which are read together with the images
    if (!data_.masks() || array_of(slot) != kLabelArray) continue;
    if (const auto problem = add_masks(slot)) report(*problem);
  }
  if (problems.empty()) return;
  report(fmt::format("the data has {}", data_.description()));
  throw Error(problems);
}

std::optional<std::string> Feeds::add(const InputSlot& slot, const ArrayNames& names) {
  const auto renamed = names.find(slot.name);
  const std::string& name = renamed == names.end() ? slot.name : renamed->second;
  if (data_.images() && name == kImageArray) return add_images(slot);
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
    const bool wants_masks =
        data_.images() && name == kLabelArray && slot.type.shape && slot.type.shape->size() > 2;
    return fmt::format("array '{}' {} does not fit input '{}' {}: {}{}", name,
                       to_string(whole.type()), slot.name, to_string(slot.type), *reason,
                       wants_masks ? "; masks are in a folder 'masks' beside 'images', or in that "
                                     "of --masks"
                                   : "");
  }
  if (const auto problem = conversion_problem(array, slot.type.dtype)) {
    return fmt::format("array '{}' is {}, but input '{}' takes {}: {}", name,
                       onward::name(array.dtype()), slot.name, onward::name(slot.type.dtype),
                       *problem);
  }
  feeds_.push_back({.input = slot.name, .array = array, .dtype = slot.type.dtype});
  const bool fixes = !array.dims().empty() && slot.type.shape && slot.type.shape->front().value;
  return fixes ? fix_batch(slot, *slot.type.shape->front().value) : std::nullopt;
}

std::optional<std::string> Feeds::add_images(const InputSlot& slot) {
  Feed feed{.input = slot.name, .array = {}, .dtype = slot.type.dtype};
  try {
    feed.images = std::make_shared<ImageReader>(data_.images(), slot.type, data_.options());
  } catch (const Error& error) {
    return fmt::format("images do not fit input '{}' {}: {}", slot.name, to_string(slot.type),
                       error.what());
  }
  feeds_.push_back(std::move(feed));
  const Dim& batch = slot.type.shape->front();
  return batch.value ? fix_batch(slot, *batch.value) : std::nullopt;
}

std::optional<std::string> Feeds::add_masks(const InputSlot& slot) {
  const auto feed = std::ranges::find_if(
      feeds_, [](const Feed& each) { return each.images && each.masks.empty(); });
  if (feed == feeds_.end()) {
    return fmt::format("masks for input '{}' come with images, but no input takes those",
                       slot.name);
  }
  try {
    feed->images->use_masks(data_.masks(), slot.type, data_.options().mask_values);
  } catch (const Error& error) {
    return fmt::format("masks do not fit input '{}' {}: {}", slot.name, to_string(slot.type),
                       error.what());
  }
  feed->masks = slot.name;
  const Dim& batch = slot.type.shape->front();
  return batch.value ? fix_batch(slot, *batch.value) : std::nullopt;
}

std::map<int64_t, std::string> Feeds::skip_unreadable(int threads) {
  const auto feed =
      std::ranges::find_if(feeds_, [](const Feed& each) { return each.images != nullptr; });
  if (feed == feeds_.end()) return {};
  std::vector<int64_t> all(static_cast<size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> left = places(all);
  auto unreadable = feed->images->find_unreadable(left, threads);
  if (unreadable.empty()) return {};
  std::erase_if(left, [&](int64_t place) { return unreadable.contains(place); });
  if (left.empty()) {
    throw Error(fmt::format("none of the {} images can be read: {}", all.size(),
                            unreadable.begin()->second),
                ErrorCode::data);
  }
  select(std::move(left));
  return unreadable;
}

void Feeds::augment(const Augment& augment) {
  if (data_.options().preprocess) {
    throw Error(
        "images are augmented before --mean and --std, in whose place a preprocessing model is: "
        "omit --augment or --preprocess");
  }
  for (const Feed& feed : feeds_) {
    if (!feed.images) continue;
    feed.images->use_augment(augment);
    varies_ = true;
  }
  if (!varies_) throw Error("there are no images to augment: the data is no folder of images");
}

std::optional<std::string> Feeds::fix_batch(const InputSlot& slot, int64_t size) {
  if (fixed_batch_.value_or(size) != size) {
    return fmt::format("input '{}' has a fixed batch size of {}, another input of {}", slot.name,
                       size, *fixed_batch_);
  }
  fixed_batch_ = size;
  return std::nullopt;
}

std::vector<int64_t> Feeds::places(std::span<const int64_t> rows) const {
  std::vector<int64_t> places(rows.begin(), rows.end());
  for (int64_t& row : places) row = place(row);
  return places;
}

std::vector<std::pair<std::string, int64_t>> Feeds::class_counts() const {
  std::vector<std::pair<std::string, int64_t>> counts;
  const auto labels = data_.arrays().find(kLabelArray);
  if (data_.options().classes.empty() || labels == data_.arrays().end()) return counts;
  for (const std::string& name : data_.options().classes) counts.emplace_back(name, 0);
  for (int64_t row = 0; row < size(); ++row) {
    ++counts[static_cast<size_t>(labels->second.integer(place(row)))].second;
  }
  return counts;
}

const Tensor* Feeds::labels() const {
  const auto named = data_.arrays().find(kLabelArray);
  if (named != data_.arrays().end() && is_integer(named->second.dtype()) &&
      named->second.size() == data_.size()) {
    return &named->second;
  }
  const Tensor* found = nullptr;
  for (const Feed& feed : feeds_) {
    const bool is_label = !feed.images && is_integer(feed.dtype) &&
                          is_integer(feed.array.dtype()) && feed.array.size() == data_.size() &&
                          !feed.array.dims().empty();
    if (!is_label) continue;
    if (found) return nullptr;
    found = &feed.array;
  }
  return found;
}

void Feeds::add_examples(const Feed& feed, std::span<const int64_t> places, Arrays& batch) {
  if (!feed.images) {
    batch.emplace(feed.input, converted(take_rows(feed.array, places), feed.dtype));
    return;
  }
  ImageReader::Batch read = feed.images->batch(places);
  batch.emplace(feed.input, std::move(read.images));
  if (!feed.masks.empty()) batch.emplace(feed.masks, std::move(read.masks));
}

Arrays Feeds::batch(std::span<const int64_t> given) const {
  const std::vector<int64_t> rows = places(given);
  Arrays batch;
  for (const Feed& feed : feeds_) add_examples(feed, rows, batch);
  return batch;
}

Arrays Feeds::batch(std::span<const int64_t> given, const InputNames& inputs) const {
  const std::vector<int64_t> rows = places(given);
  Arrays batch;
  for (const Feed& feed : feeds_) {
    if (inputs.contains(feed.input) || inputs.contains(feed.masks)) add_examples(feed, rows, batch);
  }
  return batch;
}

Feeds::InputNames Feeds::read_together(InputNames inputs) const {
  for (const Feed& feed : feeds_) {
    if (feed.masks.empty() || !(inputs.contains(feed.input) || inputs.contains(feed.masks))) {
      continue;
    }
    inputs.insert({feed.input, feed.masks});
  }
  return inputs;
}

std::map<std::string, Type, std::less<>> Feeds::types() const {
  std::map<std::string, Type, std::less<>> types;
  for (const Feed& feed : feeds_) {
    if (!feed.images) {
      std::vector<int64_t> dims = feed.array.dims();
      if (!dims.empty()) dims[0] = 1;
      types.emplace(feed.input, Type::tensor(feed.dtype, std::span<const int64_t>(dims)));
      continue;
    }
    Arrays first;
    add_examples(feed, places(std::vector<int64_t>{0}), first);
    for (const auto& [name, tensor] : first) types.emplace(name, tensor.type());
  }
  return types;
}

void Feeds::expect(std::span<const int64_t> rows, const Ahead& ahead) const {
  for (const Feed& feed : feeds_) {
    if (feed.images) feed.images->expect(places(rows), ahead);
  }
}

void Feeds::expect(std::span<const int64_t> rows, const Ahead& ahead,
                   const InputNames& inputs) const {
  for (const Feed& feed : feeds_) {
    if (feed.images && inputs.contains(feed.input)) feed.images->expect(places(rows), ahead);
  }
}

}  // namespace onward
