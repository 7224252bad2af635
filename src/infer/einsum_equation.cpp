#include "infer/einsum_equation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "onward/error.h"

namespace onward {
namespace {

constexpr std::string_view kEllipsis = "...";
/// The labels of an ellipsis are the signs before this letter, of which there are enough.
constexpr char kFirstLetter = 'A';

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// The term with its ellipsis as labels, of which the last one always is the same.
Labels labels_of(std::string term, size_t dimensions) {
  const size_t at = term.find(kEllipsis);
  if (at == std::string::npos) return term;
  if (dimensions >= static_cast<size_t>(kFirstLetter)) throw Error("an ellipsis is too long");
  Labels ellipsis(dimensions, kFirstLetter);
  for (size_t i = 0; i < dimensions; ++i) {
    ellipsis[i] = static_cast<char>(static_cast<size_t>(kFirstLetter) - dimensions + i);
  }
  return term.replace(at, kEllipsis.size(), ellipsis);
}

Labels implicit_output(const std::vector<std::string>& terms, size_t ellipsis) {
  std::string all;
  for (const std::string& term : terms) all += term;
  std::erase(all, '.');
  std::string once;
  for (const char label : all) {
    if (std::ranges::count(all, label) == 1) once += label;
  }
  std::ranges::sort(once);
  return labels_of(std::string(kEllipsis), ellipsis) + once;
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

/// A letter has one size, wherever it stands; those of an ellipsis may also be 1.
void check_sizes(const Equation& equation, const Operands& operands) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      const char label = equation.operands[i][d];
      const auto size = operands.dim(i, d);
      if (!size || (is_of_ellipsis(label) && *size == 1)) continue;
      const auto [known, is_new] = sizes.emplace(label, *size);
      if (is_new || known->second == *size) continue;
      throw Error(fmt::format(
          "{} is {} in one place of its equation and {} in another",
          is_of_ellipsis(label) ? "a dimension of its ellipsis" : fmt::format("'{}'", label),
          known->second, *size));
    }
  }
}

}  // namespace

std::optional<Refusal> guard_einsum(const Operands& operands) {
  const std::string text = operands.node().string_or("equation", "");
  if (!is_equation(text)) {
    return Refusal{"attribute", "",
                   fmt::format("'{}' is not an equation such as 'ij,jk->ik'", text)};
  }
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < operands.node().inputs().size(); ++i) {
    const auto rank = operands.rank(i);
    if (!rank && has_ellipsis(text)) return std::nullopt;
    ranks.push_back(rank.value_or(-1));
  }
  try {
    check_sizes(read_equation(text, ranks), operands);
  } catch (const Error& error) {
    return Refusal{"shape", "", error.what()};
  }
  return std::nullopt;
}

bool is_of_ellipsis(char label) { return label < kFirstLetter; }

bool has_ellipsis(std::string_view equation) { return equation.find('.') != equation.npos; }

Equation read_equation(std::string_view text, std::span<const int64_t> ranks) {
  std::string plain(text);
  std::erase(plain, ' ');
  const size_t arrow = plain.find("->");
  const std::vector<std::string> terms = split(plain.substr(0, arrow), ',');
  if (terms.size() != ranks.size()) {
    throw Error(fmt::format("its equation has {} terms for {} inputs", terms.size(), ranks.size()));
  }
  std::optional<size_t> ellipsis;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool is_open = terms[i].find(kEllipsis) != std::string::npos;
    const auto letters = static_cast<int64_t>(terms[i].size() - (is_open ? kEllipsis.size() : 0));
    if (!is_open && ranks[i] < 0) continue;
    if (is_open ? letters > ranks[i] : letters != ranks[i]) {
      throw Error(fmt::format("input {} has rank {}, but the term '{}'", i, ranks[i], terms[i]));
    }
    if (!is_open) continue;
    const auto dimensions = static_cast<size_t>(ranks[i] - letters);
    if (ellipsis && *ellipsis != dimensions) {
      throw Error(
          fmt::format("an ellipsis stands for {} dimensions and for {}", *ellipsis, dimensions));
    }
    ellipsis = dimensions;
  }
  Equation equation;
  std::string known;
  for (const std::string& term : terms) {
    equation.operands.push_back(labels_of(term, ellipsis.value_or(0)));
    known += equation.operands.back();
  }
  equation.output = arrow == std::string::npos
                        ? implicit_output(terms, ellipsis.value_or(0))
                        : labels_of(plain.substr(arrow + 2), ellipsis.value_or(0));
  for (const char label : equation.output) {
    if (known.find(label) == std::string::npos) {
      throw Error(fmt::format("'{}' is in the output of its equation alone", label));
    }
    if (std::ranges::count(equation.output, label) > 1) {
      throw Error(fmt::format("'{}' is in the output of its equation twice", label));
    }
  }
  return equation;
}

}  // namespace onward
