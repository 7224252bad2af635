#include "ir/operator_guards.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <limits>

#include "ir/rewrite.h"

namespace onward {
namespace {

constexpr int64_t kLargestSize = std::numeric_limits<int32_t>::max();
constexpr int64_t kLongestShape = 64;

std::optional<Refusal> bad_attribute(std::string message) {
  return Refusal{"attribute", "", std::move(message)};
}

std::optional<Refusal> bad_value(const Value* value, std::string message) {
  return Refusal{"shape", value ? value->name() : "", std::move(message)};
}

/// The numbers of an input, where they are known.
std::optional<std::vector<double>> numbers(const Value* value, const KnownData& known) {
  if (!value) return std::nullopt;
  std::vector<double> numbers;
  if (const Tensor* tensor = known.constant(*value)) {
    const bool real = is_float(tensor->dtype()) || is_integer(tensor->dtype());
    for (int64_t i = 0; real && i < tensor->size(); ++i) numbers.push_back(tensor->number(i));
    return numbers;
  }
  const auto partial = known.find(*value);
  if (!partial || !partial->all_known()) return std::nullopt;
  for (const Dim& element : partial->elements) {
    numbers.push_back(static_cast<double>(*element.value));
  }
  return numbers;
}

/// Says which number of a known input is not within bounds.
std::optional<Refusal> check_numbers(const Node& node, size_t input, std::string_view name,
                                     double lowest, const KnownData& known) {
  const Value* value = node.input(input);
  const auto list = numbers(value, known);
  if (!list) return std::nullopt;
  for (const double number : *list) {
    // The comparison is also false for what is no number.
    if (number >= lowest && number <= static_cast<double>(kLargestSize)) continue;
    return bad_value(value, fmt::format("{} holds {}, which is out of range", name, number));
  }
  return std::nullopt;
}

std::optional<Refusal> check_axis(int64_t axis, int64_t dims) {
  if (axis >= -dims && axis < dims) return std::nullopt;
  return bad_attribute(fmt::format("axis {} is out of range for rank {}", axis, dims));
}

std::optional<Refusal> check_scale(const Value* value, double scale) {
  if (scale > 0 && scale <= static_cast<double>(kLargestSize)) return std::nullopt;
  return bad_value(value, fmt::format("a scale is {}, but must be positive and finite", scale));
}

std::optional<Refusal> guard_scales(const Node& node, const KnownData& known) {
  if (const auto* scales = node.get<std::vector<float>>("scales")) {
    for (const float scale : *scales) {
      if (auto refusal = check_scale(nullptr, scale)) return refusal;
    }
    return std::nullopt;
  }
  const bool has_region = node.op == "Resize" && node.opset >= 11;
  const Value* value = node.input(has_region ? 2 : 1);
  const auto list = numbers(value, known);
  if (!list) return std::nullopt;
  for (const double scale : *list) {
    if (auto refusal = check_scale(value, scale)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> guard_depth(const Node& node, const KnownData& known) {
  return check_numbers(node, 1, "depth", 0, known);
}

std::optional<Refusal> guard_frame_step(const Node& node, const KnownData& known) {
  return check_numbers(node, 1, "frame_step", 1, known);
}

std::optional<Refusal> guard_split(const Node& node, const KnownData& known) {
  if (const auto* sizes = node.get<std::vector<int64_t>>("split")) {
    for (const int64_t size : *sizes) {
      if (size < 0 || size > kLargestSize) {
        return bad_attribute(
            fmt::format("attribute 'split' holds {}, which is out of range", size));
      }
    }
  }
  if (auto refusal = check_numbers(node, 1, "split", 0, known)) return refusal;
  const auto* count = node.get<int64_t>("num_outputs");
  if (node.op != "Split" || !count) return std::nullopt;
  if (*count != static_cast<int64_t>(node.outputs().size())) {
    return bad_attribute(fmt::format("attribute 'num_outputs' is {}, but the node has {} outputs",
                                     *count, node.outputs().size()));
  }
  return std::nullopt;
}

std::optional<Refusal> guard_indexes(const Node& node, const KnownData&) {
  const auto* indexes = node.get<std::vector<int64_t>>("ngram_indexes");
  for (const int64_t index : indexes ? *indexes : std::vector<int64_t>()) {
    if (index < 0 || index >= kLargestSize) {
      return bad_attribute(
          fmt::format("attribute 'ngram_indexes' holds {}, which is out of range", index));
    }
  }
  return std::nullopt;
}

std::optional<Refusal> guard_batch_dims(const Node& node, const KnownData&) {
  const int64_t batch = node.int_or("batch_dims", 0);
  if (batch >= 0) return std::nullopt;
  return bad_attribute(fmt::format("attribute 'batch_dims' is {}, but can't be negative", batch));
}

std::optional<Refusal> guard_axis(const Node& node, const KnownData&) {
  const auto* axis = node.get<int64_t>("axis");
  const auto dims = rank(node.input(0));
  return axis && dims ? check_axis(*axis, *dims) : std::nullopt;
}

std::optional<Refusal> guard_axes(const Node& node, const KnownData&) {
  const auto* axes = node.get<std::vector<int64_t>>("axes");
  const auto dims = rank(node.input(0));
  if (!axes || !dims) return std::nullopt;
  for (const int64_t axis : *axes) {
    if (auto refusal = check_axis(axis, *dims)) return refusal;
  }
  return std::nullopt;
}

template <size_t input>
std::optional<Refusal> guard_shape_input(const Node& node, const KnownData&) {
  const Value* value = node.input(input);
  if (rank(value) != 1) return std::nullopt;
  const auto length = value->type.shape->front().value;
  if (!length || *length <= kLongestShape) return std::nullopt;
  return bad_value(value,
                   fmt::format("a shape of {} dimensions is more than can be checked", *length));
}

/// Letters, one ellipsis an operand, one arrow: "...ij,...jk->...ik".
bool is_equation(std::string text) {
  std::erase(text, ' ');
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) text.replace(arrow, 2, ",");
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      ellipsis = false;
    } else if (text.compare(i, 3, "...") == 0 && !ellipsis) {
      ellipsis = true;
      i += 2;
    } else if (!std::isalpha(static_cast<unsigned char>(text[i]))) {
      return false;
    }
  }
  return true;
}

std::optional<Refusal> guard_equation(const Node& node, const KnownData&) {
  const std::string equation = node.string_or("equation", "");
  if (is_equation(equation)) return std::nullopt;
  return bad_attribute(fmt::format("'{}' is no equation such as 'ij,jk->ik'", equation));
}

struct Guard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Node&, const KnownData&);
};

