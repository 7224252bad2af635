#pragma once

#include <filesystem>
#include <string>

#include "runtime/state.h"

namespace onward::cli {

/// Writes masks: the class with the largest score for each pixel, as gray PNG files.
class MaskWriter {
 public:
  /// Throws Error where the model has no output of scores for pixels [N,C,H,W].
  MaskWriter(const Model& model, std::filesystem::path folder);

  /// Writes that of an example, and gives the file: the example's name inside of the folder, with
  /// another ending. Throws Error where there is such a file.
  std::string write(const TensorMap& outputs, int64_t example, const std::string& name) const;

 private:
  std::string scores_;  // the output's name
  std::filesystem::path folder_;
};

}  // namespace onward::cli
