#include "ops/resize_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "ir/memory_limit.h"
#include "onward/error.h"

namespace onward {
namespace {

/// A dimension before its weights are known.
struct Extent {
  size_t axis;
  int64_t input, output;
  double scale;
  double start = 0, end = 1;  // of the region, as parts of the dimension
};

bool crops(const Node& node) {
  return node.string_or("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

/// The axes that scales, sizes and regions are for.
std::vector<size_t> named_axes(const Node& node, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  const auto* given = node.get<std::vector<int64_t>>("axes");
  if (!given) return axes;
  axes.clear();
  for (const int64_t axis : *given) {
    const auto count = static_cast<int64_t>(rank);
    if (axis < -count || axis >= count) {
      throw Error(fmt::format("axis {} is out of range for rank {}", axis, rank));
    }
    axes.push_back(static_cast<size_t>(axis < 0 ? axis + count : axis));
  }
  return axes;
}

std::vector<double> numbers_for(const Tensor& tensor, size_t count, const char* name) {
  if (tensor.size() != static_cast<int64_t>(count)) {
    throw Error(fmt::format("{} has {} elements instead of {}", name, tensor.size(), count));
  }
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.number(i));
  return numbers;
}

int64_t checked_size(double size) {
  if (!(size >= 0 && size <= static_cast<double>(std::numeric_limits<int32_t>::max()))) {
    throw Error(fmt::format("a dimension can't be resized to {}", size));
  }
  return static_cast<int64_t>(size);
}

void set_by_scales(std::vector<Extent>& extents, const Tensor& scales) {
  const auto numbers = numbers_for(scales, extents.size(), "scales");
  for (size_t i = 0; i < extents.size(); ++i) {
    if (!(numbers[i] > 0)) throw Error(fmt::format("a scale is {}", numbers[i]));
    extents[i].scale = numbers[i];
    // Scales are float32, the product is not rounded to it: 10 times 0.7 is a little less than 7.
    extents[i].output =
        checked_size(std::floor(static_cast<double>(extents[i].input) * numbers[i]));
  }
}

void set_by_sizes(std::vector<Extent>& extents, const Tensor& sizes, const std::string& policy) {
  const auto numbers = numbers_for(sizes, extents.size(), "sizes");
  std::optional<double> common;
  for (size_t i = 0; i < extents.size(); ++i) {
    Extent& extent = extents[i];
    extent.output = checked_size(numbers[i]);
    if (extent.input == 0 && extent.output > 0) throw Error("an empty dimension can't be resized");
    extent.scale = extent.input == 0 ? 1 : numbers[i] / static_cast<double>(extent.input);
    if (policy == "not_larger") common = std::min(common.value_or(extent.scale), extent.scale);
    if (policy == "not_smaller") common = std::max(common.value_or(extent.scale), extent.scale);
  }
  if (!common) return;
  for (Extent& extent : extents) {
    extent.scale = *common;
    extent.output = checked_size(std::floor(*common * static_cast<double>(extent.input) + 0.5));
  }
}

std::vector<Extent> extents_of(const Node& node, std::span<const int64_t> dims,
                               const ResizeOperands& operands) {
  std::vector<Extent> extents;
  for (const size_t axis : named_axes(node, dims.size())) {
    extents.push_back({.axis = axis, .input = dims[axis], .output = dims[axis], .scale = 1});
  }
  // An empty tensor stands for one that is left out.
  const bool by_sizes = operands.sizes && (operands.sizes->size() > 0 || extents.empty());
  const bool by_scales = operands.scales && operands.scales->size() > 0;
  if (by_sizes && by_scales) throw Error("it has both scales and sizes");
  if (by_sizes) {
    set_by_sizes(extents, *operands.sizes, node.string_or("keep_aspect_ratio_policy", "stretch"));
  } else if (by_scales) {
    set_by_scales(extents, *operands.scales);
  } else if (!extents.empty()) {
    throw Error("it has neither scales nor sizes");
  }
  if (!crops(node)) return extents;
  if (!operands.roi) throw Error("it has no region to crop");
  const auto region = numbers_for(*operands.roi, 2 * extents.size(), "roi");
  for (size_t i = 0; i < extents.size(); ++i) {
    extents[i].start = region[i];
    extents[i].end = region[extents.size() + i];
  }
  return extents;
}

/// Where output position `at` lies in the input. What of the last position depends on the length of
/// the result takes the one that the scale asks for, which may be a fraction.
double source_position(const std::string& mode, const Extent& e, double at) {
  const auto input = static_cast<double>(e.input), output = static_cast<double>(e.output);
  const double wanted = e.scale * input;
  if (mode == "half_pixel") return (at + 0.5) / e.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    return input / 2 * (1 - output / wanted) + (at + 0.5) / e.scale - 0.5;
  }
  if (mode == "pytorch_half_pixel") return e.output > 1 ? (at + 0.5) / e.scale - 0.5 : 0;
  if (mode == "align_corners") return wanted == 1 ? 0 : at * (input - 1) / (wanted - 1);
  if (mode == "asymmetric") return at / e.scale;
  if (mode == "tf_crop_and_resize") {
    const double length = (e.end - e.start) * (input - 1);
    const double inside = wanted == 1 ? length / 2 : at * length / (wanted - 1);
    return inside + e.start * (input - 1);
  }
  throw Error(fmt::format("there is no coordinate_transformation_mode '{}'", mode));
}

double nearest_position(const std::string& mode, double position) {
  if (mode == "round_prefer_floor") return std::ceil(position - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(position + 0.5);
  if (mode == "floor") return std::floor(position);
  if (mode == "ceil") return std::ceil(position);
  throw Error(fmt::format("there is no nearest_mode '{}'", mode));
}

/// The weight of an element that is `distance` away: a triangle, or Keys's cubic with coefficient
/// a.
struct Filter {
  double radius;
  double a = 0;

  double operator()(double distance) const {
    const double d = std::fabs(distance);
    if (radius == 1) return std::max(0.0, 1 - d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
  }
};

int64_t clamped_index(double position, int64_t size) {
  // Also of what is no number.
  if (!(position > 0)) return 0;
  return static_cast<int64_t>(std::min(position, static_cast<double>(size - 1)));
}

class Weights {
 public:
  explicit Weights(const Node& node)
      : coordinates_(node.string_or("coordinate_transformation_mode", "half_pixel")),
        mode_(node.string_or("mode", "nearest")),
        nearest_(node.string_or("nearest_mode", "round_prefer_floor")),
        filter_{.radius = mode_ == "cubic" ? 2.0 : 1.0,
                .a = static_cast<double>(node.float_or("cubic_coeff_a", -0.75F))},
        antialias_(node.int_or("antialias", 0) != 0),
        exclude_outside_(node.int_or("exclude_outside", 0) != 0) {
    if (mode_ != "nearest" && mode_ != "linear" && mode_ != "cubic") {
      throw Error(fmt::format("there is no mode '{}'", mode_));
    }
    if (mode_ == "nearest" && (antialias_ || exclude_outside_)) {
      throw Error("the mode 'nearest' has neither antialias nor exclude_outside");
    }
  }

  ResizedAxis of(const Extent& e) const {
    // Downsampling with a filter that is stretched to the distance of the samples.
    const double stretch = antialias_ ? std::max(1.0, 1 / e.scale) : 1.0;
    const double first = std::floor(-filter_.radius * stretch) + 1;
    ResizedAxis axis{.axis = e.axis, .input = e.input, .output = e.output};
    if (mode_ != "nearest") axis.taps = checked_taps(2 - 2 * first);
    const int64_t dims[] = {e.output, axis.taps};
    const auto count = static_cast<size_t>(checked_list_size(dims, sizeof(double)));
    axis.indices.resize(count);
    axis.weights.resize(count);
    if (coordinates_ == "tf_crop_and_resize") axis.outside.resize(static_cast<size_t>(e.output));
    for (int64_t at = 0; at < e.output; ++at) {
      const double position = source_position(coordinates_, e, static_cast<double>(at));
      const auto begin = static_cast<size_t>(at * axis.taps);
      if (!axis.outside.empty() && !(position >= 0 && position <= static_cast<double>(e.input - 1)))
        axis.outside[static_cast<size_t>(at)] = 1;
      if (mode_ == "nearest") {
        axis.indices[begin] = clamped_index(nearest_position(nearest_, position), e.input);
        axis.weights[begin] = 1;
      } else {
        sample(axis, begin, position, first, stretch);
      }
    }
    return axis;
  }

 private:
  static int64_t checked_taps(double taps) {
    if (!(taps < 1e9)) throw Error("a scale is too small for antialias");
    return static_cast<int64_t>(taps);
  }

  void sample(ResizedAxis& axis, size_t begin, double position, double first,
              double stretch) const {
    const double last = static_cast<double>(axis.input - 1);
    const double base = std::ceil(position) - 1 + first;  // of an integer the element before too
    double sum = 0;
    for (size_t k = 0; k < static_cast<size_t>(axis.taps); ++k) {
      const double index = base + static_cast<double>(k);
      const bool excluded = exclude_outside_ && (index < 0 || index > last);
      const double weight = excluded ? 0 : filter_((index - position) / stretch);
      axis.indices[begin + k] = clamped_index(index, axis.input);
      axis.weights[begin + k] = weight;
      sum += weight;
    }
    if (!antialias_ && !exclude_outside_) return;
    if (sum == 0 && !axis.is_outside(static_cast<int64_t>(begin) / axis.taps)) {
      throw Error("exclude_outside leaves nothing of the samples of a position");
    }
    for (size_t k = 0; k < static_cast<size_t>(axis.taps); ++k) axis.weights[begin + k] /= sum;
  }

  std::string coordinates_, mode_, nearest_;
  Filter filter_;
  bool antialias_, exclude_outside_;
};

}  // namespace

std::vector<int64_t> resized_dims(const Node& node, std::span<const int64_t> dims,
                                  const ResizeOperands& operands) {
  std::vector<int64_t> result(dims.begin(), dims.end());
  for (const Extent& extent : extents_of(node, dims, operands)) {
    result[extent.axis] = extent.output;
  }
  return result;
}

std::vector<ResizedAxis> resized_axes(const Node& node, std::span<const int64_t> dims,
                                      const ResizeOperands& operands) {
  const Weights weights(node);
  std::vector<ResizedAxis> axes;
  for (const Extent& e : extents_of(node, dims, operands)) {
    const bool stays = e.scale == 1 && e.output == e.input && e.start == 0 && e.end == 1;
    if (stays) continue;
    if (e.input == 0 && e.output > 0) throw Error("an empty dimension can't be resized");
    axes.push_back(weights.of(e));
  }
  return axes;
}

}  // namespace onward
