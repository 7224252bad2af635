#include "ops/window_expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "onward/error.h"
#include "ops/window.h"

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

constexpr size_t kChannels = 2;  // dimensions before the spatial ones: batch and channel

bool pads_to_cover(const Node& node) {
  return node.string_or("auto_pad", "NOTSET").starts_with("SAME");
}

}  // namespace

Spatial spatial_of(const Type& type, Expr shape) {
  Builder& b = shape.builder();
  Spatial spatial{std::nullopt,
                  slice(shape, b.integers({kChannels}),
                        b.integers({std::numeric_limits<int64_t>::max()}), b.integers({0}))};
  if (!type.shape || type.shape->size() < kChannels) return spatial;
  Integers dims;
  for (size_t d = kChannels; d < type.shape->size(); ++d) {
    const Dim& dim = (*type.shape)[d];
    if (!dim.value) return spatial;
    dims.push_back(*dim.value);
  }
  spatial.value = b.integers(dims);
  spatial.known = std::move(dims);
  return spatial;
}

std::optional<size_t> known_spatial_rank(const ExpandContext& c) {
  const Node& node = c.node();
  for (const char* name : {"kernel_shape", "strides", "dilations", "output_shape"}) {
    if (const auto* list = node.get<Integers>(name)) return list->size();
  }
  if (const auto* pads = node.get<Integers>("pads")) return pads->size() / 2;
  for (const Value* value : {node.output(0), node.input(0), node.input(1)}) {
    const auto found = rank(value);
    if (found && is_float(value->type.dtype)) return static_cast<size_t>(*found) - kChannels;
  }
  return std::nullopt;
}

size_t spatial_rank(const ExpandContext& c) {
  if (const auto known = known_spatial_rank(c)) return *known;
  throw Error(fmt::format("the rank of '{}' must be known", c.node().input(0)->name()));
}

WindowValues::WindowValues(const ExpandContext& c, Spatial x, Spatial kernel)
    : builder_(c.builder()),
      x_(std::move(x)),
      kernel_(std::move(kernel)),
      strides_(list_or(c.node(), "strides", spatial_rank(c), 1)),
      dilations_(list_or(c.node(), "dilations", strides_.size(), 1)),
      before_(x_.value),
      after_(x_.value) {
  if (const auto* given = c.node().get<Integers>("kernel_shape")) {
    kernel_ = {*given, builder_.integers(*given)};
  }
  resolve_padding(c);
}

Expr WindowValues::axes() const {
  Integers axes(rank());
  std::iota(axes.begin(), axes.end(), kChannels);
  return builder_.integers(axes);
}

void WindowValues::resolve_padding(const ExpandContext& c) {
  const Node& node = c.node();
  if (are_known()) {
    const Window window = read_window(node, *x_.known, *kernel_.known);
    before_ = builder_.integers(window.before);
    after_ = builder_.integers(window.after);
    return;
  }
  if (!pads_to_cover(node)) {
    Integers pads = list_or(node, "pads", 2 * rank(), 0);
    if (node.string_or("auto_pad", "NOTSET") == "VALID") pads.assign(pads.size(), 0);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank());
    before_ = builder_.integers({pads.begin(), middle});
    after_ = builder_.integers({middle, pads.end()});
    return;
  }
  // As many windows as it takes to cover x, the padding split with the odd one on a side.
  const Expr stride = builder_.integers(strides_), x = x_.value;
  const Expr one = builder_.scalar(1, DType::i64), none = builder_.scalar(0, DType::i64);
  const Expr reach = (kernel_.value - one) * builder_.integers(dilations_) + one;
  const Expr outputs = (x + stride - one) / stride;
  const Expr total = larger((outputs - one) * stride + reach - x, none);
  const Expr half = total / builder_.scalar(2, DType::i64);
  const bool odd_one_before = node.string_or("auto_pad", "NOTSET") == "SAME_LOWER";
  before_ = odd_one_before ? total - half : half;
  after_ = total - before_;
}

Expr spread_over_windows(const ExpandContext& c, const WindowValues& windows, Expr dy, Expr w,
                         int64_t group) {
  const size_t count = windows.rank();
  Integers pads(2 * count, 0), beyond(count, 0);
  if (windows.are_known()) {
    // ConvTranspose's result reaches from the first tap of the first window to the last of the
    // last one: `pads` cut off what is not x, `beyond` adds what no window reads.
    const Window window = read_window(c.node(), *windows.x().known, *windows.kernel().known);
    if (std::ranges::find(window.output, 0) != window.output.end()) {
      // No windows, which ConvTranspose does not take.
      const Expr channels = dim_of(w, 1) * static_cast<double>(group);
      return expand(c.builder().scalar(0, dy.dtype()),
                    concat({dim_of(dy, 0), channels, windows.x().value}, 0));
    }
    for (size_t d = 0; d < count; ++d) {
      const int64_t reach = (window.output[d] - 1) * window.strides[d] +
                            (window.kernel[d] - 1) * window.dilations[d] + 1;
      const int64_t behind = reach - window.before[d] - (*windows.x().known)[d];
      if (window.before[d] < 0) throw Error("a padding is negative");
      pads[d] = window.before[d];
      pads[count + d] = std::max<int64_t>(behind, 0);
      beyond[d] = std::max<int64_t>(-behind, 0);
    }
  } else {
    // No window reads the last elements of x, fewer than a stride.
    for (size_t d = 0; d < count; ++d) beyond[d] = windows.strides()[d] - 1;
  }
  const Expr spread = c.builder().add("ConvTranspose", values({dy, w}), dy.dtype(),
                                      {{"dilations", windows.dilations()},
                                       {"group", group},
                                       {"output_padding", beyond},
                                       {"pads", pads},
                                       {"strides", windows.strides()}});
  if (windows.are_known()) return spread;
  return slice(spread, windows.before(), windows.before() + windows.x().value, windows.axes());
}

Expr padded(const WindowValues& windows, Expr x, double number) {
  Builder& b = x.builder();
  const Expr none = b.integers({0, 0});
  const Expr pads = concat({none, windows.before(), none, windows.after()}, 0);
  return b.add("Pad", values({x, pads, b.scalar(number, x.dtype())}), x.dtype());
}

}  // namespace onward
