#pragma once

#include <string>
#include <vector>

namespace onward {

/// A library that is part of the program, or something that the processor has.
struct Component {
  std::string name, version;
};

/// The libraries that this program computes with and reads models by.
std::vector<Component> libraries();

/// The extensions of this processor that kernels use where they are there: "avx2", "fma" ...
std::vector<std::string> processor_features();

}  // namespace onward
