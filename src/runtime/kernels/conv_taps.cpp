// dw[o][c] of a tap is the sum over places of x[place][c] * dy[place][o]. The rows of both are
// copied together for some places at a time, as many as a product keeps in the first cache.

#include "runtime/kernels/conv_taps.h"

#include <algorithm>

#include "ops/window.h"
#include "runtime/conv_method.h"
#include "runtime/kernels/panel_product.h"
#include "runtime/parallel.h"
#include "runtime/tile.h"

namespace onward {
namespace {

constexpr int64_t kPlaces = 192;

/// How the windows lie in one dimension.
struct Along {
  int64_t x, y, taps, stride, dilation, before;

  int64_t source(int64_t at, int64_t tap) const { return at * stride + tap * dilation - before; }
  /// The places of y, from one to another, at which a tap is inside of x.
  std::pair<int64_t, int64_t> places(int64_t tap) const {
    int64_t first = 0, last = y;
    while (first < last && source(first, tap) < 0) ++first;
    while (last > first && source(last - 1, tap) >= x) --last;
    return {first, last};
  }
};

struct TapSums {
  int64_t images, channels, outputs;
  Along down, across;

  int64_t taps() const { return down.taps * across.taps; }
  int64_t panels() const { return panels_of(outputs); }
  int64_t weights() const { return taps() * channels * panels() * kPanel; }
  int64_t x_row() const { return channels + kPanel; }  // no power of two: rows are read across
  int64_t copied() const { return kPlaces * (x_row() + panels() * kPanel); }
  double flops() const { return 2.0 * static_cast<double>(images * down.y * across.y * weights()); }
};

TapSums sums_of(const Node& node) {
  const auto x = *static_dims(*node.input(0)), dy = *static_dims(*node.input(1)),
             w = *static_dims(*node.output(0));
  const Window window = read_window(node, std::span(x).subspan(2), {w[2], w[3]});
  window.require_result(dy);
  const auto along = [&](size_t d) {
    return Along{.x = x[2 + d],
                 .y = dy[2 + d],
                 .taps = w[2 + d],
                 .stride = window.strides[d],
                 .dilation = window.dilations[d],
                 .before = window.before[d]};
  };
  return {.images = x[0], .channels = x[1], .outputs = w[0], .down = along(0), .across = along(1)};
}

struct Span {
  int64_t first, last;
};

/// Adds up one tap for some images and some panels of outputs; what it writes was not set before.
class TapSum {
 public:
  TapSum(const TapSums& s, const float* x, const float* dy, float* copied)
      : s_(s), x_(x), dy_(dy), copied_x_(copied), copied_dy_(copied + kPlaces * s.x_row()) {}

  void add_up(int64_t tap, Span images, Span panels, float* sums) {
    sums_ = sums + tap * s_.channels * s_.panels() * kPanel;
    panels_ = panels;
    is_set_ = false;
    const int64_t down = tap / s_.across.taps, across = tap % s_.across.taps;
    const auto [top, bottom] = s_.down.places(down);
    const auto [left, right] = s_.across.places(across);
    for (int64_t image = images.first; image < images.last; ++image) {
      for (int64_t row = top; row < bottom; ++row) {
        const float* x_row =
            x_ + (image * s_.down.x + s_.down.source(row, down)) * s_.across.x * s_.channels;
        const float* dy_row = dy_ + (image * s_.down.y + row) * s_.across.y * s_.outputs;
        for (int64_t column = left; column < right; ++column) {
          take(x_row + s_.across.source(column, across) * s_.channels,
               dy_row + column * s_.outputs);
        }
      }
    }
    if (count_ > 0 || !is_set_) multiply_places();
  }

 private:
  void take(const float* x, const float* dy) {
    std::copy_n(x, s_.channels, copied_x_ + count_ * s_.x_row());
    for (int64_t panel = panels_.first; panel < panels_.last; ++panel) {
      float* to = copied_dy_ + ((panel - panels_.first) * kPlaces + count_) * kPanel;
      const int64_t some = s_.outputs - panel * kPanel;
      if (some >= kPanel) {  // of a size that the compiler knows
        std::copy_n(dy + panel * kPanel, kPanel, to);
      } else {
        std::copy_n(dy + panel * kPanel, some, to);
        std::fill_n(to + some, kPanel - some, 0.0F);
      }
    }
    if (++count_ == kPlaces) multiply_places();
  }

  void multiply_places() {
    const PanelProduct product{.rows = s_.channels,
                               .k = count_,
                               .columns = (panels_.last - panels_.first) * kPanel,
                               .a_row = 1,
                               .a_k = s_.x_row(),
                               .b_panel = kPlaces * kPanel,
                               .y_row = s_.panels() * kPanel,
                               .add = is_set_,
                               .chunk = kPlaces};
    float* to = sums_ + panels_.first * kPanel;
    if (count_ > 0) {
      product.run(copied_x_, copied_dy_, to);
    } else {  // the tap meets padding alone
      for (int64_t c = 0; c < s_.channels; ++c) {
        std::fill_n(to + c * product.y_row, product.columns, 0.0F);
      }
    }
    is_set_ = true;
    count_ = 0;
  }

