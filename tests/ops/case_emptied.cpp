#include "tests/ops/case_emptied.h"

#include <algorithm>
#include <set>

namespace onward {
namespace {

struct Place {
  size_t input, dim;
};

int64_t size_at(const Case& tested, const Place& place) {
  return tested.inputs[place.input].dims[place.dim];
}

/// A case with some dimensions emptied; of given values as many as are left.
Case emptied(Case tested, const std::vector<Place>& places) {
  for (const auto& [input, dim] : places) tested.inputs[input].dims[dim] = 0;
  for (CaseInput& input : tested.inputs) {
    const bool given = !input.values.empty();
    int64_t count = 1;
    for (const int64_t dim : input.dims) count *= dim;
    if (given) input.values.resize(static_cast<size_t>(count));
  }
  return tested;
}

}  // namespace

std::vector<Case> emptied_cases(const Case& tested) {
  std::vector<Place> places;
  for (size_t input = 0; input < tested.inputs.size(); ++input) {
    for (size_t dim = 0; dim < tested.inputs[input].dims.size(); ++dim) {
      if (tested.inputs[input].dims[dim] > 0) places.push_back({input, dim});
    }
  }
  std::vector<Case> cases;
  std::set<int64_t> sizes;
  for (const Place& place : places) {
    cases.push_back(emptied(tested, {place}));
    sizes.insert(size_at(tested, place));
    for (const Place& other : places) {
      if (other.input > place.input && size_at(tested, other) == size_at(tested, place)) {
        cases.push_back(emptied(tested, {place, other}));
      }
    }
  }
  for (const int64_t size : sizes) {
    std::vector<Place> all;
    for (const Place& place : places) {
      if (size_at(tested, place) == size) all.push_back(place);
    }
    Case every = tested;
    // A shape that is an input has the size too.
    for (CaseInput& input : every.inputs) {
      if (input.dtype != DType::i64 || input.dims.size() != 1) continue;
      std::ranges::replace(input.values, static_cast<double>(size), 0.0);
    }
    cases.push_back(emptied(every, all));
  }
  return cases;
}

}  // namespace onward
