#include "infer/window_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

/// Products of two of these fit an int64, and so does their sum with a few more.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

enum class Kind : uint8_t { convolution, transposed, pooling, whole };

struct WindowOperator {
  std::string_view op;
  Kind kind;
  size_t weights = 1;  // which input has them
};
constexpr WindowOperator kWindowOperators[] = {
    {"AveragePool", Kind::pooling},
    {"Conv", Kind::convolution},
    {"ConvInteger", Kind::convolution},
    {"ConvTranspose", Kind::transposed},
    {"GlobalAveragePool", Kind::whole},
    {"GlobalLpPool", Kind::whole},
    {"GlobalMaxPool", Kind::whole},
    {"LpPool", Kind::pooling},
    {"MaxPool", Kind::pooling},
    {"MaxUnpool", Kind::whole},
    {"QLinearConv", Kind::convolution, 3},
};

const WindowOperator* find_operator(const Node& node) {
  const auto* found = std::ranges::find(kWindowOperators, node.op, &WindowOperator::op);
  return found == std::end(kWindowOperators) ? nullptr : found;
}

Refusal bad_window(std::string message) { return {"attribute", "", std::move(message)}; }

/// An attribute with an entry for each spatial dimension.
struct List {
  std::string_view name;
  int64_t lowest;
  size_t entries;  // for each dimension
};
constexpr List kLists[] = {{"kernel_shape", 1, 1},   {"strides", 1, 1},
                           {"dilations", 1, 1},      {"pads", 0, 2},
                           {"output_padding", 0, 1}, {"output_shape", 1, 1}};

std::optional<Refusal> check_entries(const Node& node, const List& list,
                                     std::optional<size_t> spatial) {
  const auto* given = node.get<Integers>(list.name);
  if (!given) return std::nullopt;
  for (const int64_t number : *given) {
    if (number >= list.lowest && number <= kLargest) continue;
    return bad_window(
        fmt::format("attribute '{}' holds {}, which is out of range", list.name, number));
  }
  if (!spatial || given->size() == list.entries * *spatial) return std::nullopt;
  return bad_window(fmt::format("attribute '{}' has {} entries, but {} are needed", list.name,
                                given->size(), list.entries * *spatial));
}