  const TapSums& s_;
  const float *x_, *dy_;
  float *copied_x_, *copied_dy_, *sums_ = nullptr;
  Span panels_{};
  int64_t count_ = 0;
  bool is_set_ = false;
};

/// Adds the parts up, in order, and puts each weight where the standard has it.
void put_weights(const TapSums& s, const float* parts, int64_t count, float* dw) {
  const int64_t row = s.panels() * kPanel, taps = s.taps();
  const double cost = static_cast<double>(kPanel * s.channels * taps * count);
  parallel_for(s.panels(), cost, [&](int64_t first, int64_t last) {
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t some = std::min(kPanel, s.outputs - panel * kPanel);
      for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const float* from = parts + (tap * s.channels + c) * row + panel * kPanel;
          float* to = dw + (panel * kPanel * s.channels + c) * taps + tap;
          for (int64_t o = 0; o < some; ++o) {
            float sum = from[o];
            for (int64_t part = 1; part < count; ++part) sum += from[part * s.weights() + o];
            to[o * s.channels * taps] = sum;
          }
        }
      }
    }
  });
}

/// By images, where these are many places and each thread can have sums of its own: else every
/// thread copies all of x for the outputs that it computes.
bool splits_images(const TapSums& s) {
  constexpr int64_t kManyPlaces = 4096, kFewWeights = 1 << 18;  // measured
  return s.images >= threads() && s.images * s.down.y * s.across.y >= kManyPlaces &&
         s.weights() <= kFewWeights;
}

}  // namespace

Reason refuses_taps(const Node& node) {
  if (node.output(0)->type.dtype != DType::f32) return "not f32";
  if (!has_avx2()) return "no AVX2";
  const auto w = *static_dims(*node.output(0));
  if (w.size() != 4) return "not 2 spatial dimensions";
  if (node.int_or("group", 1) != 1) return "groups";
  for (const Value* value : {node.input(0), node.input(1), node.output(0)}) {
    if (checked_element_count(*static_dims(*value)) == 0) return "no elements";
  }
  if (conv_method() == ConvMethod::taps) return {};
  // Measured (bench/conv_bench.cpp): oneDNN takes 2 to 3 times as long for images of one place or
  // four, most of whose windows is padding, but where it has AVX-512; half as long for large ones.
  constexpr int64_t kMaxPlaces = 4, kMinChannels = 32;
  const auto dy = *static_dims(*node.input(1));
  if (w[2] * w[3] == 1 || dy[2] * dy[3] > kMaxPlaces) return "large images: others are as fast";
  if (has_avx512()) return "oneDNN with AVX-512 is as fast";
  if (std::min(w[0], w[1]) < kMinChannels) return "few channels: others are as fast";
  return {};
}

// ConvGradW(x, dy, w_shape)
void make_conv_grad_w_by_taps(Site& site) {
  const TapSums s = sums_of(site.node());
  const bool by_images = splits_images(s);
  const int64_t team = threads(), parts = by_images ? team : 1;
  // Pieces of work are the outputs of one tap, or some of them where that makes it even.
  int64_t groups = 1;
  while (s.taps() * groups % team != 0 && s.panels() % (2 * groups) == 0) groups *= 2;
  const SlotIndex x = site.input(0, Layout::channels_last),
                  dy = site.input(1, Layout::channels_last), dw = site.output(0);
  const SlotIndex scratch =
      site.scratch(static_cast<size_t>(parts * s.weights() + team * s.copied()) * sizeof(float));
  site.action([=](const Run& run) {
    float *sums = run.at<float>(scratch), *copies = sums + parts * s.weights();
    const auto sum_of = [&](int64_t thread) {
      return TapSum(s, run.at<float>(x), run.at<float>(dy), copies + thread * s.copied());
    };
    if (by_images) {
      parallel_for(parts, product_cost(s.flops()) / static_cast<double>(parts),
                   [&](int64_t first, int64_t last, int64_t thread) {
                     TapSum sum = sum_of(thread);
                     for (int64_t part = first; part < last; ++part) {
                       const Span images{s.images * part / parts, s.images * (part + 1) / parts};
                       for (int64_t tap = 0; tap < s.taps(); ++tap) {
                         sum.add_up(tap, images, {0, s.panels()}, sums + part * s.weights());
                       }
                     }
                   });
    } else {
      const int64_t pieces = s.taps() * groups;
      parallel_for(pieces, product_cost(s.flops()) / static_cast<double>(pieces),
                   [&](int64_t first, int64_t last, int64_t thread) {
                     TapSum sum = sum_of(thread);
                     for (int64_t piece = first; piece < last; ++piece) {
                       const int64_t group = piece % groups;
                       sum.add_up(piece / groups, {0, s.images},
                                  {s.panels() * group / groups, s.panels() * (group + 1) / groups},
                                  sums);
                     }
                   });
    }
    put_weights(s, sums, parts, run.at<float>(dw));
  });
}

}  // namespace onward
