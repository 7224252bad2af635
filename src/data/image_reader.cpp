#include "data/image_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "onward/error.h"

namespace onward {
namespace {

constexpr int64_t kMaxBytesAhead = 256 << 20;

}  // namespace

ImageReader::ImageReader(std::shared_ptr<const ImageFolder> folder, const Type& input,
                         const DataOptions& options)
    : form_(options.preprocess ? ImageForm{} : image_form(input, options.images)),
      loader_(std::move(folder), form_, options.images.resize),
      input_(input) {
  if (options.preprocess) {
    if (!input.is_tensor() || !input.shape || input.shape->empty()) {
      throw Error("a preprocessing model needs an input whose rank is known");
    }
    loader_.use_preprocess(options.preprocess);
  } else {
    numbers_.emplace(form_, input.dtype, options.images);
  }
}

ImageReader::~ImageReader() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void ImageReader::use_masks(std::shared_ptr<const MaskFolder> masks, const Type& input,
                            MaskValues values) {
  if (!numbers_) throw Error("masks would not follow what a preprocessing model does to images");
  mask_form_ = mask_form(input, form_.size);
  // One channel has the probability of one class, the background has the rest.
  if (mask_form_->layout != MaskForm::Layout::no_channels) values.classes = 2;
  loader_.use_masks(std::move(masks), values);
}

ImageReader::Batch ImageReader::batch(std::span<const int64_t> images) {
  std::vector<LoadedImage> loaded;
  for (const int64_t image : images) loaded.push_back(take(image));
  Batch batch{.images = numbers_ ? numbers_->tensor(loaded) : joined(loaded), .masks = {}};
  if (mask_form_) batch.masks = mask_form_->tensor(loaded);
  return batch;
}

/// What a model made of each image, one behind the other.
Tensor ImageReader::joined(std::span<const LoadedImage> images) const {
  auto bytes = std::make_shared<std::string>();
  std::vector<int64_t> dims;
  for (const LoadedImage& image : images) {
    std::vector<int64_t> its = image.prepared.dims();
    const bool has_batch = its.size() == input_.shape->size() && its.front() == 1;
    if (!has_batch) its.insert(its.begin(), 1);
    Type type = Type::tensor(image.prepared.dtype(), std::span<const int64_t>(its));
    type.shape->front() = Dim{};
    if (const auto reason = conflict(input_, type)) {
      throw Error(
          fmt::format("the preprocessing model gives {} for an image, but the input takes {}: {}",
                      to_string(image.prepared.type()), to_string(input_), *reason),
          ErrorCode::data);
    }
    if (!dims.empty() && its != dims) {
      throw Error("the preprocessing model gives images of different sizes for one batch",
                  ErrorCode::data);
    }
    dims = its;
    const auto part = image.prepared.bytes();
    bytes->append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  dims.front() = static_cast<int64_t>(images.size());
  return Tensor::from_bytes(input_.dtype, std::move(dims), std::move(bytes));
}

std::map<int64_t, std::string> ImageReader::find_unreadable(std::span<const int64_t> images,
                                                            int threads) const {
  std::map<int64_t, std::string> found;
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<size_t> next = 0;
  const auto look = [&] {
    for (size_t i = next++; i < images.size(); i = next++) {
      try {
        loader_.require_readable(images[i]);
      } catch (const Error& error) {
        const std::scoped_lock lock(mutex);
        found.emplace(images[i], error.what());
      } catch (...) {
        const std::scoped_lock lock(mutex);
        failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(look);
    look();
  }
  if (failure) std::rethrow_exception(failure);
  return found;
}

void ImageReader::expect(std::vector<int64_t> images, const Ahead& ahead) {
  const std::scoped_lock lock(mutex_);
  expected_ = std::move(images);
  begun_ = taken_ = 0;
  epoch_ = ahead.epoch;
  ++round_;
  ready_.clear();
  ahead_ = static_cast<size_t>(std::clamp<int64_t>(
      ahead.examples, 1, std::max<int64_t>(kMaxBytesAhead / loader_.bytes(), 1)));
  while (threads_.size() < static_cast<size_t>(ahead.threads)) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  changed_.notify_all();
}

/// A thread: decodes the next image that nobody has begun, as long as there is room.
void ImageReader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return begun_ < expected_.size() && begun_ < taken_ + ahead_; };
  while (changed_.wait(lock, stop, has_work)) {
    const size_t place = begun_++;
    const int64_t image = expected_[place];
    const uint64_t round = round_, epoch = epoch_;
    lock.unlock();
    Result result;
    try {
      result.image = loader_.load(image, epoch);
    } catch (...) {  // for the one who takes it
      result.failure = std::current_exception();
    }
    lock.lock();
    if (round != round_) continue;
    ready_.emplace(place, std::move(result));
    changed_.notify_all();
  }
}

LoadedImage ImageReader::take(int64_t image) {
  std::unique_lock lock(mutex_);
  if (taken_ == expected_.size() || expected_[taken_] != image) {
    const uint64_t epoch = epoch_;
    lock.unlock();
    return loader_.load(image, epoch);
  }
  changed_.wait(lock, [&] { return ready_.contains(taken_); });
  Result result = std::move(ready_.extract(taken_).mapped());
  ++taken_;
  changed_.notify_all();
  lock.unlock();
  if (result.failure) std::rethrow_exception(result.failure);
  return std::move(result.image);
}

}  // namespace onward
