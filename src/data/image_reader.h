#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "data/image_folder.h"
#include "data/image_form.h"
#include "ir/tensor.h"

namespace onward {

/// Reads images of a folder in the form that an input takes. Where it is known which ones come
/// next, threads decode them ahead of whoever takes them; what they give does not depend on that.
class ImageReader {
 public:
  /// Throws Error where the input takes no images.
  ImageReader(std::shared_ptr<const ImageFolder> folder, const Type& input,
              const ImageOptions& options);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  /// These images. Throws Error that names the first one which can't be read.
  Tensor batch(std::span<const int64_t> images);

  /// Says which images will be taken next, in that order: so many threads begin to decode them, at
  /// most `ahead` at a time, and as many as a quarter of a gigabyte holds.
  void expect(std::vector<int64_t> images, int64_t ahead, int threads);

 private:
  using Samples = std::vector<uint8_t>;
  struct Result {
    Samples samples;
    std::exception_ptr failure;
  };

  Samples load(int64_t image) const;
  Samples take(int64_t image);
  void work(const std::stop_token& stop);
  template <typename T>
  Tensor normalized(std::span<const Samples> images) const;

  std::shared_ptr<const ImageFolder> folder_;
  ImageForm form_;
  DType dtype_;
  std::optional<int64_t> resize_;
  std::vector<std::vector<double>> values_;  // by channel and sample

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<int64_t> expected_;
  size_t begun_ = 0, taken_ = 0;  // of those expected
  size_t ahead_ = 0;
  uint64_t round_ = 0;              // calls of expect: results of an earlier one are dropped
  std::map<size_t, Result> ready_;  // by place in expected_
  std::vector<std::jthread> threads_;
};

}  // namespace onward
