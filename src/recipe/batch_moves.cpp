// Examples where nodes only move elements, or work with sizes.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/batch_rules.h"
#include "recipe/initializers.h"

namespace onward {
namespace {

bool has_axis(const std::vector<int64_t>& axes, int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

/// A value of computed sizes: repeated (Expand), or the same number everywhere (ConstantOfShape).
void of_sizes(BatchAxes& axes, Node& node, const std::vector<BatchSize>& sizes) {
  const auto found = std::ranges::find(sizes, true, &BatchSize::times_batch);
  if (std::ranges::count(sizes, true, &BatchSize::times_batch) != 1) {
    throw Error("its result is not one for each example");
  }
  axes.set_output(node, {found - sizes.begin(), found->number});
}

}  // namespace

int64_t dimensions_of(const Value& value) {
  const auto dimensions = rank(&value);
  if (!dimensions) throw Error(fmt::format("the rank of '{}' is not known", value.name()));
  return *dimensions;
}

ExampleAxis only_first(const BatchAxes& axes, const Node& node) {
  const auto examples = axes.of(node.input(0));
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    if (!axes.is_independent(node.input(i))) {
      throw Error(fmt::format("its input '{}' depends on the batch", node.input(i)->name()));
    }
  }
  if (!examples) throw Error(fmt::format("its input '{}' counts examples", node.input(0)->name()));
  return *examples;
}

int64_t axis_from_front(const Node& node, int64_t fallback, int64_t rank) {
  const int64_t axis = node.int_or("axis", fallback);
  return axis < 0 ? axis + rank : axis;
}

void require_other_axis(int64_t axis, const ExampleAxis& examples) {
  if (axis == examples.axis) throw Error("it works along the dimension of examples");
}

std::optional<std::vector<int64_t>> axes_from_front(const Node& node, size_t input, int64_t rank) {
  std::optional<std::vector<int64_t>> found;
  if (const auto* list = node.get<std::vector<int64_t>>("axes")) found = *list;
  if (node.input(input)) {
    found = constant_integers(node.input(input));
    if (!found) throw Error("its axes are computed");
  }
  if (found) {
    for (int64_t& axis : *found) axis += axis < 0 ? rank : 0;
  }
  return found;
}

bool passes_sizes(BatchAxes& axes, const Node& node) {
  const auto sizes = axes.of(node.input(0)) ? std::nullopt : axes.sizes_of(node.input(0));
  if (sizes) axes.set_sizes(node.output(0), *sizes);
  return sizes.has_value();
}

void transpose_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const auto* order = node.get<std::vector<int64_t>>("perm");
  const int64_t last = dimensions_of(*node.input(0)) - 1;
  for (int64_t axis = 0; axis <= last; ++axis) {
    if ((order ? order->at(static_cast<size_t>(axis)) : last - axis) == examples.axis) {
      return axes.set_output(node, {axis, examples.each});
    }
  }
}

void unsqueeze_examples(BatchAxes& axes, Node& node) {
  if (passes_sizes(axes, node)) return;
  const ExampleAxis examples = only_first(axes, node);
  const int64_t out = dimensions_of(*node.output(0));
  const auto added = axes_from_front(node, 1, out);
  for (int64_t axis = 0, from = 0; added && axis < out; ++axis) {
    if (has_axis(*added, axis)) continue;
    if (from++ == examples.axis) return axes.set_output(node, {axis, examples.each});
  }
}

void squeeze_examples(BatchAxes& axes, Node& node) {
  if (passes_sizes(axes, node)) return;
  const ExampleAxis examples = only_first(axes, node);
  const auto dropped = axes_from_front(node, 1, dimensions_of(*node.input(0)));
  if (!dropped) throw Error("it drops all dimensions of 1");
  require_other_axis(has_axis(*dropped, examples.axis) ? examples.axis : -1, examples);
  const auto before =
      std::ranges::count_if(*dropped, [&](int64_t axis) { return axis < examples.axis; });
  axes.set_output(node, {examples.axis - before, examples.each});
}

