#include "infer/operator_guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "infer/einsum_equation.h"
#include "infer/image_guards.h"
#include "infer/old_form_guards.h"
#include "infer/operand_checks.h"
#include "infer/operand_shapes.h"
#include "infer/sampling_guards.h"
#include "infer/signal_guards.h"
#include "infer/text_guard.h"
#include "infer/window_guard.h"

namespace onward {
namespace {

constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();
constexpr int64_t kLongestShape = 64;

std::optional<Refusal> bad_value(const Value* value, std::string message) {
  return Refusal{"shape", value ? value->name() : "", std::move(message)};
}

/// Says which number of a known input is not within bounds.
std::optional<Refusal> check_numbers(const Operands& o, size_t input, std::string_view name,
                                     int64_t lowest) {
  const auto list = o.numbers(input);
  if (!list) return std::nullopt;
  for (const double number : *list) {
    // The comparison is also false for what is no number.
    if (number >= static_cast<double>(lowest) && number <= static_cast<double>(kLargestSize)) {
      continue;
    }
    return bad_value(o.node().input(input),
                     fmt::format("{} holds {}, which is out of range", name, number));
  }
  return std::nullopt;
}

std::optional<Refusal> check_axis(int64_t axis, int64_t dims) {
  if (axis >= -dims && axis < dims) return std::nullopt;
  return refused_axis(axis, dims);
}

std::optional<Refusal> check_scale(const Value* value, double scale) {
  if (scale > 0 && scale <= static_cast<double>(kLargestSize)) return std::nullopt;
  return bad_value(value, fmt::format("a scale is {}, but must be positive and finite", scale));
}

std::optional<Refusal> guard_scales(const Operands& o) {
  const Node& node = o.node();
  if (const auto* scales = node.get<std::vector<float>>("scales")) {
    for (const float scale : *scales) {
      if (auto refusal = check_scale(nullptr, scale)) return refusal;
    }
    return std::nullopt;
  }
  const bool has_region = node.op == "Resize" && node.opset >= 11;
  const size_t input = has_region ? 2 : 1;
  const auto list = o.numbers(input);
  if (!list) return std::nullopt;
  for (const double scale : *list) {
    if (auto refusal = check_scale(node.input(input), scale)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> guard_split(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_list(node, "split", std::nullopt, 0)) return refusal;
  if (auto refusal = check_numbers(o, 1, "split", 0)) return refusal;
  const auto* count = node.get<int64_t>("num_outputs");
  if (node.op != "Split" || !count) return std::nullopt;
  if (*count != static_cast<int64_t>(node.outputs().size())) {
    return refused_attribute(
        fmt::format("attribute 'num_outputs' is {}, but the node has {} outputs", *count,
                    node.outputs().size()));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_random_shape(const Operands& o) {
  return check_list(o.node(), "shape", std::nullopt, 0);
}

/// An attribute that names an element type, whichever operator has it.
struct ElementTypeAttribute {
  std::string_view name;
  bool may_be_none = false;  // 0 stands for one that is left out
  bool is_precision = false;
};
constexpr ElementTypeAttribute kElementTypes[] = {
    {"dtype"},
    {"output_datatype"},
    {"output_dtype", true},
    {"precision", true, true},
    {"softmax_precision", false, true},
    {"stash_type", false, true},
    {"to"},
};

bool is_computed_with(DType dtype) { return is_float(dtype) && bits(dtype) >= 16; }

std::optional<Refusal> guard_element_types(const Node& node) {
  for (const ElementTypeAttribute& attribute : kElementTypes) {
    const auto* number = node.get<int64_t>(attribute.name);
    if (!number || (*number == 0 && attribute.may_be_none)) continue;
    const auto dtype = dtype_from_onnx(*number);
    if (!dtype || *dtype == DType::undefined) {
      return refused_attribute(fmt::format("attribute '{}' is {}, which is not an element type",
                                           attribute.name, *number));
    }
    if (attribute.is_precision && !is_computed_with(*dtype)) {
      return refused_attribute(fmt::format(
          "attribute '{}' is {}, but must be f16, bf16, f32 or f64", attribute.name, name(*dtype)));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_batch_dims(const Operands& o) {
  const int64_t batch = o.node().int_or("batch_dims", 0);
  if (batch >= 0) return std::nullopt;
  return refused_attribute(
      fmt::format("attribute 'batch_dims' is {}, but can't be negative", batch));
}

std::optional<Refusal> guard_axis(const Operands& o) {
  const auto* axis = o.node().get<int64_t>("axis");
  const auto dims = o.rank(0);
  return axis && dims ? check_axis(*axis, *dims) : std::nullopt;
}

/// Of no elements there is no largest or smallest one to point at.
std::optional<Refusal> guard_found_index(const Operands& o) {
  if (auto refusal = guard_axis(o)) return refusal;
  const auto shape = o.shape(0);
  if (!shape || shape->empty()) return std::nullopt;
  const int64_t axis = o.node().int_or("axis", 0);
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape->size()) : axis);
  if ((*shape)[at].value != 0) return std::nullopt;
  for (size_t d = 0; d < shape->size(); ++d) {
    const auto& size = (*shape)[d].value;
    if (d != at && (!size || *size == 0)) return std::nullopt;  // perhaps nothing is asked for
  }
  return bad_value(o.node().input(0), fmt::format("dimension {} is empty: there is no element to "
                                                  "find along it",
                                                  at));
}

/// Without the attribute, batch and two spatial dimensions are normalized over.
std::optional<Refusal> guard_normalized_axes(const Operands& o) {
  const auto* given = o.node().get<std::vector<int64_t>>("axes");
  const auto dims = o.rank(0);
  if (!dims) return std::nullopt;
  for (const int64_t axis : given ? *given : std::vector<int64_t>{0, 2, 3}) {
    if (auto refusal = check_axis(axis, *dims)) return refusal;
  }
  return std::nullopt;
}

/// An input that is a shape, whose dimensions are at least `lowest`.
template <size_t input, int64_t lowest>
std::optional<Refusal> guard_shape_input(const Operands& o) {
  const Value* value = o.node().input(input);
  if (o.rank(input) != 1) return std::nullopt;
  const auto length = o.dim(input, 0);
  if (length && *length > kLongestShape) {
    return bad_value(value,
                     fmt::format("a shape of {} dimensions is more than is supported", *length));
  }
  return check_numbers(o, input, "shape", lowest);
}

std::optional<Refusal> guard_depth(const Operands& o) { return check_numbers(o, 1, "depth", 1); }

std::optional<Refusal> guard_frame_step(const Operands& o) {
  return check_numbers(o, 1, "frame_step", 1);
}

std::optional<Refusal> guard_pads(const Operands& o) {
  return check_numbers(o, 1, "pads", -kLargestSize);
}

std::optional<Refusal> guard_repeats(const Operands& o) {
  return check_numbers(o, 1, "repeats", 0);
}

std::optional<Refusal> guard_permutation(const Operands& o) {
  const auto* given = o.node().get<std::vector<int64_t>>("perm");
  const auto dims = o.rank(0);
  if (!given || !dims) return std::nullopt;
  std::vector<int64_t> every(static_cast<size_t>(*dims));
  std::iota(every.begin(), every.end(), 0);
  if (std::ranges::is_permutation(*given, every)) return std::nullopt;
  return refused_attribute(fmt::format("perm {} is not a permutation of {} dimensions",
                                       to_string(std::span<const int64_t>(*given)), *dims));
}

/// How many inputs are sequences, and the directions that they are read in.
std::optional<Refusal> guard_scan(const Operands& o) {
  const auto inputs = static_cast<int64_t>(o.node().inputs().size());
  const auto* sequences = o.node().get<int64_t>("num_scan_inputs");
  if (sequences && (*sequences < 1 || *sequences > inputs)) {
    return refused_attribute(fmt::format(
        "attribute 'num_scan_inputs' is {}, but the node has {} inputs", *sequences, inputs));
  }
  for (const char* name : {"scan_input_directions", "scan_output_directions", "directions"}) {
    const auto* list = o.node().get<std::vector<int64_t>>(name);
    if (!list) continue;
    const auto other = std::ranges::find_if(*list, [](int64_t d) { return d != 0 && d != 1; });
    if (other == list->end()) continue;
    return refused_attribute(
        fmt::format("attribute '{}' holds {}, but a direction is 0 or 1", name, *other));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_alpha(const Operands& o) {
  if (o.node().float_or("alpha", 1) != 0) return std::nullopt;
  return refused_attribute("attribute 'alpha' is 0, but is divided by");
}

std::optional<Refusal> guard_round_mode(const Operands& o) {
  return check_word(o.node(), "round_mode", {"up", "down", "nearest"});
}

std::optional<Refusal> guard_direction(const Operands& o) {
  return check_word(o.node(), "direction", {"LEFT", "RIGHT"});
}

std::optional<Refusal> guard_groups(const Operands& o) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  if (auto refusal = check_count(o.node(), "num_groups", 1, kAny)) return refusal;
  const int64_t groups = o.node().int_or("num_groups", 1);
  const auto channels = o.dim(0, 1);
  if (!channels || *channels % groups == 0) return std::nullopt;
  return refused_attribute(
      fmt::format("{} channels cannot be split into {} groups", *channels, groups));
}

std::optional<Refusal> guard_neighbours(const Operands& o) {
  if (auto refusal = check_count(o.node(), "size", 1)) return refusal;
  for (int64_t d = 1; d < o.rank(0).value_or(0); ++d) {
    if (o.dim(0, static_cast<size_t>(d)) != 0) continue;
    return bad_value(o.node().input(0),
                     fmt::format("dimension {} is empty: there are no channels to average", d));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_norm(const Operands& o) {
  const int64_t p = o.node().int_or("p", 2);
  if (p != 1 && p != 2) return refused_attribute(fmt::format("attribute 'p' is {}, not 1 or 2", p));
  return guard_axis(o);
}

/// Images have a batch and channels.
std::optional<Refusal> guard_images(const Operands& o) {
  const auto rank = o.rank(0);
  if (!rank || *rank >= 2) return std::nullopt;
  return bad_value(o.node().input(0),
                   fmt::format("input 0 has rank {}, but images at least 2", *rank));
}

struct Guard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr Guard kGuards[] = {
    {"ArgMax", guard_found_index},                         // does not look at the axis of a scalar
    {"ArgMin", guard_found_index},                         // does not look at the axis of a scalar
    {"BitCast", guard_bit_cast},                           // takes any type
    {"BitShift", guard_direction},                         // takes any word
    {"Cast", guard_round_mode},                            // takes any word
    {"CastLike", guard_round_mode},                        // takes any word
    {"Celu", guard_alpha},                                 // divides by it
    {"ConstantOfShape", guard_shape_input<0, 0>},          // makes a message of each dimension
    {"Einsum", guard_einsum},                              // hangs on any other sign
    {"Expand", guard_shape_input<1, 0>},                   // makes a message of each dimension
    {"GatherElements", guard_axis},                        // does not look at it
    {"GatherND", guard_batch_dims},                        // reads dimensions before the first
    {"GroupNormalization", guard_groups},                  // does not divide by it
    {"GroupNormalization", guard_images},                  // has no rule of its own
    {"Hardmax", guard_axis},                               // does not look at it of a scalar
    {"InstanceNormalization", guard_images},               // has no rule of its own
    {"LRN", guard_images},                                 // has no rule of its own
    {"LRN", guard_neighbours},                             // does not look at it
    {"LayerNormalization", guard_axis},                    // reads dimensions after the last
    {"LpNormalization", guard_norm},                       // does not look at them
    {"MeanVarianceNormalization", guard_normalized_axes},  // has no rule of its own
    {"Multinomial", guard_multinomial},                    // reads the dimensions of any rank
    {"OneHot", guard_depth},                               // casts any float to an integer
    {"Pad", guard_pads},                                   // adds them up
    {"RMSNormalization", guard_axis},                      // reads dimensions after the last
    {"RandomNormal", guard_random_shape},                  // takes any number for a dimension
    {"RandomUniform", guard_random_shape},                 // takes any number for a dimension
    {"RegexFullMatch", guard_pattern},                     // takes any text
    {"Reshape", guard_shape_input<1, -1>},                 // makes a message of each dimension
    {"Resize", guard_scales},                              // casts any float to an integer
    {"STFT", guard_frame_step},                            // divides by it
    {"Scan", guard_scan},                                  // subtracts it, and takes any direction
    {"Scatter", guard_axis},                               // does not look at it
    {"ScatterElements", guard_axis},                       // does not look at it
    {"Split", guard_split},                         // reads sizes after the last, adds them up
    {"SplitToSequence", guard_split},               // adds them up
    {"StringNormalizer", guard_string_normalizer},  // takes any word
    {"TfIdfVectorizer", guard_ngrams},              // adds 1 to indexes
    {"Tile", guard_repeats},                        // multiplies by any number
    {"Transpose", guard_permutation},               // takes a part of one
    {"Upsample", guard_scales},                     // casts any float to an integer
};

}  // namespace

std::optional<Refusal> guard_operator(const Operands& operands) {
  const Node& node = operands.node();
  for (const Guard& guard : kGuards) {
    if (guard.op != node.op || !node.domain.empty()) continue;
    if (auto refusal = guard.check(operands)) return refusal;
  }
  if (node.domain.empty()) {
    if (auto refusal = guard_element_types(node)) return refusal;
  }
  if (auto refusal = guard_old_form(operands)) return refusal;
  if (auto refusal = guard_window(operands)) return refusal;
  if (auto refusal = guard_image_operator(operands)) return refusal;
  if (auto refusal = guard_signal_operator(operands)) return refusal;
  if (auto refusal = guard_sampling_operator(operands)) return refusal;
  return guard_operand_shapes(operands);
}

}  // namespace onward
