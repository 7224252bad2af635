#include "infer/image_guards.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "infer/operand_checks.h"

namespace onward {
namespace {

std::optional<Refusal> check_axes_attribute(const Operands& o) {
  const auto* axes = o.node().get<std::vector<int64_t>>("axes");
  const auto rank = o.rank(0);
  if (!axes || !rank) return std::nullopt;
  std::set<int64_t> seen;
  for (const int64_t axis : *axes) {
    if (axis < -*rank || axis >= *rank) {
      return refused_axis(axis, *rank);
    }
    if (!seen.insert(axis < 0 ? axis + *rank : axis).second) {
      return refused_attribute(fmt::format("axis {} is given twice", axis));
    }
  }
  return std::nullopt;
}

/// A vector with `entries` numbers for each axis, or an empty one that stands for none.
std::optional<Refusal> check_each_axis(const Operands& o, size_t input, std::string_view name,
                                       int64_t entries) {
  if (!o.has(input)) return std::nullopt;
  const auto rank = o.rank(input);
  if (rank && *rank != 1) {
    return refused_operand(o, input, name, fmt::format("it has rank {}, not 1", *rank));
  }
  const auto* axes = o.node().get<std::vector<int64_t>>("axes");
  const auto count = axes ? std::optional(static_cast<int64_t>(axes->size())) : o.rank(0);
  const auto length = o.dim(input, 0);
  if (!count || !length || *length == 0 || *length == entries * *count) return std::nullopt;
  return refused_operand(o, input, name,
                         fmt::format("it has {} elements for {} axes", *length, *count));
}

std::optional<Refusal> check_resize_words(const Node& node) {
  if (auto refusal = check_word(node, "mode", {"nearest", "linear", "cubic"})) return refusal;
  if (auto refusal =
          check_word(node, "coordinate_transformation_mode",
                     {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                      "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"})) {
    return refusal;
  }
  if (auto refusal = check_word(node, "nearest_mode",
                                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return refusal;
  }
  if (auto refusal =
          check_word(node, "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"})) {
    return refusal;
  }
  if (node.string_or("mode", "nearest") != "nearest") return std::nullopt;
  for (const char* name : {"antialias", "exclude_outside"}) {
    if (node.int_or(name, 0) != 0) {
      return refused_attribute(
          fmt::format("attribute '{}' is set, but the mode is 'nearest'", name));
    }
  }
  return std::nullopt;
}

/// Whether an operand is given, and not as an empty tensor; nothing where that is not known.
std::optional<bool> is_given(const Operands& o, size_t input) {
  if (!o.has(input)) return false;
  const auto length = o.dim(input, 0);
  return length ? std::optional(*length > 0) : std::nullopt;
}

/// An empty dimension has no elements to make others of.
std::optional<Refusal> check_resized_from_nothing(const Operands& o) {
  const auto sizes = is_given(o, 3) == true ? o.numbers(3) : std::nullopt;
  const auto rank = o.rank(0);
  if (!sizes || !rank) return std::nullopt;
  const auto* axes = o.node().get<std::vector<int64_t>>("axes");
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    const auto size = o.dim(0, static_cast<size_t>(axis < 0 ? axis + *rank : axis));
    if (size != 0 || (*sizes)[i] <= 0) continue;
    return refused_operand(
        o, 3, "sizes",
        fmt::format("dimension {} is empty, and cannot be resized to {}", axis, (*sizes)[i]));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_resize(const Operands& o) {
  if (o.node().opset < 11) return std::nullopt;
  if (auto refusal = check_resize_words(o.node())) return refusal;
  if (auto refusal = check_axes_attribute(o)) return refusal;
  if (auto refusal = check_each_axis(o, 1, "roi", 2)) return refusal;
  if (auto refusal = check_each_axis(o, 2, "scales", 1)) return refusal;
  if (auto refusal = check_each_axis(o, 3, "sizes", 1)) return refusal;
  if (is_given(o, 2) == true && is_given(o, 3) == true) {
    return Refusal{"arity", "", "it has both scales and sizes"};
  }
  if (is_given(o, 2) == false && is_given(o, 3) == false && o.rank(0) != 0) {
    return Refusal{"arity", "", "it has neither scales nor sizes"};
  }
  if (auto refusal = check_resized_from_nothing(o)) return refusal;
  const bool crops =
      o.node().string_or("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  if (crops && is_given(o, 1) == false && o.rank(0) != 0) {
    return Refusal{"arity", "", "it has no region (roi) to crop"};
  }
  return std::nullopt;
}

std::optional<Refusal> check_axis_attribute(const Operands& o, std::string_view name) {
  const auto* axis = o.node().get<int64_t>(name);
  const auto rank = o.rank(0);
  if (!axis || !rank || (*axis >= -*rank && *axis < *rank)) return std::nullopt;
  return refused_axis(*axis, *rank);
}

std::optional<Refusal> guard_blocks(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_word(node, "mode", {"DCR", "CRD"})) return refusal;
  if (auto refusal = check_count(node, "blocksize", 1, kLargestCount)) return refusal;
  if (auto refusal = check_rank(o, 0, "input", 4)) return refusal;
  const int64_t size = node.int_or("blocksize", 1);
  if (node.op == "DepthToSpace") return check_divisible(o, 0, "input", 1, size * size);
  if (auto refusal = check_divisible(o, 0, "input", 2, size)) return refusal;
  return check_divisible(o, 0, "input", 3, size);
}

/// Tuples of indices that point into the data, behind the dimensions of a batch.
std::optional<Refusal> check_tuples(const Operands& o, int64_t batch) {
  const auto data = o.shape(0), own = o.shape(1);
  if (!data || !own) return std::nullopt;
  if (own->empty()) return refused_operand(o, 1, "indices", "it has rank 0");
  const auto rank = static_cast<int64_t>(data->size());
  if (batch >= rank || batch >= static_cast<int64_t>(own->size())) {
    return refused_attribute(fmt::format(
        "attribute 'batch_dims' is {}, but the ranks are {} and {}", batch, rank, own->size()));
  }
  for (size_t d = 0; d < static_cast<size_t>(batch); ++d) {
    const auto &mine = (*own)[d].value, &other = (*data)[d].value;
    if (!mine || !other || *mine == *other) continue;
    return refused_operand(
        o, 1, "indices",
        fmt::format("its dimension {} is {}, but that of the data {}", d, *mine, *other));
  }
  const auto length = own->back().value;
  if (!length) return std::nullopt;
  if (*length < 1 || *length > rank - batch) {
    return refused_operand(
        o, 1, "indices",
        fmt::format("it has tuples of {} indices for {} dimensions", *length, rank - batch));
  }
  const auto numbers = o.numbers(1);
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    const auto d = static_cast<size_t>(batch + static_cast<int64_t>(i) % *length);
    const auto& size = (*data)[d].value;
    if (!size) continue;
    const double index = (*numbers)[i], limit = static_cast<double>(*size);
    if (index >= -limit && index < limit) continue;
    return refused_operand(
        o, 1, "indices",
        fmt::format("index {} is out of range for a dimension of {}", index, *size));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_gather_nd(const Operands& o) {
  return check_tuples(o, o.node().int_or("batch_dims", 0));
}

std::optional<Refusal> check_reduction(const Operands& o) {
  return check_word(o.node(), "reduction", {"none", "add", "mul", "max", "min"});
}

/// Updates are a slice of the data for each tuple of indices.
std::optional<Refusal> guard_scatter_nd(const Operands& o) {
  if (auto refusal = check_reduction(o)) return refusal;
  if (auto refusal = check_tuples(o, 0)) return refusal;
  const auto data = o.shape(0), indices = o.shape(1), updates = o.shape(2);
  if (!data || !indices || !updates || !indices->back().value) return std::nullopt;
  Shape expected(indices->begin(), indices->end() - 1);
  expected.insert(expected.end(), data->begin() + *indices->back().value, data->end());
  if (!conflict(Type::tensor(DType::f32, expected), Type::tensor(DType::f32, *updates))) {
    return std::nullopt;
  }
  return refused_operand(
      o, 2, "updates",
      fmt::format("its shape {} is not {}", to_string(*updates), to_string(expected)));
}

std::optional<Refusal> guard_top_k(const Operands& o) {
  if (auto refusal = check_axis_attribute(o, "axis")) return refusal;
  if (!o.has(1)) return std::nullopt;  // an old form
  if (auto refusal = check_rank(o, 1, "K", 1)) return refusal;
  if (const auto count = o.dim(1, 0); count && *count != 1) {
    return refused_operand(o, 1, "K", fmt::format("it has {} elements, not one", *count));
  }
  const auto k = o.numbers(1);
  const auto rank = o.rank(0);
  if (!k || k->size() != 1 || !rank || *rank == 0) return std::nullopt;
  const int64_t axis = o.node().int_or("axis", -1);
  const auto size = o.dim(0, static_cast<size_t>(axis < 0 ? axis + *rank : axis));
  if (k->front() >= 0 && (!size || k->front() <= static_cast<double>(*size))) return std::nullopt;
  return refused_operand(o, 1, "K",
                         size ? fmt::format("{} of {} elements", k->front(), *size)
                              : fmt::format("{} elements", k->front()));
}

std::optional<Refusal> guard_global_max_pool(const Operands& o) {
  for (int64_t d = 2; d < o.rank(0).value_or(0); ++d) {
    if (o.dim(0, static_cast<size_t>(d)) == 0) {
      return refused_operand(o, 0, "X", "an image without elements has no largest one");
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_reverse_sequence(const Operands& o) {
  const int64_t batch = o.node().int_or("batch_axis", 1), time = o.node().int_or("time_axis", 0);
  if (batch + time != 1 || batch * time != 0) {
    return refused_attribute(fmt::format(
        "batch_axis is {} and time_axis {}, but one is 0 and the other 1", batch, time));
  }
  if (const auto rank = o.rank(0); rank && *rank < 2) {
    return refused_operand(o, 0, "input", fmt::format("it has rank {}, not 2 or more", *rank));
  }
  if (auto refusal = check_rank(o, 1, "sequence_lens", 1)) return refusal;
  const auto sequences = o.dim(0, static_cast<size_t>(batch)), lengths = o.dim(1, 0);
  if (sequences && lengths && *sequences != *lengths) {
    return refused_operand(
        o, 1, "sequence_lens",
        fmt::format("it has {} elements for {} sequences", *lengths, *sequences));
  }
  const auto numbers = o.numbers(1);
  const auto steps = o.dim(0, static_cast<size_t>(time));
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    const double length = (*numbers)[i];
    if (length >= 0 && (!steps || length <= static_cast<double>(*steps))) continue;
    return refused_operand(o, 1, "sequence_lens", fmt::format("a length is {}", length));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_compress(const Operands& o) {
  if (auto refusal = check_axis_attribute(o, "axis")) return refusal;
  if (auto refusal = check_rank(o, 1, "condition", 1)) return refusal;
  const auto shape = o.shape(0);
  const auto* axis = o.node().get<int64_t>("axis");
  const auto length = o.dim(1, 0);
  if (!shape || !length) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  const auto size = axis ? (*shape)[static_cast<size_t>(*axis < 0 ? *axis + rank : *axis)].value
                         : element_count(*shape);
  if (!size || *length <= *size) return std::nullopt;
  return refused_operand(o, 1, "condition",
                         fmt::format("it has {} elements for {}", *length, *size));
}

std::optional<Refusal> guard_unique(const Operands& o) { return check_axis_attribute(o, "axis"); }

std::optional<Refusal> guard_boxes(const Operands& o) {
  if (auto refusal = check_rank(o, 0, "boxes", 3)) return refusal;
  if (auto refusal = check_rank(o, 1, "scores", 3)) return refusal;
  if (const auto numbers = o.dim(0, 2); numbers && *numbers != 4) {
    return refused_operand(o, 0, "boxes", fmt::format("it has boxes of {} numbers", *numbers));
  }
  constexpr std::pair<size_t, size_t> kSame[] = {{0, 0}, {1, 2}};
  for (const auto& [of_boxes, of_scores] : kSame) {
    const auto boxes = o.dim(0, of_boxes), scores = o.dim(1, of_scores);
    if (!boxes || !scores || *boxes == *scores) continue;
    return refused_operand(o, 1, "scores",
                           fmt::format("its dimension {} is {}, but that of the boxes {}",
                                       of_scores, *scores, *boxes));
  }
  for (size_t i = 2; i < 5; ++i) {
    const auto shape = o.has(i) ? o.shape(i) : std::nullopt;
    const auto count = shape ? element_count(*shape) : std::nullopt;
    if (count && *count > 1) {
      return refused_operand(o, i, "limit", fmt::format("it has {} elements, not one", *count));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_center_crop_pad(const Operands& o) {
  if (auto refusal = check_axes_attribute(o)) return refusal;
  if (auto refusal = check_rank(o, 1, "shape", 1)) return refusal;
  const auto* axes = o.node().get<std::vector<int64_t>>("axes");
  const auto count = axes ? std::optional(static_cast<int64_t>(axes->size())) : o.rank(0);
  const auto length = o.dim(1, 0);
  if (count && length && *count != *length) {
    return refused_operand(o, 1, "shape",
                           fmt::format("it has {} elements for {} axes", *length, *count));
  }
  const auto numbers = o.numbers(1);
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    if ((*numbers)[i] >= 0 && (*numbers)[i] <= std::numeric_limits<int32_t>::max()) continue;
    return refused_operand(o, 1, "shape",
                           fmt::format("it holds {}, which is out of range", (*numbers)[i]));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_max_unpool(const Operands& o) {
  const auto x = o.shape(0), indices = o.shape(1);
  if (x && indices && conflict(Type::tensor(DType::f32, *x), Type::tensor(DType::f32, *indices))) {
    return refused_operand(o, 1, "I",
                           fmt::format("its shape {} is not that of the data, {}",
                                       to_string(*indices), to_string(*x)));
  }
  const auto length = o.has(2) ? o.dim(2, 0) : std::nullopt;
  if (length && x && *length != static_cast<int64_t>(x->size())) {
    return refused_operand(o, 2, "output_shape",
                           fmt::format("it has {} elements for rank {}", *length, x->size()));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_power(const Operands& o) {
  return check_count(o.node(), "p", 1, kLargestCount);
}

/// The bytes of a file, of which each kernel reads as many as there are.
std::optional<Refusal> guard_image_decoder(const Operands& o) {
  if (auto refusal = check_word(o.node(), "pixel_format", {"RGB", "BGR", "Grayscale"})) {
    return refusal;
  }
  return check_rank(o, 0, "encoded_stream", 1);
}

struct ImageGuard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr ImageGuard kImageGuards[] = {
    {"CenterCropPad", guard_center_crop_pad},
    {"Compress", guard_compress},
    {"DepthToSpace", guard_blocks},
    {"GatherND", guard_gather_nd},
    {"GlobalLpPool", guard_power},
    {"GlobalMaxPool", guard_global_max_pool},
    {"ImageDecoder", guard_image_decoder},
    {"LpPool", guard_power},
    {"MaxUnpool", guard_max_unpool},
    {"NonMaxSuppression", guard_boxes},
    {"Resize", guard_resize},
    {"ReverseSequence", guard_reverse_sequence},
    {"ScatterElements", check_reduction},
    {"ScatterND", guard_scatter_nd},
    {"SpaceToDepth", guard_blocks},
    {"TopK", guard_top_k},
    {"Unique", guard_unique},
};

}  // namespace

std::optional<Refusal> guard_image_operator(const Operands& operands) {
  if (!operands.node().domain.empty()) return std::nullopt;
  for (const ImageGuard& guard : kImageGuards) {
    if (guard.op == operands.node().op) return guard.check(operands);
  }
  return std::nullopt;
}

}  // namespace onward
