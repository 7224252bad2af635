#pragma once

// What guards of several families ask. Each says what is wrong, or nothing where it is right or not
// known yet.

#include <initializer_list>
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

/// All numbers of an input lie between two, which are allowed.
std::optional<Refusal> check_between(const Operands& o, size_t input, std::string_view name,
                                     double lowest, double highest);

/// A scalar that is a size.
std::optional<Refusal> check_scalar_size(const Operands& o, size_t input, std::string_view name,
                                         int64_t lowest);

}  // namespace onward