void concat_examples(BatchAxes& axes, Node& node) {
  if (std::ranges::none_of(node.inputs(), [&](const Value* x) { return axes.of(x).has_value(); })) {
    std::vector<BatchSize> all;
    for (const Value* input : node.inputs()) {
      const auto sizes = axes.sizes_of(input);
      if (!sizes) throw Error("it joins sizes that are computed");
      all.insert(all.end(), sizes->begin(), sizes->end());
    }
    return axes.set_sizes(node.output(0), std::move(all));
  }
  const auto first = axes.of(node.input(0));
  for (const Value* input : node.inputs()) {
    if (axes.of(input) && axes.of(input) == first) continue;
    const Value* odd = axes.of(input) ? node.input(0) : input;
    throw Error(fmt::format("it joins '{}' {} to the examples, which stays as large", odd->name(),
                            to_string(odd->type)));
  }
  require_other_axis(axis_from_front(node, 0, dimensions_of(*node.input(0))), *first);
  axes.set_output(node, *first);
}

void split_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  require_other_axis(axis_from_front(node, 0, dimensions_of(*node.input(0))), examples);
  for (const auto& output : node.outputs()) {
    if (output) axes.set(output.get(), examples);
  }
}

void slice_examples(BatchAxes& axes, Node& node) {
  const int64_t rank = dimensions_of(*node.input(0));
  const auto starts = constant_integers(node.input(1)), ends = constant_integers(node.input(2));
  std::vector<int64_t> cut;
  if (node.input(3)) {
    cut = axes_from_front(node, 3, rank).value();
  } else {
    for (int64_t i = 0; starts && i < std::ssize(*starts); ++i) cut.push_back(i);
  }
  const auto steps = node.input(4) ? constant_integers(node.input(4))
                                   : std::optional(std::vector<int64_t>(cut.size(), 1));
  if (!starts || !ends || !steps) throw Error("its limits are computed");
  if (const auto examples = axes.of(node.input(0))) {
    const auto i = static_cast<size_t>(std::ranges::find(cut, examples->axis) - cut.begin());
    const bool takes_all = i == cut.size() || (starts->at(i) == 0 && steps->at(i) == 1 &&
                                               ends->at(i) >= std::numeric_limits<int32_t>::max());
    if (!takes_all) throw Error("it cuts the dimension of examples");
    return axes.set_output(node, *examples);
  }
  const auto sizes = axes.sizes_of(node.input(0));
  const int64_t count = sizes ? std::ssize(*sizes) : 0;
  if (!sizes || cut.size() != 1 || (*steps)[0] != 1) throw Error("it picks sizes in another way");
  const auto place = [&](int64_t i) {
    return std::clamp(i < 0 ? i + count : i, int64_t{0}, count);
  };
  const int64_t first = place((*starts)[0]), last = std::max(first, place((*ends)[0]));
  axes.set_sizes(node.output(0), {sizes->begin() + first, sizes->begin() + last});
}

void gather_examples(BatchAxes& axes, Node& node) {
  if (const auto indices = axes.of(node.input(1))) {  // of a table, the same for all examples
    if (!axes.is_independent(node.input(0))) throw Error("it picks from examples by examples");
    const int64_t axis = axis_from_front(node, 0, dimensions_of(*node.input(0)));
    return axes.set_output(node, {axis + indices->axis, indices->each});
  }
  if (!axes.is_independent(node.input(1))) throw Error("it picks by sizes");
  const auto examples = axes.of(node.input(0));
  if (!examples) {
    const auto sizes = axes.sizes_of(node.input(0));
    const auto picked = constant_integers(node.input(1));
    if (!picked || !sizes) throw Error("it picks sizes by what is computed");
    std::vector<BatchSize> found;
    for (const int64_t i : *picked) {
      const int64_t place = i < 0 ? i + std::ssize(*sizes) : i;
      if (place < 0 || place >= std::ssize(*sizes)) throw Error("it picks what is not there");
      found.push_back((*sizes)[static_cast<size_t>(place)]);
    }
    return axes.set_sizes(node.output(0), std::move(found));
  }
  const int64_t axis = axis_from_front(node, 0, dimensions_of(*node.input(0)));
  require_other_axis(axis, *examples);
  const int64_t added = axis < examples->axis ? dimensions_of(*node.input(1)) - 1 : 0;
  axes.set_output(node, {examples->axis + added, examples->each});
}

