#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"
#include "python/arrays.h"
#include "train/metrics.h"

namespace onward::python {

/// What `onward eval` prints.
struct Evaluation {
  int64_t examples = 0;
  Summary summary;
};

/// The data that a call is given: arrays by name, which are the caller's while the call runs, or
/// what `onward eval --data` takes.
class GivenData {
 public:
  explicit GivenData(nb::handle data);

  /// Needs nothing of Python: a file is read while other threads go on.
  Dataset open(const DataOptions& options) const;

 private:
  std::optional<std::string> where_;
  Borrowed borrowed_;
  TensorMap arrays_;
};

/// Raises what a signal has asked for meanwhile, such as KeyboardInterrupt.
void stop_if_interrupted();

}  // namespace onward::python
