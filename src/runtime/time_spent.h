#pragma once

#include <span>
#include <string>
#include <vector>

namespace onward {

/// How long one kernel worked on the nodes of one operator (of several, where they are one loop).
struct KernelTime {
  std::string operation;  // operators, as they are named; empty for what is done between nodes
  std::string kernel;
  double seconds = 0;

  bool is_reference() const;
};

/// Adds times to those of the same operators and kernels; the longest comes first then.
void add_times(std::vector<KernelTime>& times, std::span<const KernelTime> more);

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
