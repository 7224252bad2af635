#include "infer/sampling_guards.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "infer/operand_checks.h"

namespace onward {
namespace {

constexpr double kLargestImage = std::numeric_limits<int32_t>::max();

std::optional<Refusal> check_computed_with(const Operands& o, size_t input, std::string_view name) {
  const DType dtype = o.node().input(input)->type.dtype;
  const bool is_number = is_float(dtype) || is_integer(dtype);
  if (dtype == DType::undefined || (is_number && bits(dtype) >= 8)) return std::nullopt;
  return refused_operand(
      o, input, name,
      fmt::format("elements of type {} are not computed with", onward::name(dtype)));
}

std::optional<Refusal> check_corners(const Node& node) {
  const int64_t flag = node.int_or("align_corners", 0);
  if (flag == 0 || flag == 1) return std::nullopt;
  return refused_attribute(
      fmt::format("attribute 'align_corners' is {}, but must be 0 or 1", flag));
}

/// Images X [n, c, spatial] have elements to read.
std::optional<Refusal> check_elements(const Operands& o) {
  for (int64_t d = 2; d < o.rank(0).value_or(0); ++d) {
    if (o.dim(0, static_cast<size_t>(d)) == 0) {
      return refused_operand(o, 0, "X", "an image without elements can't be sampled");
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_grid_sample(const Operands& o) {
  const Node& node = o.node();
  auto refusal = node.opset < 20 ? check_word(node, "mode", {"bilinear", "nearest", "bicubic"})
                                 : check_word(node, "mode", {"linear", "nearest", "cubic"});
  if (refusal) return refusal;
  refusal = check_word(node, "padding_mode", {"zeros", "border", "reflection"});
  if (refusal) return refusal;
  if ((refusal = check_corners(node))) return refusal;
  if ((refusal = check_computed_with(o, 0, "X"))) return refusal;
  const auto rank = o.rank(0);
  if (!rank) return std::nullopt;
  if (*rank < 3) {
    return refused_operand(o, 0, "X", fmt::format("it has rank {}, not 3 or more", *rank));
  }
  if ((refusal = check_rank(o, 1, "grid", *rank))) return refusal;
  const auto last = static_cast<size_t>(*rank - 1);
  if ((refusal = check_dim(o, 1, "grid", last, *rank - 2))) return refusal;
  if (const auto batch = o.dim(0, 0)) {
    if ((refusal = check_dim(o, 1, "grid", 0, *batch))) return refusal;
  }
  return check_elements(o);
}

std::optional<Refusal> guard_affine_grid(const Operands& o) {
  const bool to_centers = o.node().int_or("align_corners", 0) == 1;
  if (auto refusal = check_corners(o.node())) return refusal;
  if (auto refusal = check_rank(o, 0, "theta", 3)) return refusal;
  if (auto refusal = check_rank(o, 1, "size", 1)) return refusal;
  if (const auto length = o.dim(1, 0)) {
    if (*length != 4 && *length != 5) {
      return refused_operand(o, 1, "size", fmt::format("it has {} elements, not 4 or 5", *length));
    }
    if (auto refusal = check_dim(o, 0, "theta", 1, *length - 2)) return refusal;
    if (auto refusal = check_dim(o, 0, "theta", 2, *length - 1)) return refusal;
  }
  const auto sizes = o.numbers(1);
  for (size_t i = 0; sizes && i < sizes->size(); ++i) {
    const double size = (*sizes)[i];
    if (i == 0) {
      const auto batch = o.dim(0, 0);
      if (!batch || static_cast<double>(*batch) == size) continue;
      return refused_operand(o, 0, "theta",
                             fmt::format("it has {} matrices for a batch of {}", *batch, size));
    }
    if (i == 1) continue;  // of channels, which the result does not have
    // Between the corners of one element there is no step.
    const double lowest = to_centers ? 2 : 1;
    if (size >= lowest && size <= kLargestImage) continue;
    return refused_operand(o, 1, "size", fmt::format("it holds {}, which is out of range", size));
  }
  return std::nullopt;
}

/// How often a block fits into each dimension of an image; all of it is checked.
std::vector<double> places_of_blocks(const Node& node, const std::vector<double>& image,
                                     const std::vector<double>& block) {
  const auto* pads = node.get<std::vector<int64_t>>("pads");
  const auto number = [&](const char* name, size_t d) {
    const auto* list = node.get<std::vector<int64_t>>(name);
    return list ? static_cast<double>((*list)[d]) : 1.0;
  };
  std::vector<double> places;
  for (size_t d = 0; d < image.size(); ++d) {
    const double padded =
        image[d] + (pads ? static_cast<double>((*pads)[d] + (*pads)[image.size() + d]) : 0);
    const double room = padded - number("dilations", d) * (block[d] - 1) - 1;
    places.push_back(room < 0 ? 0 : std::floor(room / number("strides", d)) + 1);
  }
  return places;
}

double product(const std::vector<double>& numbers) {
  double all = 1;
  for (const double number : numbers) all *= number;
  return all;
}

std::optional<Refusal> guard_col2im(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_computed_with(o, 0, "input")) return refusal;
  if (auto refusal = check_rank(o, 0, "input", 3)) return refusal;
  constexpr std::pair<size_t, const char*> kShapes[] = {{1, "image_shape"}, {2, "block_shape"}};
  for (const auto& [input, name] : kShapes) {
    if (auto refusal = check_rank(o, input, name, 1)) return refusal;
    if (auto refusal = check_between(o, input, name, 1, kLargestImage)) return refusal;
    if (o.dim(input, 0) == 0) return refused_operand(o, input, name, "it is empty");
  }
  auto dims = o.dim(1, 0);
  if (dims) {
    if (auto refusal = check_dim(o, 2, "block_shape", 0, *dims)) return refusal;
  } else {
    dims = o.dim(2, 0);
  }
  if (auto refusal = check_list(node, "dilations", dims, 1)) return refusal;
  if (auto refusal = check_list(node, "strides", dims, 1)) return refusal;
  const auto ends = dims ? std::optional(2 * *dims) : std::nullopt;
  if (auto refusal = check_list(node, "pads", ends, 0)) return refusal;
  const auto image = o.numbers(1), block = o.numbers(2);
  const auto rows = o.dim(0, 1), columns = o.dim(0, 2);
  if (block && rows && std::fmod(static_cast<double>(*rows), product(*block)) != 0) {
    return refused_operand(
        o, 0, "input",
        fmt::format("its dimension 1, {}, is not divisible by {}", *rows, product(*block)));
  }
  if (!image || !block || !columns) return std::nullopt;
  const double places = product(places_of_blocks(node, *image, *block));
  if (places >= 1 && places == static_cast<double>(*columns)) return std::nullopt;
  return refused_operand(
      o, 0, "input", fmt::format("it has {} columns, but blocks have {} places", *columns, places));
}

/// What taps and windows make of the shapes of offset and mask.
std::optional<Refusal> check_offsets(const Operands& o, size_t dims) {
  const Node& node = o.node();
  const int64_t groups = node.int_or("offset_group", 1);
  std::vector<double> image, kernel;
  for (size_t d = 0; d < dims; ++d) {
    const auto size = o.dim(0, d + 2), taps = o.dim(1, d + 2);
    if (!size || !taps) return std::nullopt;
    image.push_back(static_cast<double>(*size));
    kernel.push_back(static_cast<double>(*taps));
  }
  const auto windows = places_of_blocks(node, image, kernel);
  const double taps = product(kernel) * static_cast<double>(groups);
  if (taps * static_cast<double>(dims) > kLargestImage) {
    return refused_operand(o, 1, "W", "its kernel has too many elements");
  }
  const auto count = static_cast<int64_t>(taps);
  if (auto refusal = check_dim(o, 2, "offset", 1, count * static_cast<int64_t>(dims))) {
    return refusal;
  }
  if (auto refusal = check_dim(o, 4, "mask", 1, count)) return refusal;
  for (size_t d = 0; d < dims; ++d) {
    const auto size = static_cast<int64_t>(windows[d]);
    if (auto refusal = check_dim(o, 2, "offset", d + 2, size)) return refusal;
    if (auto refusal = check_dim(o, 4, "mask", d + 2, size)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> guard_deform_conv(const Operands& o) {
  const Node& node = o.node();
  for (const char* name : {"group", "offset_group"}) {
    if (auto refusal = check_count(node, name, 1)) return refusal;
  }
  const auto rank = o.rank(0);
  if (!rank) return std::nullopt;
  if (*rank < 3) {
    return refused_operand(o, 0, "X", fmt::format("it has rank {}, not 3 or more", *rank));
  }
  constexpr std::pair<size_t, const char*> kOfSameRank[] = {{1, "W"}, {2, "offset"}, {4, "mask"}};
  for (const auto& [input, name] : kOfSameRank) {
    if (auto refusal = check_rank(o, input, name, *rank)) return refusal;
  }
  if (auto refusal = check_rank(o, 3, "B", 1)) return refusal;
  const int64_t dims = *rank - 2;
  for (const char* name : {"strides", "dilations", "kernel_shape"}) {
    if (auto refusal = check_list(node, name, dims, 1)) return refusal;
  }
  if (auto refusal = check_list(node, "pads", 2 * dims, 0)) return refusal;
  if (const auto* kernel = node.get<std::vector<int64_t>>("kernel_shape")) {
    for (size_t d = 0; d < kernel->size(); ++d) {
      if (auto refusal = check_dim(o, 1, "W", d + 2, (*kernel)[d])) return refusal;
    }
  }
  const int64_t group = node.int_or("group", 1);
  if (auto refusal = check_divisible(o, 0, "X", 1, node.int_or("offset_group", 1))) return refusal;
  if (auto refusal = check_divisible(o, 0, "X", 1, group)) return refusal;
  if (auto refusal = check_divisible(o, 1, "W", 0, group)) return refusal;
  if (const auto channels = o.dim(0, 1)) {
    if (auto refusal = check_dim(o, 1, "W", 1, *channels / group)) return refusal;
  }
  if (const auto results = o.dim(1, 0)) {
    if (auto refusal = check_dim(o, 3, "B", 0, *results)) return refusal;
  }
  if (const auto batch = o.dim(0, 0)) {
    if (auto refusal = check_dim(o, 2, "offset", 0, *batch)) return refusal;
    if (auto refusal = check_dim(o, 4, "mask", 0, *batch)) return refusal;
  }
  if (auto refusal = check_elements(o)) return refusal;
  return check_offsets(o, static_cast<size_t>(dims));
}

/// Regions [regions, columns] of images X [n, c, h, w].
std::optional<Refusal> check_regions(const Operands& o, int64_t columns) {
  if (auto refusal = check_rank(o, 0, "X", 4)) return refusal;
  if (auto refusal = check_rank(o, 1, "rois", 2)) return refusal;
  if (auto refusal = check_dim(o, 1, "rois", 1, columns)) return refusal;
  return check_elements(o);
}

std::optional<Refusal> guard_roi_align(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_word(node, "mode", {"avg", "max"})) return refusal;
  if (auto refusal =
          check_word(node, "coordinate_transformation_mode", {"half_pixel", "output_half_pixel"})) {
    return refusal;
  }
  for (const char* name : {"output_height", "output_width"}) {
    if (auto refusal = check_count(node, name, 1)) return refusal;
  }
  if (auto refusal = check_count(node, "sampling_ratio", 0)) return refusal;
  if (auto refusal = check_regions(o, 4)) return refusal;
  if (auto refusal = check_rank(o, 2, "batch_indices", 1)) return refusal;
  if (const auto regions = o.dim(1, 0)) {
    if (auto refusal = check_dim(o, 2, "batch_indices", 0, *regions)) return refusal;
  }
  const auto images = o.dim(0, 0);
  if (!images) return std::nullopt;
  return check_between(o, 2, "batch_indices", 0, static_cast<double>(*images - 1));
}

std::optional<Refusal> guard_max_roi_pool(const Operands& o) {
  if (auto refusal = check_list(o.node(), "pooled_shape", 2, 1)) return refusal;
  if (auto refusal = check_regions(o, 5)) return refusal;
  const auto rois = o.numbers(1);
  const auto images = o.dim(0, 0);
  for (size_t i = 0; rois && images && i < rois->size(); i += 5) {
    const double image = std::trunc((*rois)[i]);
    if (image >= 0 && image < static_cast<double>(*images)) continue;  // false for no number
    return refused_operand(o, 1, "rois", fmt::format("there is no image {}", (*rois)[i]));
  }
  return std::nullopt;
}

struct SamplingGuard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr SamplingGuard kSamplingGuards[] = {
    {"AffineGrid", guard_affine_grid},  {"Col2Im", guard_col2im},
    {"DeformConv", guard_deform_conv},  {"GridSample", guard_grid_sample},
    {"MaxRoiPool", guard_max_roi_pool}, {"RoiAlign", guard_roi_align},
};

}  // namespace

std::optional<Refusal> guard_sampling_operator(const Operands& operands) {
  if (!operands.node().domain.empty()) return std::nullopt;
  for (const SamplingGuard& guard : kSamplingGuards) {
    if (guard.op == operands.node().op) return guard.check(operands);
  }
  return std::nullopt;
}

}  // namespace onward
