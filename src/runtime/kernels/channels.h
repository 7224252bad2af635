#pragma once

// The elements of a tensor by channels, dimension 1: what batch normalization adds up and walks
// over. Sums are gathered over tiles that fit the first cache, and from there in float64, so that
// neither many elements nor a large mean spoil them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/norm_rows.h"
#include "runtime/plan.h"

namespace onward {

class Channels {
 public:
  Channels(const std::vector<int64_t>& dims, Layout layout);

  int64_t count() const { return channels_; }
  /// Elements of each channel.
  int64_t each() const { return images_ * places_; }
  /// Memory that the functions below need.
  size_t scratch_bytes(size_t element) const;

  /// Mean and (biased) variance of each channel.
  template <typename T>
  void statistics(const T* x, T* mean, T* variance, std::byte* scratch) const;

  /// y = (x - mean) * factor + shift, with a number each for a channel; with a Relu after it.
  template <typename T>
  void apply(const T* x, T* y, const Affine<T>& affine, bool relu, std::byte* scratch) const;

  /// The sums of dy and of dy * (x - mean) of each channel.
  template <typename T>
  void products(const T* dy, const T* x, const Affine<T>& affine, bool relu, T* sum, T* product,
                std::byte* scratch) const;

  /// dx = dy * factor + (x - mean) * slope + offset.
  template <typename T>
  void back(const T* dy, const T* x, T* dx, const Affine<T>& affine, const WayBack<T>& back,
            bool relu, std::byte* scratch) const;

 private:
  /// The mean as it is defined: differences from an infinity are NaN, though the mean is none.
  template <typename T>
  double plain_mean(const T* x, int64_t channel) const;

  int64_t images_, channels_, places_;
  // Channels side by side: rows of `width_` numbers, which are the channels, several times where
  // they are few. Else planes of one channel each.
  bool side_by_side_;
  int64_t width_, rows_, blocks_, tile_rows_;
};

}  // namespace onward