/// Padding of 0 beside auto_pad, which files in the wild have, adds nothing to what it says.
std::optional<Refusal> check_auto_pad(const Node& node) {
  constexpr std::string_view kModes[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const std::string mode = node.string_or("auto_pad", "NOTSET");
  if (std::ranges::find(kModes, std::string_view(mode)) == std::end(kModes)) {
    return bad_window(fmt::format("unknown auto_pad '{}'", mode));
  }
  const auto* pads = node.get<Integers>("pads");
  if (!pads || mode == "NOTSET") return std::nullopt;
  if (std::ranges::all_of(*pads, [](int64_t pad) { return pad == 0; })) return std::nullopt;
  return bad_window(fmt::format("attributes 'auto_pad' ({}) and 'pads' {} exclude each other", mode,
                                to_string(std::span<const int64_t>(*pads))));
}

Integers list_or(const Node& node, std::string_view name, size_t count, int64_t fallback) {
  const auto* given = node.get<Integers>(name);
  return given ? *given : Integers(count, fallback);
}

/// A kernel's size along a spatial dimension, where it is known: pooling must give it, weights have
/// it.
std::optional<int64_t> kernel_size(const Operands& o, Kind kind, size_t spatial) {
  if (const auto* given = o.node().get<Integers>("kernel_shape")) return (*given)[spatial];
  if (kind == Kind::pooling) return std::nullopt;
  return o.dim(find_operator(o.node())->weights, spatial + 2);
}

/// Padding that covers an input of no elements with no windows: where these leave gaps, the
/// standard's inference counts one all the same.
std::optional<Refusal> check_cover(const Operands& o, Kind kind, size_t spatial) {
  const Integers dilations = list_or(o.node(), "dilations", spatial, 1);
  const Integers strides = list_or(o.node(), "strides", spatial, 1);
  for (size_t d = 0; d < spatial; ++d) {
    const auto kernel = kernel_size(o, kind, d);
    if (o.dim(0, d + 2) != 0 || !kernel || *kernel > kLargest) continue;
    const int64_t reach = (*kernel - 1) * dilations[d] + 1;
    if (strides[d] <= reach) continue;
    return Refusal{
        "shape", o.node().input(0)->name(),
        fmt::format("spatial dimension {} is empty: there is no telling how many windows "
                    "of {} with strides of {} cover it",
                    d, reach, strides[d])};
  }
  return std::nullopt;
}

/// A transposed convolution whose result the standard's inference takes for another one, or that
/// cuts off all that its windows write.
std::optional<Refusal> check_transposed(const Operands& o, size_t spatial) {
  const Node& node = o.node();
  const Integers strides = list_or(node, "strides", spatial, 1);
  const Integers dilations = list_or(node, "dilations", spatial, 1);
  const Integers beyond = list_or(node, "output_padding", spatial, 0);
  const Integers pads = list_or(node, "pads", 2 * spatial, 0);
  const auto* shape = node.get<Integers>("output_shape");
  const bool same = node.string_or("auto_pad", "NOTSET").starts_with("SAME");
  if (same && !shape && std::ranges::any_of(beyond, [](int64_t number) { return number > 0; })) {
    return bad_window(
        "attribute 'output_padding' together with auto_pad: the standard does not define "
        "the size of the result");
  }
  for (size_t d = 0; d < spatial; ++d) {
    if (beyond[d] >= std::max(strides[d], dilations[d])) {
      return bad_window(
          fmt::format("output_padding of {} along spatial dimension {} is smaller "
                      "neither than the stride nor than the dilation",
                      beyond[d], d));
    }
    const auto kernel = kernel_size(o, Kind::transposed, d), size = o.dim(0, d + 2);
    if (size == 0) {
      return Refusal{"shape", node.input(0)->name(),
                     fmt::format("spatial dimension {} is empty: there are no windows", d)};
    }
    if (!kernel || !size || std::max(*kernel, *size) > kLargest) continue;
    const int64_t whole = (*size - 1) * strides[d] + (*kernel - 1) * dilations[d] + 1 + beyond[d];
    if (shape && (*shape)[d] < *size) {
      return bad_window(
          fmt::format("output_shape of {} along spatial dimension {} is smaller than "
                      "its input, {}",
                      (*shape)[d], d, *size));
    }
    if (!shape && !same && whole < pads[d] + pads[spatial + d]) {
      return bad_window(
          fmt::format("padding of {} and {} along spatial dimension {} is more "
                      "than {}",
                      pads[d], pads[spatial + d], d, whole));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> check_fit(const Operands& o, Kind kind, size_t spatial) {
  const Node& node = o.node();
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  if (kind == Kind::transposed) return check_transposed(o, spatial);
  if (kind == Kind::whole) return std::nullopt;
  if (auto_pad.starts_with("SAME")) return check_cover(o, kind, spatial);
  const Integers dilations = list_or(node, "dilations", spatial, 1);
  Integers pads = list_or(node, "pads", 2 * spatial, 0);
  if (auto_pad == "VALID") pads.assign(2 * spatial, 0);
  for (size_t d = 0; d < spatial; ++d) {
    const auto kernel = kernel_size(o, kind, d), size = o.dim(0, d + 2);
    if (!kernel || *kernel > kLargest) continue;
    const int64_t reach = (*kernel - 1) * dilations[d] + 1;
    const int64_t before = pads[d], after = pads[spatial + d];
    if (kind == Kind::pooling && std::max(before, after) >= reach) {
      return bad_window(
          fmt::format("padding of {} along spatial dimension {} is not smaller "
                      "than the window of {}: a window could lie in it alone",
                      std::max(before, after), d, reach));
    }
    if (!size || *size > kLargest || *size + before + after >= reach) continue;
    return Refusal{"shape", node.input(0)->name(),
                   fmt::format("a window of {} does not fit into spatial dimension {} of {} with "
                               "padding of {} and {}",
                               reach, d, *size, before, after)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> guard_window(const Operands& operands) {
  const Node& node = operands.node();
  if (!node.domain.empty()) return std::nullopt;
  if (auto refusal = check_auto_pad(node)) return refusal;
  const WindowOperator* found = find_operator(node);
  if (!found) return std::nullopt;
  const auto rank = operands.rank(0);
  if (rank && *rank < 3) {
    return Refusal{"shape", node.input(0)->name(),
                   fmt::format("its input has rank {}, and no spatial dimensions", *rank)};
  }
  const auto spatial = rank ? std::optional(static_cast<size_t>(*rank) - 2) : std::nullopt;
  for (const List& list : kLists) {
    if (auto refusal = check_entries(node, list, spatial)) return refusal;
  }
  if (const auto* kernel = node.get<Integers>("kernel_shape"); kernel && !element_count(*kernel)) {
    return bad_window(fmt::format("a window of {} has too many elements",
                                  to_string(std::span<const int64_t>(*kernel))));
  }
  return spatial ? check_fit(operands, found->kind, *spatial) : std::nullopt;
}

}  // namespace onward
