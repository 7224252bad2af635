#include "cli/confusion_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace onward::cli {
namespace {

constexpr int64_t kMostColumns = 16;
constexpr size_t kMostListed = 20;

std::string name_of(int64_t c, const std::vector<std::string>& classes) {
  const auto index = static_cast<size_t>(c);
  return index < classes.size() ? classes[index] : fmt::format("{}", c);
}

/// One line for each class of labels, one column for each that was predicted.
std::string matrix(const Confusion& confusion, const std::vector<std::string>& classes) {
  std::vector<std::vector<std::string>> rows(1, {"label \\ predicted"});
  for (int64_t c = 0; c < confusion.classes; ++c) rows[0].push_back(name_of(c, classes));
  for (int64_t truth = 0; truth < confusion.classes; ++truth) {
    auto& row = rows.emplace_back(1, name_of(truth, classes));
    for (int64_t c = 0; c < confusion.classes; ++c) {
      row.push_back(fmt::format("{}", confusion.at(truth, c)));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      size_t width = 0;
      for (const auto& each : rows) width = std::max(width, each[column].size());
      text += column == 0 ? fmt::format("{:<{}}", row[column], width)
                          : fmt::format("  {:>{}}", row[column], width);
    }
    text += "\n";
  }
  return text;
}

std::string most_confused(const Confusion& confusion, const std::vector<std::string>& classes) {
  struct Pair {
    int64_t truth, predicted, count;
  };
  std::vector<Pair> pairs;
  for (int64_t truth = 0; truth < confusion.classes; ++truth) {
    for (int64_t c = 0; c < confusion.classes; ++c) {
      if (truth != c && confusion.at(truth, c) > 0)
        pairs.push_back({truth, c, confusion.at(truth, c)});
    }
  }
  std::ranges::sort(pairs, [](const Pair& a, const Pair& b) {
    return std::tie(b.count, a.truth, a.predicted) < std::tie(a.count, b.truth, b.predicted);
  });
  const size_t listed = std::min(pairs.size(), kMostListed);
  std::string text = fmt::format("{} classes; confused most often, of {} pairs (--json has all):\n",
                                 confusion.classes, pairs.size());
  for (size_t i = 0; i < listed; ++i) {
    text += fmt::format("{:>8}  '{}' taken for '{}'\n", pairs[i].count,
                        name_of(pairs[i].truth, classes), name_of(pairs[i].predicted, classes));
  }
  return text;
}

}  // namespace

std::string confusion_text(const Confusion& confusion, const std::vector<std::string>& classes) {
  return confusion.classes <= kMostColumns ? matrix(confusion, classes)
                                           : most_confused(confusion, classes);
}

}  // namespace onward::cli