void shape_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const std::vector<int64_t> dims = known_dims(*node.input(0));
  const int64_t count = std::ssize(dims);
  const auto place = [&](int64_t i) {
    return std::clamp(i < 0 ? i + count : i, int64_t{0}, count);
  };
  std::vector<BatchSize> sizes;
  for (int64_t i = place(node.int_or("start", 0)); i < place(node.int_or("end", count)); ++i) {
    const bool counts = i == examples.axis;
    sizes.push_back({counts ? examples.each : dims[static_cast<size_t>(i)], counts});
  }
  axes.set_sizes(node.output(0), std::move(sizes));
}

void constant_of_shape_examples(BatchAxes& axes, Node& node) {
  const auto sizes = axes.sizes_of(node.input(0));
  if (!sizes) throw Error("its shape is computed");
  of_sizes(axes, node, *sizes);
}

void expand_examples(BatchAxes& axes, Node& node) {
  const auto sizes = axes.sizes_of(node.input(1));
  if (!sizes) throw Error("its shape is computed");
  const int64_t out = dimensions_of(*node.output(0));
  const int64_t missing = out - std::ssize(*sizes);
  const auto examples = axes.of(node.input(0));
  if (!examples) {
    const std::vector<int64_t> dims = known_dims(*node.input(0));
    const auto counted = std::ranges::find(*sizes, true, &BatchSize::times_batch);
    const int64_t axis = missing + (counted - sizes->begin()) - (out - std::ssize(dims));
    if (missing != 0 || (axis >= 0 && dims[static_cast<size_t>(axis)] != 1)) {
      throw Error(fmt::format("'{}' has a place for each example", node.input(0)->name()));
    }
    return of_sizes(axes, node, *sizes);
  }
  const ExampleAxis place{out - dimensions_of(*node.input(0)) + examples->axis, examples->each};
  for (int64_t i = 0; i < std::ssize(*sizes); ++i) {
    const BatchSize& size = (*sizes)[static_cast<size_t>(i)];
    const bool is_place = i + missing == place.axis;
    const bool fits = is_place ? (size.times_batch ? size.number == place.each : size.number == 1)
                               : !size.times_batch;
    if (!fits) throw Error("it repeats for that many examples");
  }
  axes.set_output(node, place);
}

void tile_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const auto repeats = constant_integers(node.input(1));
  if (!repeats || repeats->at(static_cast<size_t>(examples.axis)) != 1) {
    throw Error("it repeats examples");
  }
  axes.set_output(node, examples);
}

void pad_examples(BatchAxes& axes, Node& node) {
  const ExampleAxis examples = only_first(axes, node);
  const auto pads = constant_integers(node.input(1));
  const auto at = static_cast<size_t>(examples.axis);
  if (!pads || node.input(3) || pads->at(at) != 0 || pads->at(at + pads->size() / 2) != 0) {
    throw Error("it may pad the dimension of examples");
  }
  axes.set_output(node, examples);
}

/// Of the second input only the type counts.
void cast_like_examples(BatchAxes& axes, Node& node) {
  if (const auto examples = axes.of(node.input(0))) axes.set_output(node, *examples);
  if (const auto sizes = axes.sizes_of(node.input(0))) axes.set_sizes(node.output(0), *sizes);
}

}  // namespace onward
