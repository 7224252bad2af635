#pragma once

namespace onward {

/// Seconds, and what of them passed in reference kernels.
struct TimeSpent {
  double all = 0, reference = 0;

  void add(double seconds, double in_reference) {
    all += seconds;
    reference += in_reference;
  }
  double fast() const { return all - reference; }
};

}  // namespace onward
