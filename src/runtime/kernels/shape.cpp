// Operators that move elements, or only say otherwise what shape they have.

#include <algorithm>
#include <cstring>

#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

Reason accepts(const Node&) { return {}; }

/// The same elements in the same order: nothing to do.
void make_view(Site& site) { site.share(0, 0); }

/// A transpose that swaps two neighbouring runs of dimensions, the rest staying in front: a stack
/// of matrices.
struct Swap {
  int64_t stack = 1, rows = 1, columns = 1;
};

std::optional<Swap> as_swap(std::span<const int64_t> dims, std::span<const int64_t> permutation) {
  const size_t rank = dims.size();
  size_t front = 0;
  while (front < rank && permutation[front] == static_cast<int64_t>(front)) ++front;
  Swap swap;
  for (size_t d = 0; d < front; ++d) swap.stack *= dims[d];
  if (front == rank) return swap;
  const auto second = static_cast<size_t>(permutation[front]);  // where the second run begins
  for (size_t i = front; i < rank; ++i) {
    const size_t expected = i < front + rank - second ? second + i - front : i - (rank - second);
    if (permutation[i] != static_cast<int64_t>(expected)) return std::nullopt;
  }
  for (size_t d = front; d < second; ++d) swap.rows *= dims[d];
  for (size_t d = second; d < rank; ++d) swap.columns *= dims[d];
  return swap;
}

std::vector<int64_t> permutation_of(const Node& node) {
  if (const auto* given = node.get<std::vector<int64_t>>("perm")) return *given;
  std::vector<int64_t> permutation;
  for (size_t d = static_dims(*node.input(0))->size(); d-- > 0;) {
    permutation.push_back(static_cast<int64_t>(d));
  }
  return permutation;
}

std::optional<Swap> swap_of(const Node& node) {
  return as_swap(*static_dims(*node.input(0)), permutation_of(node));
}

Reason refuses_width(const Node& node) {
  const int width = bits(node.output(0)->type.dtype);
  return width == 8 || width == 16 || width == 32 || width == 64 ? ""
                                                                 : "elements of an unusual width";
}

Reason refuses_transpose(const Node& node) {
  if (Reason width = refuses_width(node); !width.empty()) return width;
  return swap_of(node) ? "" : "more than two runs of dimensions are moved";
}

/// A tensor each of whose elements is found in another one by steps: a transpose, a broadcast,
/// or a slice.
struct SteppedCopy {
  std::vector<int64_t> dims;   // of the result
  std::vector<int64_t> steps;  // through the source, in elements, for each of them
  int64_t first = 0;           // the source's element where it begins

  /// Neighbouring dimensions that are stepped through as one become one.
  void join_dimensions() {
    std::vector<int64_t> joined_dims, joined_steps;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) continue;
      if (!joined_dims.empty() && joined_steps.back() == steps[d] * dims[d]) {
        joined_dims.back() *= dims[d];
        joined_steps.back() = steps[d];
      } else {
        joined_dims.push_back(dims[d]);
        joined_steps.push_back(steps[d]);
      }
    }
    if (joined_dims.empty()) joined_dims = {1}, joined_steps = {1};
    dims = std::move(joined_dims);
    steps = std::move(joined_steps);
  }

  template <typename T>
  void run(const T* from, T* to) const {
    const size_t inner = dims.size() - 1;
    const int64_t n = dims[inner], step = steps[inner];
    const int64_t rows = n == 0 ? 0 : checked_element_count(dims) / n;
    const double cost = static_cast<double>(n) * (step > 1 ? 1.5 : 0.3) + 5;
    parallel_for(rows, cost, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        int64_t rest = row, offset = this->first;
        for (size_t d = inner; d-- > 0;) {
          offset += rest % dims[d] * steps[d];
          rest /= dims[d];
        }
        T* y = to + row * n;
        const T* x = from + offset;
        if (step == 1) {
          std::copy_n(x, n, y);
        } else if (step == 0) {
          std::fill_n(y, n, *x);
        } else {
          for (int64_t i = 0; i < n; ++i) y[i] = x[i * step];
        }
      }
    });
  }
};

void plan_copy(Site& site, SteppedCopy copy, Layout layout = Layout::plain) {
  copy.dims = laid_out(std::move(copy.dims), layout);
  copy.steps = laid_out(std::move(copy.steps), layout);
  copy.join_dimensions();
  const SlotIndex x = site.input(0), y = site.output(0, layout);
  const auto as = [&]<typename T>(T) {
    site.action([=](const Run& run) { copy.run(run.at<T>(x), run.at<T>(y)); });
  };
  switch (bits(site.dtype())) {
    case 8:
      return as(uint8_t{});
    case 16:
      return as(uint16_t{});
    case 32:
      return as(uint32_t{});
    default:
      return as(uint64_t{});
  }
}

std::vector<int64_t> steps_through(std::span<const int64_t> dims) {
  std::vector<int64_t> steps(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) steps[d] = step;
  return steps;
}

