#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/image_folder.h"

namespace onward {

/// The masks of a folder's images: for each image a file of the same name inside of the other
/// folder, but for the ending.
class MaskFolder {
 public:
  /// Throws Error that names images without a mask, masks without an image, and names that could
  /// be of several.
  MaskFolder(const std::filesystem::path& root, const ImageFolder& images);

  /// Whether a folder has its images in `images` and their masks in `masks`, and nothing else.
  static bool is_beside_images(const std::filesystem::path& root);

  int64_t size() const { return static_cast<int64_t>(places_.size()); }
  const ImageFolder& files() const { return files_; }
  /// The place of an image's mask among the files.
  int64_t file_of(int64_t image) const { return places_[static_cast<size_t>(image)]; }

 private:
  ImageFolder files_;
  std::vector<int64_t> places_;
};

inline constexpr const char* kImagesFolder = "images";
inline constexpr const char* kMasksFolder = "masks";

}  // namespace onward
