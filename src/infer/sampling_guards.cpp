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

/// Dimensions of two inputs that are the same.
std::optional<Refusal> check_same(const Operands& o, size_t input, std::string_view name,
                                  size_t dim, int64_t expected) {
  const auto size = o.dim(input, dim);
  if (!size || *size == expected) return std::nullopt;
  return refused_operand(o, input, name,
                         fmt::format("its dimension {} is {}, not {}", dim, *size, expected));
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
  if ((refusal = check_same(o, 1, "grid", last, *rank - 2))) return refusal;
  if (const auto batch = o.dim(0, 0)) {
    if ((refusal = check_same(o, 1, "grid", 0, *batch))) return refusal;
  }
  for (size_t d = 2; d <= last; ++d) {
    if (o.dim(0, d) == 0) {
      return refused_operand(o, 0, "X", "an image without elements can't be sampled");
    }
  }
  return std::nullopt;
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
    if (auto refusal = check_same(o, 0, "theta", 1, *length - 2)) return refusal;
    if (auto refusal = check_same(o, 0, "theta", 2, *length - 1)) return refusal;
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

/// An attribute with as many numbers as there are, of which none is below `lowest`.
std::optional<Refusal> check_numbers_attribute(const Node& node, std::string_view name,
                                               std::optional<int64_t> count, int64_t lowest) {
  const auto* list = node.get<std::vector<int64_t>>(name);
  if (!list) return std::nullopt;
  if (count && static_cast<int64_t>(list->size()) != *count) {
    return refused_attribute(fmt::format("attribute '{}' has {} entries, but {} are needed", name,
                                         list->size(), *count));
  }
  for (const int64_t number : *list) {
    if (number >= lowest && static_cast<double>(number) < kLargestImage) continue;
    return refused_attribute(
        fmt::format("attribute '{}' holds {}, which is out of range", name, number));
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
    if (auto refusal = check_same(o, 2, "block_shape", 0, *dims)) return refusal;
  } else {
    dims = o.dim(2, 0);
  }
  if (auto refusal = check_numbers_attribute(node, "dilations", dims, 1)) return refusal;
  if (auto refusal = check_numbers_attribute(node, "strides", dims, 1)) return refusal;
  const auto ends = dims ? std::optional(2 * *dims) : std::nullopt;
  if (auto refusal = check_numbers_attribute(node, "pads", ends, 0)) return refusal;
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

struct SamplingGuard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr SamplingGuard kSamplingGuards[] = {
    {"AffineGrid", guard_affine_grid},
    {"Col2Im", guard_col2im},
    {"GridSample", guard_grid_sample},
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
