#include "ir/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace onward {
namespace {

/// How many letters must be changed, added, left out or swapped with their neighbour.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view given, std::span<const std::string> names) {
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;  // of what is not taken for a slip
  for (const std::string& name : names) {
    const size_t apart = distance(given, name);
    if (apart < least && apart < name.size()) least = apart, nearest = &name;
  }
  return nearest ? fmt::format("did you mean '{}'?", *nearest) : "";
}

std::string unknown_name(std::string_view what, std::string_view given,
                         std::span<const std::string> names) {
  const std::string meant = did_you_mean(given, names);
  return fmt::format("unknown {} '{}': {}{} {}", what, given, meant,
                     meant.empty() ? "choose from" : " Available:", fmt::join(names, ", "));
}

std::string unknown_name(std::string_view what, std::string_view given,
                         std::span<const std::string_view> names) {
  return unknown_name(what, given, std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace onward
