#include "runtime/kernels/channels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/parallel.h"

namespace onward {
namespace {

constexpr int64_t kLanes = 64;           // a row this long keeps the vector units busy
constexpr int64_t kTileElements = 4096;  // fit the first cache
constexpr int64_t kBlocks = 16;          // not the number of threads, so that results do not vary
constexpr double kChannelCost = 0.3;     // nanoseconds an element

/// Mean and sum of squared differences from it, of `n` numbers.
struct Moments {
  double n = 0, mean = 0, squares = 0;

  void add(const Moments& other) {
    if (other.n == 0) return;
    const double all = n + other.n, difference = other.mean - mean;
    mean += difference * other.n / all;
    squares += other.squares + difference * difference * n * other.n / all;
    n = all;
  }
};

/// The moments of n numbers by the sums of their differences from a center near their mean.
Moments around(double center, double n, double sum, double squares) {
  const double drift = sum / n;
  return {.n = n, .mean = center + drift, .squares = squares - sum * drift};
}

/// One number for each lane of a row, all the same.
template <typename T>
using Lanes = std::array<T, kLanes>;

template <typename T>
double folded(const Lanes<T>& lanes) {
  double sum = 0;
  for (const T lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

/// Calls body(offset, rows, n) for the tiles of a plane.
template <typename Body>
void for_each_tile(int64_t places, Body body) {
  for (int64_t at = 0; at < places; at += kTileElements) {
    const int64_t size = std::min(kTileElements, places - at), rest = size % kLanes;
    body(at, size, rest);
  }
}

/// Calls body(offset, rows, n) for a tile's whole rows of lanes, and for the rest of it.
template <typename Body>
void for_each_part(int64_t at, int64_t size, int64_t rest, Body body) {
  if (size > rest) body(at, size / kLanes, kLanes);
  if (rest > 0) body(at + size - rest, 1, rest);
}

/// Scratch memory, piece by piece.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : at_(memory) {}

  template <typename T>
  T* take(int64_t count) {
    T* piece = reinterpret_cast<T*>(at_);
    at_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }

 private:
  std::byte* at_;
};

/// A channel's numbers written side by side as often as they fit into a row.
template <typename T>
const T* repeated(const T* numbers, int64_t channels, int64_t width, Pieces& pieces) {
  if (channels == width || !numbers) return numbers;
  T* row = pieces.take<T>(width);
  for (int64_t i = 0; i < width; i += channels) std::copy_n(numbers, channels, row + i);
  return row;
}

template <typename T>
Affine<T> repeated(const Affine<T>& affine, int64_t channels, int64_t width, Pieces& pieces) {
  return {repeated(affine.mean, channels, width, pieces),
          repeated(affine.factor, channels, width, pieces),
          repeated(affine.shift, channels, width, pieces)};
}

}  // namespace

Channels::Channels(const std::vector<int64_t>& dims, Layout layout)
    : images_(dims[0]), channels_(dims.size() > 1 ? dims[1] : 1), places_(1) {
  for (size_t d = 2; d < dims.size(); ++d) places_ *= dims[d];
  side_by_side_ = layout == Layout::channels_last || places_ == 1;
  width_ = channels_;
  rows_ = images_ * places_;
  while (width_ < kLanes && rows_ % 2 == 0 && rows_ > kBlocks) {
    width_ *= 2;
    rows_ /= 2;
  }
  blocks_ = std::clamp<int64_t>(rows_, 1, kBlocks);
  tile_rows_ = std::clamp<int64_t>(kTileElements / std::max<int64_t>(width_, 1), 16, 512);
}

size_t Channels::scratch_bytes(size_t element) const {
  const auto row = static_cast<size_t>(width_) + 64;
  return row * 5 * element +
         static_cast<size_t>(blocks_) * row * (3 * element + 2 * sizeof(double));
}

template <typename T>
double Channels::plain_mean(const T* x, int64_t channel) const {
  double sum = 0;
  for (int64_t image = 0; image < images_; ++image) {
    for (int64_t place = 0; place < places_; ++place) {
      const int64_t at = side_by_side_ ? (image * places_ + place) * channels_ + channel
                                       : (image * channels_ + channel) * places_ + place;
      sum += static_cast<double>(x[at]);
    }
  }
  return sum / static_cast<double>(each());
}

template <typename T>
void Channels::statistics(const T* x, T* mean, T* variance, std::byte* scratch) const {
  const NormRows<T>& functions = norm_rows<T>();
  const auto put = [&](int64_t channel, const Moments& moments) {
    mean[channel] =
        static_cast<T>(std::isnan(moments.mean) ? plain_mean(x, channel) : moments.mean);
    variance[channel] = static_cast<T>(moments.squares / moments.n);
  };
  if (!side_by_side_) {
    parallel_for(channels_, kChannelCost * static_cast<double>(each()),
                 [&](int64_t first, int64_t last) {
                   for (int64_t channel = first; channel < last; ++channel) {
                     Moments all;
                     for (int64_t image = 0; image < images_; ++image) {
                       const T* plane = x + (image * channels_ + channel) * places_;
                       for_each_tile(places_, [&](int64_t at, int64_t size, int64_t rest) {
                         Lanes<T> sum{}, differences{}, squares{}, center;
                         for_each_part(at, size, rest, [&](int64_t part, int64_t rows, int64_t n) {
                           functions.add(sum.data(), plane + part, rows, n);
                         });
                         const auto n_all = static_cast<double>(size);
                         center.fill(static_cast<T>(folded(sum) / n_all));
                         for_each_part(at, size, rest, [&](int64_t part, int64_t rows, int64_t n) {
                           functions.add_differences(differences.data(), squares.data(),
                                                     plane + part, center.data(), rows, n);
                         });
                         all.add(around(static_cast<double>(center[0]), n_all, folded(differences),
                                        folded(squares)));
                       });
                     }
                     put(channel, all);
                   }
                 });
    return;
  }
  Pieces pieces(scratch);
  double* means = pieces.take<double>(blocks_ * width_);
  double* squares = pieces.take<double>(blocks_ * width_);
  T* tiles = pieces.take<T>(3 * blocks_ * width_);
  const auto block_begin = [&](int64_t block) { return rows_ * block / blocks_; };
  const double cost =
      kChannelCost * static_cast<double>(rows_ * width_) / static_cast<double>(blocks_);
  parallel_for(blocks_, cost, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      T *center = tiles + 3 * block * width_, *sum = center + width_, *square = sum + width_;
      double *block_mean = means + block * width_, *block_squares = squares + block * width_;
      std::fill_n(block_mean, width_, 0.0);
      std::fill_n(block_squares, width_, 0.0);
      double done = 0;
      for (int64_t row = block_begin(block); row < block_begin(block + 1); row += tile_rows_) {
        const int64_t rows = std::min(tile_rows_, block_begin(block + 1) - row);
        const auto n = static_cast<double>(rows);
        const T* tile = x + row * width_;
        std::fill_n(center, 3 * width_, T(0));
        functions.add(center, tile, rows, width_);
        for (int64_t i = 0; i < width_; ++i) center[i] /= static_cast<T>(rows);
        functions.add_differences(sum, square, tile, center, rows, width_);
        const double share = n / (done + n), weight = done * share;
        for (int64_t i = 0; i < width_; ++i) {
          const Moments moments =
              around(static_cast<double>(center[i]), n, static_cast<double>(sum[i]),
                     static_cast<double>(square[i]));
          const double difference = moments.mean - block_mean[i];
          block_mean[i] += difference * share;
          block_squares[i] += moments.squares + difference * difference * weight;
        }
        done += n;
      }
    }
  });
  for (int64_t channel = 0; channel < channels_; ++channel) {
    Moments all;
    for (int64_t block = 0; block < blocks_; ++block) {
      const auto n = static_cast<double>(block_begin(block + 1) - block_begin(block));
      for (int64_t i = channel; i < width_; i += channels_) {
        const int64_t at = block * width_ + i;
        all.add({.n = n, .mean = means[at], .squares = squares[at]});
      }
    }
    put(channel, all);
  }
}

