#pragma once

#include <cstdint>
#include <vector>

namespace onward {

/// How often each class was taken for each.
struct Confusion {
  int64_t classes = 0;
  std::vector<int64_t> counts;  // [true class][predicted class]

  int64_t at(int64_t truth, int64_t predicted) const {
    return counts[static_cast<size_t>(truth * classes + predicted)];
  }
};

/// The counts row by row.
inline std::vector<std::vector<int64_t>> rows_of(const Confusion& confusion) {
  std::vector<std::vector<int64_t>> rows;
  for (int64_t truth = 0; truth < confusion.classes; ++truth) {
    const auto row = confusion.counts.begin() + truth * confusion.classes;
    rows.emplace_back(row, row + confusion.classes);
  }
  return rows;
}

}  // namespace onward
