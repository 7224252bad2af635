#include "infer/signal_guards.h"

#include <fmt/format.h>

#include <limits>

#include "infer/operand_checks.h"

namespace onward {
namespace {

std::optional<Refusal> check_flag(const Node& node, std::string_view name) {
  const int64_t flag = node.int_or(name, 0);
  if (flag == 0 || flag == 1) return std::nullopt;
  return refused_attribute(fmt::format("attribute '{}' is {}, but must be 0 or 1", name, flag));
}

std::optional<Refusal> guard_cosine_window(const Operands& o) {
  if (auto refusal = check_flag(o.node(), "periodic")) return refusal;
  return check_scalar_size(o, 0, "size", 1);
}

std::optional<Refusal> guard_mel_weights(const Operands& o) {
  if (auto refusal = check_scalar_size(o, 0, "num_mel_bins", 1)) return refusal;
  if (auto refusal = check_scalar_size(o, 1, "dft_length", 1)) return refusal;
  if (auto refusal = check_scalar_size(o, 2, "sample_rate", 1)) return refusal;
  constexpr std::pair<size_t, const char*> kEdges[] = {{3, "lower_edge_hertz"},
                                                       {4, "upper_edge_hertz"}};
  for (const auto& [input, name] : kEdges) {
    if (auto refusal = check_rank(o, input, name, 0)) return refusal;
    constexpr double kHighest = std::numeric_limits<float>::max();
    if (auto refusal = check_between(o, input, name, 0, kHighest)) return refusal;
  }
  return std::nullopt;
}

/// Real numbers have one part, complex ones two.
std::optional<Refusal> check_parts(const Operands& o, std::string_view name) {
  const auto rank = o.rank(0);
  const auto parts = rank && *rank > 0 ? o.dim(0, static_cast<size_t>(*rank - 1)) : std::nullopt;
  if (!parts || *parts == 1 || *parts == 2) return std::nullopt;
  return refused_operand(o, 0, name, fmt::format("its numbers have {} parts, not 1 or 2", *parts));
}

/// The axis of a DFT, counted from the front; nothing where it is not known.
std::optional<int64_t> transformed_axis(const Operands& o, int64_t rank) {
  double axis = -2;
  if (o.node().opset < 20) {
    axis = static_cast<double>(o.node().int_or("axis", 1));
  } else if (o.has(2)) {
    const auto given = o.numbers(2);
    if (!given || given->size() != 1) return std::nullopt;
    axis = given->front();
  }
  return static_cast<int64_t>(axis < 0 ? axis + static_cast<double>(rank) : axis);
}

std::optional<Refusal> guard_dft(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_flag(node, "inverse")) return refusal;
  if (auto refusal = check_flag(node, "onesided")) return refusal;
  if (auto refusal = check_parts(o, "input")) return refusal;
  if (auto refusal = check_scalar_size(o, 1, "dft_length", 1)) return refusal;
  if (node.opset >= 20) {
    if (auto refusal = check_rank(o, 2, "axis", 0)) return refusal;
  }
  const auto rank = o.rank(0);
  if (!rank) return std::nullopt;
  if (*rank < 2) {
    return refused_operand(o, 0, "input", fmt::format("it has rank {}, not 2 or more", *rank));
  }
  const bool onesided = node.int_or("onesided", 0) == 1, inverse = node.int_or("inverse", 0) == 1;
  const auto parts = o.dim(0, static_cast<size_t>(*rank - 1));
  if (onesided && parts && *parts != (inverse ? 2 : 1)) {
    return refused_operand(
        o, 0, "input",
        fmt::format("a one-sided transform takes {} numbers alone", inverse ? "complex" : "real"));
  }
  const auto axis = transformed_axis(o, *rank);
  if (!axis) return std::nullopt;
  if (*axis < 0 || *axis >= *rank - 1) {
    const int64_t given = node.opset < 20 ? node.int_or("axis", 1) : 0;
    const auto number = o.has(2) ? o.numbers(2)->front() : static_cast<double>(given);
    return refused_attribute(
        fmt::format("axis {} is out of range for rank {} with parts of numbers", number, *rank));
  }
  const auto size = o.dim(0, static_cast<size_t>(*axis));
  const int64_t smallest = onesided && inverse ? 2 : 1;
  if (o.has(1) || !size || *size >= smallest) return std::nullopt;
  return refused_operand(o, 0, "input",
                         fmt::format("it has {} numbers along axis {}: there is nothing to "
                                     "transform",
                                     *size, *axis));
}

/// The standard counts frames in float32.
bool counts_frames_exactly(int64_t room, int64_t step) {
  return static_cast<int64_t>(static_cast<float>(room) / static_cast<float>(step)) == room / step;
}

std::optional<Refusal> guard_stft(const Operands& o) {
  const Node& node = o.node();
  if (auto refusal = check_flag(node, "onesided")) return refusal;
  const auto rank = o.rank(0);
  if (rank && *rank != 2 && *rank != 3) {  // real numbers may be without their one part
    return refused_operand(o, 0, "signal", fmt::format("it has rank {}, not 3", *rank));
  }
  if (rank != 2) {
    if (auto refusal = check_parts(o, "signal")) return refusal;
  }
  if (auto refusal = check_scalar_size(o, 1, "frame_step", 1)) return refusal;
  if (auto refusal = check_rank(o, 2, "window", 1)) return refusal;
  if (auto refusal = check_scalar_size(o, 3, "frame_length", 1)) return refusal;
  if (!o.has(2) && !o.has(3)) return Refusal{"arity", "", "it has neither a window nor a length"};
  if (node.int_or("onesided", 1) == 1 && rank == 3 && o.dim(0, 2) == 2) {
    return refused_operand(o, 0, "signal", "a one-sided transform takes real numbers alone");
  }
  const auto window = o.has(2) ? o.dim(2, 0) : std::nullopt;
  const auto numbers = o.has(3) ? o.numbers(3) : std::nullopt;
  const auto given = numbers && numbers->size() == 1
                         ? std::optional(static_cast<int64_t>(numbers->front()))
                         : std::nullopt;
  if (window && given && *window != *given) {
    return refused_operand(o, 2, "window",
                           fmt::format("it has {} elements for frames of {}", *window, *given));
  }
  if (window && *window < 1) return refused_operand(o, 2, "window", "it is empty");
  const auto length = given ? given : window, signal = o.dim(0, 1);
  if (!length || !signal) return std::nullopt;
  if (*length > *signal) {
    return refused_operand(
        o, 0, "signal",
        fmt::format("there are no frames of {} in a signal of {}", *length, *signal));
  }
  const auto step = o.numbers(1);
  if (!step || step->size() != 1 ||
      counts_frames_exactly(*signal - *length, static_cast<int64_t>(step->front()))) {
    return std::nullopt;
  }
  return refused_operand(o, 0, "signal", fmt::format("{} is too long to count frames", *signal));
}

struct SignalGuard {
  std::string_view op;
  std::optional<Refusal> (*check)(const Operands&);
};

constexpr SignalGuard kSignalGuards[] = {
    {"BlackmanWindow", guard_cosine_window}, {"DFT", guard_dft},
    {"HammingWindow", guard_cosine_window},  {"HannWindow", guard_cosine_window},
    {"MelWeightMatrix", guard_mel_weights},  {"STFT", guard_stft},
};

}  // namespace

std::optional<Refusal> guard_signal_operator(const Operands& operands) {
  if (!operands.node().domain.empty()) return std::nullopt;
  for (const SignalGuard& guard : kSignalGuards) {
    if (guard.op == operands.node().op) return guard.check(operands);
  }
  return std::nullopt;
}

}  // namespace onward
