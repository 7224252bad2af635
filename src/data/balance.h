#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace onward {

/// The order of an epoch that draws each class equally often: as many examples as there are labels,
/// an equal share of each class, of which what is left over goes to other classes in each epoch.
/// Within a class all examples are drawn before one comes again. The same on every machine for the
/// same seed and epoch.
std::vector<int64_t> balanced_order(std::span<const int64_t> labels, uint64_t seed, uint64_t epoch);

}  // namespace onward
