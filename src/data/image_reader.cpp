#include "data/image_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/convert.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr int64_t kMaxBytesAhead = 256 << 20;

/// What samples become, channel by channel: computed in double, so that they are rounded once.
std::vector<std::vector<double>> sample_values(const ImageOptions& options, int64_t channels) {
  std::vector<std::vector<double>> values;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double mean = options.mean.size() == 1 ? options.mean[0] : options.mean[c];
    const double std = options.std.size() == 1 ? options.std[0] : options.std[c];
    auto& of_channel = values.emplace_back();
    for (int sample = 0; sample < 256; ++sample) {
      of_channel.push_back((sample * options.scale - mean) / std);
    }
  }
  return values;
}

/// Bytes take samples as they are.
void require_dtype(DType dtype, const ImageOptions& options) {
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16) {
    return;
  }
  if (dtype != DType::u8) {
    throw Error(fmt::format("it takes {}: images are floats or u8", name(dtype)));
  }
  const ImageOptions plain;
  if (options.mean != plain.mean || options.std != plain.std || options.scale != plain.scale) {
    throw Error(
        "it takes u8, samples from 0 to 255 as they are: mean, std and scale are for floats");
  }
}

}  // namespace

ImageReader::ImageReader(std::shared_ptr<const ImageFolder> folder, const Type& input,
                         const ImageOptions& options)
    : folder_(std::move(folder)),
      form_(image_form(input, options)),
      dtype_(input.dtype),
      resize_(options.resize),
      values_(sample_values(options, form_.channels)) {
  require_dtype(dtype_, options);
}

ImageReader::~ImageReader() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

ImageReader::Samples ImageReader::load(int64_t image) const {
  try {
    const std::string file = folder_->read(image);
    const auto channels = form_.channels == 1 ? image::Channels::grayscale : image::Channels::rgb;
    const image::Image decoded = image::decode(std::as_bytes(std::span(file)), channels);
    const Placement at = placed({decoded.height, decoded.width}, form_.size, resize_);
    return image::resized(decoded, at.scaled, at.crop).samples;
  } catch (Error& error) {
    throw error.add_context(
        fmt::format("in image '{}': repair it, or take it out of the folder",
                    printable((folder_->root() / folder_->name(image)).string())));
  }
}

template <typename T>
Tensor ImageReader::normalized(std::span<const Samples> images) const {
  std::vector<std::vector<T>> table;
  for (const auto& values : values_) table.emplace_back(values.begin(), values.end());
  const auto channels = static_cast<size_t>(form_.channels);
  const size_t pixels = static_cast<size_t>(form_.size.height * form_.size.width);
  const bool channels_first = form_.layout == ImageForm::Layout::channels_first;
  auto numbers = std::make_shared<std::vector<T>>(images.size() * pixels * channels);
  T* to = numbers->data();
  for (const Samples& samples : images) {
    for (size_t c = 0; c < channels; ++c) {
      T* first = channels_first ? to + c * pixels : to + c;
      const size_t step = channels_first ? 1 : channels;
      for (size_t i = 0; i < pixels; ++i) first[i * step] = table[c][samples[i * channels + c]];
    }
    to += pixels * channels;
  }
  const auto bytes = std::as_bytes(std::span(*numbers));
  return Tensor::view(dtype_of<T>(), form_.dims(static_cast<int64_t>(images.size())), bytes,
                      std::move(numbers));
}

Tensor ImageReader::batch(std::span<const int64_t> images) {
  std::vector<Samples> samples;
  for (const int64_t image : images) samples.push_back(take(image));
  if (dtype_ == DType::f64) return normalized<double>(samples);
  if (dtype_ != DType::u8) return converted(normalized<float>(samples), dtype_);
  auto bytes = std::make_shared<std::string>();
  const auto pixels = static_cast<size_t>(form_.size.height * form_.size.width);
  const auto channels = static_cast<size_t>(form_.channels);
  for (const Samples& each : samples) {
    if (form_.layout != ImageForm::Layout::channels_first) {
      bytes->append(each.begin(), each.end());
      continue;
    }
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < pixels; ++i) {
        bytes->push_back(static_cast<char>(each[i * channels + c]));
      }
    }
  }
  return Tensor::from_bytes(dtype_, form_.dims(static_cast<int64_t>(images.size())),
                            std::move(bytes));
}

void ImageReader::expect(std::vector<int64_t> images, int64_t ahead, int threads) {
  const int64_t each = form_.size.height * form_.size.width * form_.channels;
  const std::scoped_lock lock(mutex_);
  expected_ = std::move(images);
  begun_ = taken_ = 0;
  ++round_;
  ready_.clear();
  ahead_ = static_cast<size_t>(
      std::clamp<int64_t>(ahead, 1, std::max<int64_t>(kMaxBytesAhead / each, 1)));
  while (threads_.size() < static_cast<size_t>(threads)) {
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
    const uint64_t round = round_;
    lock.unlock();
    Result result;
    try {
      result.samples = load(image);
    } catch (...) {  // for the one who takes it
      result.failure = std::current_exception();
    }
    lock.lock();
    if (round != round_) continue;
    ready_.emplace(place, std::move(result));
    changed_.notify_all();
  }
}

ImageReader::Samples ImageReader::take(int64_t image) {
  std::unique_lock lock(mutex_);
  if (taken_ == expected_.size() || expected_[taken_] != image) {
    lock.unlock();
    return load(image);
  }
  changed_.wait(lock, [&] { return ready_.contains(taken_); });
  Result result = std::move(ready_.extract(taken_).mapped());
  ++taken_;
  changed_.notify_all();
  lock.unlock();
  if (result.failure) std::rethrow_exception(result.failure);
  return std::move(result.samples);
}

}  // namespace onward
