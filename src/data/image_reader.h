#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "data/image_numbers.h"

namespace onward {

/// Who decodes what is asked for next.
struct Ahead {
  int64_t examples = 1;  // at most so many in advance
  int threads = 1;
  uint64_t epoch = 0;  // which augmentations depend on
};

/// Reads images of a folder in the form that an input takes, with their masks. Where it is known
/// which ones come next, threads decode them ahead of whoever takes them; what they give does not
/// depend on that.
class ImageReader {
 public:
  /// Throws Error where the input takes no images.
  ImageReader(std::shared_ptr<const ImageFolder> folder, const Type& input,
              const DataOptions& options);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  // Before the first image is taken.
  /// Throws Error where the input takes no masks of these images.
  void use_masks(std::shared_ptr<const MaskFolder> masks, const Type& input, MaskValues values);
  void use_augment(Augment augment) { loader_.use_augment(std::move(augment)); }

  struct Batch {
    Tensor images, masks;  // masks are without type where there are none
  };
  /// These images. Throws Error that names the first one which can't be read.
  Batch batch(std::span<const int64_t> images);

  /// Says which images will be taken next, in that order: threads begin to decode them, as many
  /// ahead as a quarter of a gigabyte holds.
  void expect(std::vector<int64_t> images, const Ahead& ahead);

  /// Why an image or its mask can't be decoded, by its number, for those of these that can't be.
  std::map<int64_t, std::string> find_unreadable(std::span<const int64_t> images,
                                                 int threads) const;

 private:
  struct Result {
    LoadedImage image;
    std::exception_ptr failure;
  };

  LoadedImage take(int64_t image);
  Tensor joined(std::span<const LoadedImage> images) const;
  void work(const std::stop_token& stop);

  ImageForm form_;
  ImageLoader loader_;
  std::optional<ImageNumbers> numbers_;  // none where a model makes them
  Type input_;
  std::optional<MaskForm> mask_form_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<int64_t> expected_;
  size_t begun_ = 0, taken_ = 0;  // of those expected
  size_t ahead_ = 0;
  uint64_t epoch_ = 0;
  uint64_t round_ = 0;              // calls of expect: results of an earlier one are dropped
  std::map<size_t, Result> ready_;  // by place in expected_
  std::vector<std::jthread> threads_;
};

}  // namespace onward
