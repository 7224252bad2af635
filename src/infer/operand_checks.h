#pragma once

// What guards of several families ask. Each says what is wrong, or nothing where it is right or not
// known yet.

#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

std::optional<Refusal> refused_attribute(std::string message);
std::optional<Refusal> refused_operand(const Operands& o, size_t input, std::string_view name,
                                       std::string message);

/// An attribute that is one of a few words.
std::optional<Refusal> check_word(const Node& node, std::string_view name,
                                  std::initializer_list<std::string_view> words);

std::optional<Refusal> check_rank(const Operands& o, size_t input, std::string_view name,
                                  int64_t expected);

/// A dimension that another operand or an attribute gives too.
std::optional<Refusal> check_dim(const Operands& o, size_t input, std::string_view name, size_t dim,
                                 int64_t expected);

/// A dimension that is divisible by a number, which is positive.
std::optional<Refusal> check_divisible(const Operands& o, size_t input, std::string_view name,
                                       size_t dim, int64_t by);

/// An attribute with `count` numbers, of which none is below `lowest`.
std::optional<Refusal> check_list(const Node& node, std::string_view name,
                                  std::optional<int64_t> count, int64_t lowest);

/// All numbers of an input lie between two, which are allowed.
std::optional<Refusal> check_between(const Operands& o, size_t input, std::string_view name,
                                     double lowest, double highest);

/// An integer attribute that is a count: `lowest` or more, and less than the largest size unless
/// `highest` says otherwise.
constexpr int64_t kLargestCount = std::numeric_limits<int32_t>::max();
std::optional<Refusal> check_count(const Node& node, std::string_view name, int64_t lowest,
                                   int64_t highest = kLargestCount - 1);

std::optional<Refusal> refused_axis(int64_t axis, int64_t rank);

/// A scalar that is a size.
std::optional<Refusal> check_scalar_size(const Operands& o, size_t input, std::string_view name,
                                         int64_t lowest);

}  // namespace onward
