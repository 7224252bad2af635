#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "emit/helper_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

/// What a Resize of images does to their spatial dimensions, where F.interpolate can be told it.
struct SpatialResize {
  std::vector<double> scales;  // empty where sizes are given
  std::vector<int64_t> sizes;
};

/// Nothing where batches or channels are resized, or that is not known.
std::optional<SpatialResize> spatial_resize(const Call& c, int64_t rank) {
  const Tensor* numbers = c.constant(c.has(3) ? 3 : 2);
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (c.node().get<std::vector<int64_t>>("axes")) axes = c.ints_attribute("axes");
  if (!numbers || numbers->size() != static_cast<int64_t>(axes.size())) return std::nullopt;
  SpatialResize resize;
  if (c.has(3)) {
    resize.sizes.assign(static_cast<size_t>(rank) - 2, -1);
  } else {
    resize.scales.assign(static_cast<size_t>(rank) - 2, 1);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const double number = numbers->number(static_cast<int64_t>(i));
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const auto at = static_cast<size_t>(axis);
    if (axis < 2) {
      const auto size = c.dim(0, at);
      const bool stays = c.has(3) ? size && static_cast<double>(*size) == number : number == 1;
      if (!stays) return std::nullopt;
    } else if (c.has(3)) {
      resize.sizes[at - 2] = static_cast<int64_t>(number);
    } else {
      resize.scales[at - 2] = number;
    }
  }
  if (std::ranges::count(resize.sizes, -1) > 0) return std::nullopt;
  return resize;
}

/// "2" or "(2.0, 4.0)".
std::string factors(const std::vector<double>& scales) {
  std::vector<int64_t> numbers;
  for (const double scale : scales) numbers.push_back(static_cast<int64_t>(scale));
  return python_square(numbers);
}

/// How F.interpolate calls a kind of Resize that it computes in the same way; else nothing. Its
/// nearest elements are found in float32, which is exact for powers of two.
std::optional<std::string> interpolation(const Call& c, int64_t rank, const SpatialResize& resize) {
  const Node& node = c.node();
  const std::string mode = node.string_or("mode", "nearest");
  const std::string coordinates = node.string_or("coordinate_transformation_mode", "half_pixel");
  const bool whole = std::ranges::all_of(
      resize.scales, [](double scale) { return scale >= 1 && scale == std::trunc(scale); });
  if (!whole || node.int_or("antialias", 0) != 0 || node.int_or("exclude_outside", 0) != 0) {
    return std::nullopt;
  }
  if (mode == "nearest") {
    const bool powers = std::ranges::all_of(resize.scales, [](double scale) {
      return std::ldexp(1.0, static_cast<int>(std::lround(std::log2(scale)))) == scale;
    });
    const std::string nearest = node.string_or("nearest_mode", "round_prefer_floor");
    const bool same = (coordinates == "asymmetric" && nearest == "floor") ||
                      (coordinates == "half_pixel" && nearest.starts_with("round"));
    return resize.sizes.empty() && powers && same ? std::optional<std::string>("") : std::nullopt;
  }
  if (node.string_or("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;
  const bool cubic = mode == "cubic";
  if (cubic && (rank != 4 || node.float_or("cubic_coeff_a", -0.75F) != -0.75F)) return std::nullopt;
  const bool corners = coordinates == "align_corners";
  if (!corners && coordinates != "half_pixel") return std::nullopt;
  constexpr const char* kLines[] = {"linear", "bilinear", "trilinear"};
  return fmt::format(", mode=\"{}\"{}", cubic ? "bicubic" : kLines[rank - 3],
                     corners ? ", align_corners=True" : "");
}

}  // namespace

std::string resize(const Call& c) {
  const auto& shape = c.value(0)->type.shape;
  const auto rank = shape ? static_cast<int64_t>(shape->size()) : 0;
  const bool is_float = c.dtype(0) == DType::f32 || c.dtype(0) == DType::f64;
  if (rank < 3 || rank > 5 || !is_float) return resized(c);
  const auto spatial = spatial_resize(c, rank);
  const auto how = spatial ? interpolation(c, rank, *spatial) : std::nullopt;
  if (!how) return resized(c);
  const std::string to = spatial->sizes.empty() ? "scale_factor=" + factors(spatial->scales)
                                                : "size=" + python_tuple(spatial->sizes);
  return fmt::format("{}.interpolate({}, {}{})", c.module("F"), c.in(0), to, *how);
}

}  // namespace onward::emit::torch
