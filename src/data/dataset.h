#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/npz.h"

namespace onward {

/// Named arrays whose first dimension counts the examples. An array without dimensions holds for
/// all of them alike.
class Dataset {
 public:
  /// Throws Error where lengths differ, or no array has a first dimension.
  explicit Dataset(Arrays arrays);

  int64_t size() const { return size_; }
  const Arrays& arrays() const { return arrays_; }
  /// "image f32[60000,1,28,28], label i64[60000]".
  std::string description() const;

  /// A number that tells other data: other names, types, shapes or values. Reads all of it once.
  uint64_t fingerprint() const;

 private:
  Arrays arrays_;
  int64_t size_ = 0;
};

/// Opens what the command line calls data: an .npz file, one .npy file, a folder of .npy files,
/// `mnist:FOLDER` or `mnist-test:FOLDER`.
Dataset open_dataset(const std::string& where);

/// Examples of an array, in that order. Strings are copied, all else byte for byte.
Tensor take_rows(const Tensor& array, std::span<const int64_t> rows);

/// The order of the examples in an epoch: the same on every machine for the same seed and epoch.
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, uint64_t epoch);
/// The same, cut into batches; the last may be smaller.
std::vector<std::vector<int64_t>> shuffled_batches(int64_t size, int64_t batch, uint64_t seed,
                                                   uint64_t epoch);

}  // namespace onward
