// Examples where a node gives the same elements another shape.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "onward/error.h"
#include "recipe/batch_axes.h"

namespace onward {
namespace {

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Where examples may be in a shape that the same elements are given: as many elements before them,
/// and as many of each, in the same order. There are several where the batch has one example.
std::vector<ExampleAxis> places_of_examples(std::span<const int64_t> from, ExampleAxis examples,
                                            std::span<const int64_t> to, int64_t batch) {
  const auto axis = static_cast<size_t>(examples.axis);
  const int64_t before = product(from.first(axis));
  const int64_t of_each = examples.each * product(from.subspan(axis + 1));
  std::vector<ExampleAxis> places;
  if (of_each == 0) return places;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t each = to[i] / batch;
    const bool fits = to[i] % batch == 0 && product(to.first(i)) == before &&
                      each * product(to.subspan(i + 1)) == of_each;
    if (fits) places.push_back({static_cast<int64_t>(i), each});
  }
  // Where they were before, or else as they were.
  std::ranges::sort(places, {}, [&](const ExampleAxis& place) {
    const int change = place == examples ? 0 : place.each == examples.each ? 1 : 2;
    return std::pair(change, place.axis);
  });
  return places;
}

/// The sizes of a Reshape that give examples that place, whatever their number is.
std::vector<int64_t> with_open_batch(std::vector<int64_t> sizes, bool copies, ExampleAxis place,
                                     std::span<const int64_t> to) {
  const auto at = static_cast<size_t>(place.axis);
  if (sizes[at] == -1) return sizes;
  if (copies) {
    sizes[at] = 0;
    return sizes;
  }
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) *open = to[static_cast<size_t>(open - sizes.begin())];
  sizes[at] = -1;
  return sizes;
}

}  // namespace

void reshape_examples(BatchAxes& axes, Node& node) {
  const auto examples = axes.of(node.input(0));
  const auto sizes = axes.sizes_of(node.input(1));
  if (!examples || !sizes) throw Error("its shape is computed");
  const bool zero_copies = node.int_or("allowzero", 0) == 0;
  const std::vector<int64_t> from = known_dims(*node.input(0)), to = known_dims(*node.output(0));
  if (sizes->size() != to.size()) throw Error("its shape is computed");
  const bool is_constant = axes.is_independent(node.input(1));
  for (const ExampleAxis& place : places_of_examples(from, *examples, to, axes.batch())) {
    bool fits = true;
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < to.size(); ++i) {
      const BatchSize& size = (*sizes)[i];
      const bool is_place = static_cast<int64_t>(i) == place.axis;
      const bool copies_examples =
          size.number == 0 && zero_copies && static_cast<int64_t>(i) == examples->axis;
      if (is_place && size.times_batch) fits = fits && size.number == place.each;
      if (is_place && copies_examples) fits = fits && place.each == examples->each;
      if (is_place && !size.times_batch && !copies_examples) {
        fits = fits && (is_constant || size.number == -1);
      }
      if (!is_place && (size.times_batch || copies_examples)) fits = false;
      numbers.push_back(size.number);
    }
    if (!fits) continue;
    if (is_constant) {
      const bool copies = zero_copies && place == *examples;
      std::vector<int64_t> open = with_open_batch(numbers, copies, place, to);
      if (open != numbers) axes.edit({&node, 1, std::move(open)});
    }
    axes.set_output(node, place);
    return;
  }
  throw Error(fmt::format("it turns {} into {}, where examples are not kept apart",
                          to_string(node.input(0)->type), to_string(node.output(0)->type)));
}

void flatten_examples(BatchAxes& axes, Node& node) {
  const auto examples = axes.of(node.input(0));
  if (!examples) throw Error("it has no examples");
  const std::vector<int64_t> from = known_dims(*node.input(0)), to = known_dims(*node.output(0));
  const int64_t split = node.int_or("axis", 1);
  const int64_t first = split < 0 ? split + std::ssize(from) : split;
  const int64_t wanted = examples->axis < first ? 0 : 1;
  for (const ExampleAxis& place : places_of_examples(from, *examples, to, axes.batch())) {
    if (place.axis == wanted) return axes.set_output(node, place);
  }
  throw Error("it mixes examples with what comes before them");
}

}  // namespace onward
