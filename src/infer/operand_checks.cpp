#include "infer/operand_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace onward {

std::optional<Refusal> refused_attribute(std::string message) {
  return Refusal{"attribute", "", std::move(message)};
}

std::optional<Refusal> refused_operand(const Operands& o, size_t input, std::string_view name,
                                       std::string message) {
  return Refusal{"shape", o.node().input(input)->name(),
                 fmt::format("input {} ({}): {}", input, name, message)};
}

std::optional<Refusal> check_word(const Node& node, std::string_view name,
                                  std::initializer_list<std::string_view> words) {
  const auto* given = node.get<std::string>(name);
  if (!given || std::ranges::count(words, std::string_view(*given)) > 0) return std::nullopt;
  return refused_attribute(fmt::format("attribute '{}' is '{}', but must be one of {}", name,
                                       *given, fmt::join(words, ", ")));
}

std::optional<Refusal> check_rank(const Operands& o, size_t input, std::string_view name,
                                  int64_t expected) {
  const auto rank = o.has(input) ? o.rank(input) : std::nullopt;
  if (!rank || *rank == expected) return std::nullopt;
  return refused_operand(o, input, name, fmt::format("it has rank {}, not {}", *rank, expected));
}

std::optional<Refusal> check_dim(const Operands& o, size_t input, std::string_view name, size_t dim,
                                 int64_t expected) {
  const auto size = o.has(input) ? o.dim(input, dim) : std::nullopt;
  if (!size || *size == expected) return std::nullopt;
  return refused_operand(o, input, name,
                         fmt::format("its dimension {} is {}, not {}", dim, *size, expected));
}

std::optional<Refusal> check_divisible(const Operands& o, size_t input, std::string_view name,
                                       size_t dim, int64_t by) {
  const auto size = o.dim(input, dim);
  if (!size || *size % by == 0) return std::nullopt;
  return refused_operand(
      o, input, name, fmt::format("its dimension {}, {}, is not divisible by {}", dim, *size, by));
}

std::optional<Refusal> check_list(const Node& node, std::string_view name,
                                  std::optional<int64_t> count, int64_t lowest) {
  const auto* list = node.get<std::vector<int64_t>>(name);
  if (!list) return std::nullopt;
  if (count && static_cast<int64_t>(list->size()) != *count) {
    return refused_attribute(fmt::format("attribute '{}' has {} entries, but {} are needed", name,
                                         list->size(), *count));
  }
  for (const int64_t number : *list) {
    if (number >= lowest && number < std::numeric_limits<int32_t>::max()) continue;
    return refused_attribute(
        fmt::format("attribute '{}' holds {}, which is out of range", name, number));
  }
  return std::nullopt;
}

std::optional<Refusal> check_count(const Node& node, std::string_view name, int64_t lowest,
                                   int64_t highest) {
  const auto* given = node.get<int64_t>(name);
  if (!given || (*given >= lowest && *given <= highest)) return std::nullopt;
  const bool is_too_small = lowest == 1 && *given < 1;
  return refused_attribute(
      fmt::format("attribute '{}' is {}, {}", name, *given,
                  is_too_small ? "but must be positive" : "which is out of range"));
}

std::optional<Refusal> refused_axis(int64_t axis, int64_t rank) {
  return refused_attribute(fmt::format("axis {} is out of range for rank {}", axis, rank));
}

std::optional<Refusal> check_between(const Operands& o, size_t input, std::string_view name,
                                     double lowest, double highest) {
  const auto numbers = o.has(input) ? o.numbers(input) : std::nullopt;
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    const double number = (*numbers)[i];
    if (number >= lowest && number <= highest) continue;  // false for what is no number
    return refused_operand(o, input, name,
                           fmt::format("it holds {}, which is out of range", number));
  }
  return std::nullopt;
}

std::optional<Refusal> check_scalar_size(const Operands& o, size_t input, std::string_view name,
                                         int64_t lowest) {
  const auto rank = o.has(input) ? o.rank(input) : std::nullopt;
  if (rank && *rank != 0) {
    return refused_operand(o, input, name, fmt::format("it has rank {}, but is a scalar", *rank));
  }
  return check_between(o, input, name, static_cast<double>(lowest),
                       std::numeric_limits<int32_t>::max());
}

}  // namespace onward
