// With channels last, the numbers of x that the taps of a row of the kernel read at one place lie
// side by side: j = tap * channels + channel. So dw[kh][j][o] is the sum over places of
// x[place][j] * dy[place][o], a product of matrices without any copy but the padding's.

#include "runtime/kernels/conv_weights.h"

#include <algorithm>
#include <array>

#include "ops/window.h"
#include "runtime/parallel.h"
#include "runtime/tile.h"

namespace onward {
namespace {

constexpr int64_t kVector = 8;    // floats
constexpr int64_t kRows = 6;      // 6 x 2 vectors of sums, and 3 for operands, in 16 registers
constexpr int64_t kPiece = 4096;  // floats of x, and of dy, that fit the first cache together
constexpr int64_t kMaxWeights = 75'000;  // of which each thread's sums fit the second cache

using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));

/// The piece of an image that is walked over.
struct Piece {
  int64_t rows, columns;
  int64_t x_row, x_column, dy_row, dy_column;  // steps from one place to the next
  int64_t outputs;                             // from one j to the next in the sums
};

/// Adds the products of J numbers of x and V vectors of dy, for every place, to J x V vectors.
template <int J, int V>
__attribute__((target("avx2,fma"))) void add_products(const float* x, const float* dy, float* sums,
                                                      const Piece& piece) {
  Vector sum[J][V];
  for (int j = 0; j < J; ++j) {
    for (int v = 0; v < V; ++v) {
      sum[j][v] = *reinterpret_cast<const Vector*>(sums + j * piece.outputs + v * kVector);
    }
  }
  for (int64_t row = 0; row < piece.rows; ++row) {
    const float *from = x + row * piece.x_row, *by = dy + row * piece.dy_row;
    for (int64_t column = 0; column < piece.columns; ++column) {
      Vector d[V];
      for (int v = 0; v < V; ++v) d[v] = *reinterpret_cast<const Vector*>(by + v * kVector);
      for (int j = 0; j < J; ++j) {
        for (int v = 0; v < V; ++v) sum[j][v] += from[j] * d[v];
      }
      from += piece.x_column;
      by += piece.dy_column;
    }
  }
  for (int j = 0; j < J; ++j) {
    for (int v = 0; v < V; ++v) {
      *reinterpret_cast<Vector*>(sums + j * piece.outputs + v * kVector) = sum[j][v];
    }
  }
}

using AddProducts = void (*)(const float*, const float*, float*, const Piece&);

template <int V>
constexpr std::array<AddProducts, kRows> kByRows = {add_products<1, V>, add_products<2, V>,
                                                    add_products<3, V>, add_products<4, V>,
                                                    add_products<5, V>, add_products<6, V>};

/// Everything about a convolution in two dimensions.
struct Extents {
  int64_t images, channels, outputs;
  int64_t x_height, x_width, height, width;  // of x and y
  int64_t taps_down, taps_across, stride_down, stride_across, before_down, before_across;
  int64_t piece_rows, piece_columns;

  int64_t numbers() const { return taps_across * channels; }  // that j counts
  int64_t weights() const { return taps_down * numbers() * outputs; }
  int64_t x_rows() const { return (piece_rows - 1) * stride_down + taps_down; }
  int64_t x_columns() const { return (piece_columns - 1) * stride_across + taps_across; }
  int64_t strips() const { return (height + piece_rows - 1) / piece_rows; }
};

Extents geometry_of(const Node& node) {
  const auto x = *static_dims(*node.input(0)), dy = *static_dims(*node.input(1)),
             w = *static_dims(*node.output(0));
  const Window window = read_window(node, std::span(x).subspan(2), {w[2], w[3]});
  window.require_result(dy);
  Extents s{.images = x[0],
            .channels = x[1],
            .outputs = w[0],
            .x_height = x[2],
            .x_width = x[3],
            .height = dy[2],
            .width = dy[3],
            .taps_down = w[2],
            .taps_across = w[3],
            .stride_down = window.strides[0],
            .stride_across = window.strides[1],
            .before_down = window.before[0],
            .before_across = window.before[1],
            .piece_rows = 1,
            .piece_columns = 1};
  const int64_t wide = std::max(s.outputs, s.channels * s.stride_across);
  s.piece_columns = std::clamp<int64_t>(kPiece / wide, 1, s.width);
  s.piece_rows = std::clamp<int64_t>(kPiece / (wide * s.piece_columns), 1, s.height);
  return s;
}

/// Copies the part of an image that a piece reads, with zeros for the padding.
void copy_piece(const Extents& s, const float* image, int64_t row, int64_t column, float* to) {
  const int64_t left = column * s.stride_across - s.before_across;
  const int64_t first = std::clamp<int64_t>(-left, 0, s.x_columns());
  const int64_t last = std::clamp<int64_t>(s.x_width - left, first, s.x_columns());
  for (int64_t r = 0; r < s.x_rows(); ++r, to += s.x_columns() * s.channels) {
    const int64_t y = row * s.stride_down - s.before_down + r;
    if (y < 0 || y >= s.x_height) {
      std::fill_n(to, s.x_columns() * s.channels, 0.0F);
      continue;
    }
    std::fill_n(to, first * s.channels, 0.0F);
    std::copy_n(image + (y * s.x_width + left + first) * s.channels, (last - first) * s.channels,
                to + first * s.channels);
    std::fill_n(to + last * s.channels, (s.x_columns() - last) * s.channels, 0.0F);
  }
}

