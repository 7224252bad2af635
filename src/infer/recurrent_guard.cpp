#include "infer/recurrent_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace onward {
namespace {

constexpr int64_t kMaxHiddenSize = std::numeric_limits<int32_t>::max();

struct Gates {
  std::string_view op;
  int64_t count;
};
constexpr Gates kGates[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};

using Size = std::optional<int64_t>;

Size times(int64_t factor, Size size) {
  return size ? std::optional(factor * *size) : std::nullopt;
}

std::optional<Refusal> refused(const Operands& o, size_t input, const std::string& complaint) {
  return Refusal{"shape", o.node().input(input)->name(),
                 fmt::format("input {}: {}", input, complaint)};
}

std::optional<Refusal> check_shape(const Operands& o, size_t input,
                                   const std::vector<Size>& wanted) {
  const auto shape = o.shape(input);
  if (!o.has(input) || !shape) return std::nullopt;
  if (shape->size() != wanted.size()) {
    return refused(o, input, fmt::format("it has rank {}, not {}", shape->size(), wanted.size()));
  }
  for (size_t d = 0; d < wanted.size(); ++d) {
    const Size given = (*shape)[d].value;
    if (given && wanted[d] && *given != *wanted[d]) {
      return refused(o, input, fmt::format("dimension {} is {}, not {}", d, *given, *wanted[d]));
    }
  }
  return std::nullopt;
}

/// Sequences are no longer than the time that there is.
std::optional<Refusal> check_lengths(const Operands& o, size_t input, Size time) {
  const auto lengths = o.numbers(input);
  if (!lengths || !time) return std::nullopt;
  for (const double length : *lengths) {
    if (length >= 0 && length <= static_cast<double>(*time)) continue;
    return refused(o, input, fmt::format("a sequence of {} elements, of {}", length, *time));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> guard_recurrent(const Operands& o) {
  const Node& node = o.node();
  const auto* gates = std::ranges::find(kGates, std::string_view(node.op), &Gates::op);
  if (gates == std::end(kGates) || !node.domain.empty()) return std::nullopt;
  const auto* given = node.get<int64_t>("hidden_size");
  if (given && (*given < 0 || *given > kMaxHiddenSize)) {
    return Refusal{"attribute", "", fmt::format("hidden_size {} is out of range", *given)};
  }
  const Size hidden = given ? Size(*given) : o.dim(2, 2);
  const Size directions = node.string_or("direction", "forward") == "bidirectional" ? 2 : 1;
  const bool batch_first = node.int_or("layout", 0) != 0;
  const Size batch = o.dim(0, batch_first ? 0 : 1), time = o.dim(0, batch_first ? 1 : 0);
  const Size of_gates = times(gates->count, hidden);
  const std::vector<Size> state = batch_first ? std::vector<Size>{batch, directions, hidden}
                                              : std::vector<Size>{directions, batch, hidden};
  const std::vector<Size> wanted[] = {
      {Size(), Size(), Size()},             // X
      {directions, of_gates, o.dim(0, 2)},  // W
      {directions, of_gates, hidden},       // R
      {directions, times(2, of_gates)},     // B
      {batch},                              // sequence_lens
      state,                                // initial_h
      state,                                // initial_c
      {directions, times(3, hidden)},       // P
  };
  for (size_t input = 0; input < std::min(node.inputs().size(), std::size(wanted)); ++input) {
    if (auto refusal = check_shape(o, input, wanted[input])) return refusal;
  }
  return check_lengths(o, 4, time);
}

}  // namespace onward
