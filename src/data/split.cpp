#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "data/dataset.h"
#include "onward/error.h"

namespace onward {

Split split(int64_t size, std::span<const int64_t> labels, double part, uint64_t seed) {
  if (!(part > 0 && part < 1)) {
    throw Error(fmt::format("the part to hold out is {}, but must be between 0 and 1", part));
  }
  const auto label_of = [&](int64_t example) {
    return labels.empty() ? 0 : labels[static_cast<size_t>(example)];
  };
  std::map<int64_t, int64_t> wanted;  // by label: first its examples, then what is held out of them
  for (int64_t i = 0; i < size; ++i) ++wanted[label_of(i)];
  for (auto& [label, count] : wanted) {
    const auto held_out = static_cast<int64_t>(std::llround(part * static_cast<double>(count)));
    count = std::min(held_out, count - 1);
  }
  Split split;
  // An order that no epoch has.
  for (const int64_t i : shuffled_order(size, seed, std::numeric_limits<uint64_t>::max())) {
    int64_t& left = wanted[label_of(i)];
    (left > 0 ? split.validation : split.training).push_back(i);
    left -= left > 0;
  }
  if (split.validation.empty()) {
    throw Error(fmt::format("{} of {} examples{} is none to hold out: hold out more", part, size,
                            labels.empty() ? "" : ", label by label,"));
  }
  std::ranges::sort(split.training);
  std::ranges::sort(split.validation);
  return split;
}

}  // namespace onward