template <typename T>
void Channels::apply(const T* x, T* y, const Affine<T>& affine, bool relu,
                     std::byte* scratch) const {
  const auto function = norm_rows<T>().apply[relu];
  if (side_by_side_) {
    Pieces pieces(scratch);
    const Affine<T> row = repeated(affine, channels_, width_, pieces);
    parallel_for(rows_, kChannelCost * static_cast<double>(width_),
                 [&](int64_t first, int64_t last) {
                   function(x + first * width_, y + first * width_, row, last - first, width_);
                 });
    return;
  }
  parallel_for(images_ * channels_, kChannelCost * static_cast<double>(places_),
               [&](int64_t first, int64_t last) {
                 for (int64_t unit = first; unit < last; ++unit) {
                   const int64_t channel = unit % channels_;
                   Lanes<T> mean, factor, shift;
                   mean.fill(affine.mean[channel]);
                   factor.fill(affine.factor[channel]);
                   shift.fill(affine.shift[channel]);
                   const Affine<T> row{mean.data(), factor.data(), shift.data()};
                   for_each_part(unit * places_, places_, places_ % kLanes,
                                 [&](int64_t part, int64_t rows, int64_t n) {
                                   function(x + part, y + part, row, rows, n);
                                 });
                 }
               });
}

template <typename T>
void Channels::products(const T* dy, const T* x, const Affine<T>& affine, bool relu, T* sum,
                        T* product, std::byte* scratch) const {
  const auto function = norm_rows<T>().add_products[relu];
  if (!side_by_side_) {
    parallel_for(
        channels_, kChannelCost * static_cast<double>(each()), [&](int64_t first, int64_t last) {
          for (int64_t channel = first; channel < last; ++channel) {
            Lanes<T> mean, factor, shift;
            mean.fill(affine.mean[channel]);
            factor.fill(affine.factor[channel]);
            shift.fill(affine.shift[channel]);
            const Affine<T> row{mean.data(), factor.data(), shift.data()};
            double all = 0, all_products = 0;
            for (int64_t image = 0; image < images_; ++image) {
              const int64_t plane = (image * channels_ + channel) * places_;
              for_each_tile(places_, [&](int64_t at, int64_t size, int64_t rest) {
                Lanes<T> sums{}, tile_products{};
                for_each_part(plane + at, size, rest, [&](int64_t part, int64_t rows, int64_t n) {
                  function(sums.data(), tile_products.data(), dy + part, x + part, row, rows, n);
                });
                all += folded(sums);
                all_products += folded(tile_products);
              });
            }
            sum[channel] = static_cast<T>(all);
            product[channel] = static_cast<T>(all_products);
          }
        });
    return;
  }
  Pieces pieces(scratch);
  const Affine<T> row = repeated(affine, channels_, width_, pieces);
  double* totals = pieces.take<double>(2 * blocks_ * width_);
  T* tiles = pieces.take<T>(2 * blocks_ * width_);
  const double cost =
      kChannelCost * static_cast<double>(rows_ * width_) / static_cast<double>(blocks_);
  parallel_for(blocks_, cost, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      double* total = totals + 2 * block * width_;
      T* tile = tiles + 2 * block * width_;
      std::fill_n(total, 2 * width_, 0.0);
      const int64_t end = rows_ * (block + 1) / blocks_;
      for (int64_t at = rows_ * block / blocks_; at < end; at += tile_rows_) {
        const int64_t rows = std::min(tile_rows_, end - at);
        std::fill_n(tile, 2 * width_, T(0));
        function(tile, tile + width_, dy + at * width_, x + at * width_, row, rows, width_);
        for (int64_t i = 0; i < 2 * width_; ++i) total[i] += static_cast<double>(tile[i]);
      }
    }
  });
  for (int64_t channel = 0; channel < channels_; ++channel) {
    double all = 0, all_products = 0;
    for (int64_t block = 0; block < blocks_; ++block) {
      const double* total = totals + 2 * block * width_;
      for (int64_t i = channel; i < width_; i += channels_) {
        all += total[i];
        all_products += total[width_ + i];
      }
    }
    sum[channel] = static_cast<T>(all);
    product[channel] = static_cast<T>(all_products);
  }
}