constexpr Guard kGuards[] = {
    {"ConstantOfShape", guard_shape_input<0>},  // makes a message of each dimension
    {"Einsum", guard_equation},                 // hangs on any other sign
    {"Expand", guard_shape_input<1>},           // makes a message of each dimension
    {"GatherND", guard_batch_dims},             // reads dimensions before the first
    {"LayerNormalization", guard_axis},         // reads dimensions after the last
    {"MeanVarianceNormalization", guard_axes},  // has no rule of its own
    {"OneHot", guard_depth},                    // casts any float to an integer
    {"Reshape", guard_shape_input<1>},          // makes a message of each dimension
    {"Resize", guard_scales},                   // casts any float to an integer
    {"STFT", guard_frame_step},                 // divides by it
    {"Split", guard_split},                     // reads sizes after the last, adds them up
    {"SplitToSequence", guard_split},           // adds them up
    {"TfIdfVectorizer", guard_indexes},         // adds 1
    {"Upsample", guard_scales},                 // casts any float to an integer
};

}  // namespace

std::optional<Refusal> guard_operator(const Node& node, const KnownData& known) {
  for (const Guard& guard : kGuards) {
    if (guard.op == node.op) return guard.check(node, known);
  }
  return std::nullopt;
}

}  // namespace onward
