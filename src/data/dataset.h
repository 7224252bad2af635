#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/npz.h"

namespace onward {

class ImageFolder;
class MaskFolder;

/// Named arrays whose first dimension counts the examples. An array without dimensions holds for
/// all of them alike. Images of a folder are no array, as they are decoded when they are asked for.
class Dataset {
 public:
  /// Throws Error where lengths differ, or no array has a first dimension.
  explicit Dataset(Arrays arrays, DataOptions options = {});
  /// Images `image`, with an array `label` of their classes where they have some.
  Dataset(std::shared_ptr<const ImageFolder> images, DataOptions options);
  /// Images `image` with masks `label`.
  Dataset(std::shared_ptr<const ImageFolder> images, std::shared_ptr<const MaskFolder> masks,
          DataOptions options);

  int64_t size() const { return size_; }
  const Arrays& arrays() const { return arrays_; }
  /// Null where there are none.
  const std::shared_ptr<const ImageFolder>& images() const { return images_; }
  const std::shared_ptr<const MaskFolder>& masks() const { return masks_; }
  /// What the files can't tell of their masks.
  void set_mask_values(const MaskValues& values) { options_.mask_values = values; }
  /// Those that it was opened with, and what was learned from it.
  const DataOptions& options() const { return options_; }
  /// What to keep in the metadata of a model that is trained on it.
  Metadata kept() const;
  /// The types of the arrays, and of the masks, whose sizes are open.
  std::map<std::string, Type> types() const;
  /// "image f32[60000,1,28,28], label i64[60000]".
  std::string description() const;

  /// A number that tells other data: other names, types, shapes or values. Reads all of it once; of
  /// images and masks it takes names, sizes of files and options.
  uint64_t fingerprint() const;

 private:
  Arrays arrays_;
  std::shared_ptr<const ImageFolder> images_;
  std::shared_ptr<const MaskFolder> masks_;
  DataOptions options_;
  int64_t size_ = 0;
};

/// What the images of a Dataset are called.
inline constexpr const char* kImageArray = "image";

/// Opens what the command line calls data: an .npz file, one .npy file, a folder of .npy files, of
/// images in a folder for each class, or of images and masks, a .csv or .tsv file, `mnist:FOLDER`
/// or `mnist-test:FOLDER`.
Dataset open_dataset(const std::string& where, const DataOptions& options = {});

/// Examples of an array, in that order. Strings are copied, all else byte for byte.
Tensor take_rows(const Tensor& array, std::span<const int64_t> rows);

/// The order of the examples in an epoch: the same on every machine for the same seed and epoch.
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, uint64_t epoch);
/// The same, cut into batches; the last may be smaller.
std::vector<std::vector<int64_t>> shuffled_batches(int64_t size, int64_t batch, uint64_t seed,
                                                   uint64_t epoch);

}  // namespace onward