template <typename T>
void Channels::back(const T* dy, const T* x, T* dx, const Affine<T>& affine, const WayBack<T>& back,
                    bool relu, std::byte* scratch) const {
  const auto function = norm_rows<T>().back[relu];
  if (side_by_side_) {
    Pieces pieces(scratch);
    const Affine<T> row = repeated(affine, channels_, width_, pieces);
    const WayBack<T> row_back{repeated(back.slope, channels_, width_, pieces),
                              repeated(back.offset, channels_, width_, pieces)};
    parallel_for(rows_, kChannelCost * static_cast<double>(width_),
                 [&](int64_t first, int64_t last) {
                   const int64_t at = first * width_;
                   function(dy + at, x + at, dx + at, row, row_back, last - first, width_);
                 });
    return;
  }
  parallel_for(images_ * channels_, kChannelCost * static_cast<double>(places_),
               [&](int64_t first, int64_t last) {
                 for (int64_t unit = first; unit < last; ++unit) {
                   const int64_t channel = unit % channels_;
                   Lanes<T> mean, factor, shift, slope, offset;
                   mean.fill(affine.mean[channel]);
                   factor.fill(affine.factor[channel]);
                   shift.fill(affine.shift[channel]);
                   slope.fill(back.slope[channel]);
                   offset.fill(back.offset[channel]);
                   const Affine<T> row{mean.data(), factor.data(), shift.data()};
                   const WayBack<T> row_back{slope.data(), offset.data()};
                   for_each_part(unit * places_, places_, places_ % kLanes,
                                 [&](int64_t part, int64_t rows, int64_t n) {
                                   function(dy + part, x + part, dx + part, row, row_back, rows, n);
                                 });
                 }
               });
}

#define ONWARD_CHANNELS_OF(T)                                                                      \
  template void Channels::statistics(const T*, T*, T*, std::byte*) const;                          \
  template void Channels::apply(const T*, T*, const Affine<T>&, bool, std::byte*) const;           \
  template void Channels::products(const T*, const T*, const Affine<T>&, bool, T*, T*, std::byte*) \
      const;                                                                                       \
  template void Channels::back(const T*, const T*, T*, const Affine<T>&, const WayBack<T>&, bool,  \
                               std::byte*) const;
ONWARD_CHANNELS_OF(float)
ONWARD_CHANNELS_OF(double)

}  // namespace onward