void make_stepped_transpose(Site& site) {
  const std::vector<int64_t> steps = steps_through(site.input_dims(0));
  SteppedCopy copy{.dims = site.output_dims(0)};
  for (const int64_t from : permutation_of(site.node())) {
    copy.steps.push_back(steps[static_cast<size_t>(from)]);
  }
  plan_copy(site, std::move(copy));
}

/// True where a kernel may read the value that wants images with their channels last.
bool is_read_as_image(const Value& value) {
  const auto dims = *static_dims(value);
  return dims.size() > 2 && std::ranges::any_of(value.uses(), [&](const Use& use) {
           return std::ranges::any_of(kernel_choices(*use.node), [](const KernelChoice* choice) {
             return choice->wants == Layout::channels_last;
           });
         });
}

void make_expand(Site& site) {
  const auto from = site.input_dims(0), to = site.output_dims(0);
  const std::vector<int64_t> steps = steps_through(from);
  SteppedCopy copy{.dims = to, .steps = std::vector<int64_t>(to.size(), 0)};
  const size_t missing = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) copy.steps[missing + d] = steps[d];
  }
  const bool image = is_read_as_image(*site.node().output(0));
  plan_copy(site, std::move(copy), image ? Layout::channels_last : Layout::plain);
}

Reason refuses_slice(const Node& node) {
  for (size_t input = 1; input < node.inputs().size(); ++input) {
    const Value* limits = node.input(input);
    if (limits && (limits->is_input() || !limits->tensor())) return "its limits are not constant";
  }
  return refuses_width(node);
}

void make_slice(Site& site) {
  std::vector<int64_t> limits[5];  // starts, ends, axes and steps are the inputs 1 to 4
  for (size_t input = 1; input < site.node().inputs().size(); ++input) {
    if (!site.has_input(input)) continue;
    const Tensor* constant = site.constant(input);
    if (!constant) return make_reference(site);  // a state, which only the site knows
    limits[input] = constant->integers();
  }
  const auto dims = site.input_dims(0);
  SteppedCopy copy{.dims = site.output_dims(0), .steps = steps_through(dims)};
  const auto& [data, starts, ends, axes, steps] = limits;
  const bool has_elements = checked_element_count(copy.dims) > 0;
  for (size_t i = 0; i < starts.size() && has_elements; ++i) {
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    // The result's dimensions tell where it ends.
    const int64_t start = starts[i] < 0 ? starts[i] + dims[d] : starts[i];
    copy.first += std::clamp<int64_t>(start, 0, dims[d] - 1) * copy.steps[d];
    if (copy.dims[d] > 1 && !steps.empty()) copy.steps[d] *= steps[i];
  }
  plan_copy(site, std::move(copy));
}

void make_transpose(Site& site) {
  const Swap swap = *swap_of(site.node());
  if (swap.rows == 1 || swap.columns == 1) return site.share(0, 0);
  const Reorder order{.images = swap.stack,
                      .rows = swap.rows,
                      .columns = swap.columns,
                      .element = static_cast<size_t>(bits(site.dtype())) / 8};
  const SlotIndex x = site.input(0), y = site.output(0);
  site.action([=](const Run& run) { order.run(run.at<std::byte>(x), run.at<std::byte>(y)); });
}

template <typename Word>
void plan_fill(Site& site, const Tensor& value) {
  Word word{};
  std::memcpy(&word, value.bytes().data(), sizeof(word));
  const int64_t count = checked_element_count(site.output_dims(0));
  const SlotIndex y = site.output(0);
  site.action([=](const Run& run) {
    auto* to = run.at<Word>(y);
    constexpr double kCost = 0.1 * sizeof(Word);
    parallel_for(count, kCost,
                 [=](int64_t first, int64_t last) { std::fill(to + first, to + last, word); });
  });
}

void make_fill(Site& site) {
  const auto* given = site.node().get<Tensor>("value");
  const Tensor value = given ? *given : Tensor::scalar(0.0F);
  switch (bits(site.dtype())) {
    case 8:
      return plan_fill<uint8_t>(site, value);
    case 16:
      return plan_fill<uint16_t>(site, value);
    case 32:
      return plan_fill<uint32_t>(site, value);
    default:
      plan_fill<uint64_t>(site, value);
  }
}

constexpr KernelChoice kShapeChoices[] = {
    {"ConstantOfShape", "fill", refuses_width, make_fill},
    {"Expand", "steps", refuses_width, make_expand},
    {"Flatten", "view", accepts, make_view},
    {"Identity", "view", accepts, make_view},
    {"Reshape", "view", accepts, make_view},
    {"Slice", "steps", refuses_slice, make_slice},
    {"Squeeze", "view", accepts, make_view},
    {"Transpose", "blocks", refuses_transpose, make_transpose},
    {"Transpose", "steps", refuses_width, make_stepped_transpose},
    {"Unsqueeze", "view", accepts, make_view},
};

}  // namespace

std::span<const KernelChoice> shape_choices() { return kShapeChoices; }

}  // namespace onward