/// Adds what one strip of rows of an image gives to all sums.
void add_strip(const Extents& s, const float* x, const float* dy, int64_t row, float* copied,
               float* sums) {
  const int64_t rows = std::min(s.piece_rows, s.height - row);
  for (int64_t column = 0; column < s.width; column += s.piece_columns) {
    const Piece piece{.rows = rows,
                      .columns = std::min(s.piece_columns, s.width - column),
                      .x_row = s.stride_down * s.x_columns() * s.channels,
                      .x_column = s.stride_across * s.channels,
                      .dy_row = s.width * s.outputs,
                      .dy_column = s.outputs,
                      .outputs = s.outputs};
    copy_piece(s, x, row, column, copied);
    const float* from = dy + (row * s.width + column) * s.outputs;
    for (int64_t down = 0; down < s.taps_down; ++down) {
      const float* line = copied + down * s.x_columns() * s.channels;
      for (int64_t j = 0; j < s.numbers(); j += kRows) {
        const auto some = static_cast<size_t>(std::min(kRows, s.numbers() - j)) - 1;
        float* to = sums + (down * s.numbers() + j) * s.outputs;
        int64_t o = 0;
        for (; o + 2 * kVector <= s.outputs; o += 2 * kVector) {
          kByRows<2>[some](line + j, from + o, to + o, piece);
        }
        if (o < s.outputs) kByRows<1>[some](line + j, from + o, to + o, piece);
      }
    }
  }
}

/// Adds the parts up, in order, and puts each weight where the standard has it.
void finish(const Extents& s, const float* parts, int64_t count, float* dw) {
  for (int64_t o = 0; o < s.outputs; ++o) {
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t tap = 0; tap < s.taps_down * s.taps_across; ++tap) {
        float sum = 0;
        for (int64_t part = 0; part < count; ++part) {
          sum += parts[part * s.weights() + (tap * s.channels + c) * s.outputs + o];
        }
        *dw++ = sum;
      }
    }
  }
}

}  // namespace

Reason refuses_register_sums(const Node& node) {
  if (node.output(0)->type.dtype != DType::f32) return "not f32";
  if (!has_avx2()) return "no AVX2";
  const auto w = *static_dims(*node.output(0));
  if (w.size() != 4) return "not 2 spatial dimensions";
  if (node.int_or("group", 1) != 1) return "groups";
  if (w[0] % kVector != 0) return "output channels are not a multiple of 8";
  if (checked_element_count(w) > kMaxWeights) return "many weights: oneDNN is as fast";
  for (const Value* value : {node.input(0), node.input(1)}) {
    if (checked_element_count(*static_dims(*value)) == 0) return "no elements";
  }
  const auto* dilations = node.get<std::vector<int64_t>>("dilations");
  if (dilations && std::ranges::any_of(*dilations, [](int64_t d) { return d != 1; })) {
    return "dilated";
  }
  if (pads_whole_windows(node, std::span(w).subspan(2))) return "windows in the padding alone";
  return {};
}

// ConvGradW(x, dy, w_shape)
void make_conv_grad_w_in_registers(Site& site) {
  const Extents s = geometry_of(site.node());
  const int64_t parts = threads();  // one a thread: more would be more to add up
  const int64_t copied = s.x_rows() * s.x_columns() * s.channels;
  const SlotIndex x = site.input(0, Layout::channels_last),
                  dy = site.input(1, Layout::channels_last), dw = site.output(0);
  const SlotIndex scratch =
      site.scratch(static_cast<size_t>(parts * (s.weights() + copied)) * sizeof(float));
  site.action([=](const Run& run) {
    float* sums = run.at<float>(scratch);
    const int64_t strips = s.images * s.strips();
    const double cost = static_cast<double>(s.images * s.height * s.width * s.weights()) / 40 /
                        static_cast<double>(parts);
    parallel_for(parts, cost, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        float* own = sums + part * s.weights();
        std::fill_n(own, s.weights(), 0.0F);
        for (int64_t i = strips * part / parts; i < strips * (part + 1) / parts; ++i) {
          const int64_t image = i / s.strips(), row = i % s.strips() * s.piece_rows;
          add_strip(s, run.at<float>(x) + image * s.x_height * s.x_width * s.channels,
                    run.at<float>(dy) + image * s.height * s.width * s.outputs, row,
                    sums + parts * s.weights() + part * copied, own);
        }
      }
    });
    finish(s, sums, parts, run.at<float>(dw));
  });
}

}  // namespace onward
