// The transforms of Winograd's convolution in two dimensions. Compiled for AVX2.

#include <cstring>

#include "runtime/kernels/panel_product.h"
#include "runtime/kernels/winograd.h"
#include "runtime/kernels/winograd_1d.h"

namespace onward {
namespace {

using winograd::Vector;

constexpr int64_t kVector = 8;
constexpr int64_t kTaps = 9;

Vector load(const float* at) {
  Vector vector;
  std::memcpy(&vector, at, sizeof vector);
  return vector;
}
void store(float* at, Vector vector) { std::memcpy(at, &vector, sizeof vector); }

/// Eight channels.
struct Whole {
  static Vector get(const float* at) { return load(at); }
  static void put(float* at, Vector vector) { store(at, vector); }
};

/// Fewer: zeros stand for those that there are not.
struct Part {
  int64_t count;
  Vector get(const float* at) const {
    Vector vector{};
    for (int64_t i = 0; i < count; ++i) vector[i] = at[i];
    return vector;
  }
  void put(float* at, Vector vector) const {
    for (int64_t i = 0; i < count; ++i) at[i] = vector[i];
  }
};

/// Calls do_vector(channel, Whole or Part) for each eight of the channels.
template <typename DoVector>
void for_vectors(int64_t channels, DoVector do_vector) {
  int64_t channel = 0;
  for (; channel + kVector <= channels; channel += kVector) do_vector(channel, Whole());
  if (channel < channels) do_vector(channel, Part{channels - channel});
}

struct Limits {
  int64_t first, last;
};

/// Which of `count` places from `start` on are in an image of this size.
Limits inside(int64_t start, int64_t count, int64_t size) {
  const int64_t first = start < 0 ? -start : 0, last = size - start < count ? size - start : count;
  return {first < count ? first : count, last > first ? last : first};
}

/// Where a tile of results is.
struct Place {
  int64_t image, row, column;
};

template <int kOut>
Place place_of(const Conv3x3& conv, int64_t tile) {
  const int64_t across = (conv.out_width + kOut - 1) / kOut,
                down = (conv.out_height + kOut - 1) / kOut;
  return {tile / (across * down), tile / across % down * kOut, tile % across * kOut};
}

template <typename F>
void transform_inputs(const Conv3x3& conv, const float* x, TileRange tiles, const Planes& planes) {
  constexpr int kIn = F::kIn;
  const int64_t line = conv.width * conv.channels;
  for (int64_t tile = tiles.first; tile < tiles.last; ++tile) {
    const Place place = place_of<F::kOut>(conv, tile);
    const int64_t top = place.row - conv.before_down, left = place.column - conv.before_across;
    const Limits rows = inside(top, kIn, conv.height), columns = inside(left, kIn, conv.width);
    // Only places inside of the image are read through it.
    const float* from = x + place.image * conv.height * line + top * line + left * conv.channels;
    float* to = planes.data + (tile - tiles.first) * planes.row;
    const bool all = rows.last - rows.first == kIn && columns.last - columns.first == kIn;
    for_vectors(conv.channels, [&](int64_t channel, auto some) {
      Vector across[kIn][kIn], line_in[kIn], line_out[kIn];
      for (int column = 0; column < kIn; ++column) {
        const float* at = from + column * conv.channels + channel;
        if (all) {
          for (int row = 0; row < kIn; ++row) line_in[row] = some.get(at + row * line);
        } else {
          const bool in = column >= columns.first && column < columns.last;
          for (int row = 0; row < kIn; ++row) {
            const bool read = in && row >= rows.first && row < rows.last;
            line_in[row] = read ? some.get(at + row * line) : Vector{};
          }
        }
        F::input(line_in, line_out);
        for (int row = 0; row < kIn; ++row) across[row][column] = line_out[row];
      }
      for (int row = 0; row < kIn; ++row) {
        F::input(across[row], line_out);
        for (int column = 0; column < kIn; ++column) {
          store(to + (row * kIn + column) * planes.plane + channel, line_out[column]);
        }
      }
    });
  }
}

template <typename F>
void transform_results(const Conv3x3& conv, const Planes& planes, TileRange tiles,
                       const float* bias, float* y) {
  constexpr int kIn = F::kIn, kOut = F::kOut;
  const int64_t line = conv.out_width * conv.outputs;
  for (int64_t tile = tiles.first; tile < tiles.last; ++tile) {
    const Place place = place_of<kOut>(conv, tile);
    const Limits rows = inside(place.row, kOut, conv.out_height),
                 columns = inside(place.column, kOut, conv.out_width);
    float* to =
        y + place.image * conv.out_height * line + place.row * line + place.column * conv.outputs;
    const float* from = planes.data + (tile - tiles.first) * planes.row;
    for_vectors(conv.outputs, [&](int64_t output, auto some) {
      Vector across[kOut][kIn], line_in[kIn], line_out[kOut];
      const Vector more = bias ? some.get(bias + output) : Vector{};
      for (int column = 0; column < kIn; ++column) {
        for (int row = 0; row < kIn; ++row) {
          line_in[row] = load(from + (row * kIn + column) * planes.plane + output);
        }
        F::result(line_in, line_out);
        for (int row = 0; row < kOut; ++row) across[row][column] = line_out[row];
      }
      for (int64_t row = 0; row < rows.last; ++row) {
        F::result(across[row], line_out);
        float* at = to + row * line + output;
        for (int64_t column = 0; column < columns.last; ++column) {
          some.put(at + column * conv.outputs, line_out[column] + more);
        }
      }
    });
  }
}

template <typename F>
void transform_gradients(const Conv3x3& conv, const float* dy, TileRange tiles, int64_t base,
                         const Planes& planes) {
  constexpr int kIn = F::kIn, kOut = F::kOut;
  const int64_t line = conv.out_width * conv.outputs;
  for (int64_t tile = tiles.first; tile < tiles.last; ++tile) {
    const Place place = place_of<kOut>(conv, tile);
    const Limits rows = inside(place.row, kOut, conv.out_height),
                 columns = inside(place.column, kOut, conv.out_width);
    const float* from =
        dy + place.image * conv.out_height * line + place.row * line + place.column * conv.outputs;
    float* rows_of = planes.data + (tile - base) * kPanel;
    // The last panel has zeros beyond the outputs.
    for (int64_t output = 0; output < panels_of(conv.outputs) * kPanel; output += kVector) {
      const auto transform = [&](auto some) {
        Vector across[kIn][kOut], line_in[kOut], line_out[kIn];
        for (int column = 0; column < kOut; ++column) {
          for (int row = 0; row < kOut; ++row) {
            const bool read = row < rows.last && column < columns.last;
            line_in[row] =
                read ? some.get(from + row * line + column * conv.outputs + output) : Vector{};
          }
          F::gradient(line_in, line_out);
          for (int row = 0; row < kIn; ++row) across[row][column] = line_out[row];
        }
        float* to = rows_of + output / kPanel * planes.row + output % kPanel;
        for (int row = 0; row < kIn; ++row) {
          F::gradient(across[row], line_out);
          for (int column = 0; column < kIn; ++column) {
            store(to + (row * kIn + column) * planes.plane, line_out[column]);
          }
        }
      };
      if (output + kVector <= conv.outputs) {
        transform(Whole());
      } else {
        transform(Part{conv.outputs - output});
      }
    }
  }
}

/// Turns eight vectors of eight into their columns.
void transpose(const Vector* rows, Vector* columns) {
  Vector pairs[8], fours[8];
  for (int i = 0; i < 4; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    pairs[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[2 * i + 1] = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Vector a = pairs[4 * i + j], b = pairs[4 * i + 2 + j];
      fours[4 * i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[4 * i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    columns[i] = __builtin_shufflevector(fours[i], fours[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
    columns[4 + i] = __builtin_shufflevector(fours[i], fours[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// Eight outputs of eight inputs, or as many as there are: 72 numbers of each output lie side by
/// side, as [input][tap].
struct WeightBlock {
  static constexpr int64_t kNumbers = kVector * kTaps;
  Vector of_outputs[kNumbers];  // a vector has eight outputs

  void read(const float* w, int64_t outputs, int64_t inputs, int64_t output, int64_t input) {
    const float* from = w + (output * inputs + input) * kTaps;
    if (output + kVector <= outputs && input + kVector <= inputs) {
      transpose_from(from, inputs * kTaps);
      return;
    }
    float some[kVector][kNumbers] = {};
    const int64_t numbers = (inputs - input) * kTaps;
    for (int64_t o = 0; o < kVector && output + o < outputs; ++o) {
      for (int64_t i = 0; i < kNumbers && i < numbers; ++i)
        some[o][i] = from[o * inputs * kTaps + i];
    }
    transpose_from(some[0], kNumbers);
  }

  void write(float* w, int64_t outputs, int64_t inputs, int64_t output, int64_t input) const {
    float some[kVector][kNumbers];
    for (int64_t i = 0; i < kNumbers; i += kVector) {
      Vector rows[kVector];
      transpose(of_outputs + i, rows);
      for (int64_t o = 0; o < kVector; ++o) store(some[o] + i, rows[o]);
    }
    const int64_t numbers = (inputs - input) * kTaps;
    for (int64_t o = 0; o < kVector && output + o < outputs; ++o) {
      float* to = w + ((output + o) * inputs + input) * kTaps;
      for (int64_t i = 0; i < kNumbers && i < numbers; ++i) to[i] = some[o][i];
    }
  }

 private:
  void transpose_from(const float* from, int64_t step) {
    for (int64_t i = 0; i < kNumbers; i += kVector) {
      Vector rows[kVector];
      for (int64_t o = 0; o < kVector; ++o) rows[o] = load(from + o * step + i);
      transpose(rows, of_outputs + i);
    }
  }
};

/// G w G^T of nine taps, to one place of each plane.
template <typename F>
void transform_taps(const Vector* taps, float* to, int64_t plane) {
  constexpr int kIn = F::kIn;
  Vector across[kIn][3], line_out[kIn];
  for (int column = 0; column < 3; ++column) {
    const Vector line_in[3] = {taps[column], taps[3 + column], taps[6 + column]};
    F::weights(line_in, line_out);
    for (int row = 0; row < kIn; ++row) across[row][column] = line_out[row];
  }
  for (int row = 0; row < kIn; ++row) {
    F::weights(across[row], line_out);
    for (int column = 0; column < kIn; ++column) {
      store(to + (row * kIn + column) * plane, line_out[column]);
    }
  }
}

template <typename F>
void transform_weights(const float* w, int64_t outputs, int64_t inputs, bool turned,
                       int64_t first_panel, int64_t last_panel, const Planes& planes) {
  const int64_t depth = turned ? outputs : inputs;  // what products sum over
  WeightBlock block;
  for (int64_t column = first_panel * kPanel; column < last_panel * kPanel; column += kVector) {
    float* to = planes.data + column / kPanel * planes.row + column % kPanel;
    for (int64_t k = 0; k < depth; k += kVector) {
      block.read(w, outputs, inputs, turned ? k : column, turned ? column : k);
      Vector by_row[kVector][kTaps];
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        Vector of_tap[kVector], rows[kVector];
        for (int64_t i = 0; i < kVector; ++i) of_tap[i] = block.of_outputs[i * kTaps + tap];
        if (turned) transpose(of_tap, rows);
        for (int64_t i = 0; i < kVector; ++i) {
          by_row[i][turned ? kTaps - 1 - tap : tap] = turned ? rows[i] : of_tap[i];
        }
      }
      for (int64_t i = 0; i < kVector && k + i < depth; ++i) {
        transform_taps<F>(by_row[i], to + (k + i) * kPanel, planes.plane);
      }
    }
  }
}

template <typename F>
void transform_gradient_of_weights(const Conv3x3& conv, const Planes& planes, int64_t first_channel,
                                   int64_t last_channel, float* dw) {
  constexpr int kIn = F::kIn;
  WeightBlock block{};
  for (int64_t output = 0; output < conv.outputs; output += kVector) {
    for (int64_t channel = first_channel; channel < last_channel; channel += kVector) {
      for (int64_t i = 0; i < kVector && channel + i < last_channel; ++i) {
        const float* from = planes.data + (channel + i) * planes.row + output;
        Vector across[3][kIn], line_in[kIn], line_out[3];
        for (int column = 0; column < kIn; ++column) {
          for (int row = 0; row < kIn; ++row) {
            line_in[row] = load(from + (row * kIn + column) * planes.plane);
          }
          F::gradient_of_weights(line_in, line_out);
          for (int row = 0; row < 3; ++row) across[row][column] = line_out[row];
        }
        for (int row = 0; row < 3; ++row) {
          F::gradient_of_weights(across[row], line_out);
          for (int column = 0; column < 3; ++column) {
            block.of_outputs[i * kTaps + row * 3 + column] = line_out[column];
          }
        }
      }
      block.write(dw, conv.outputs, conv.channels, output, channel);
    }
  }
}

template <typename F>
constexpr WinogradParts kParts = {.out = F::kOut,
                                  .in = F::kIn,
                                  .weights = transform_weights<F>,
                                  .inputs = transform_inputs<F>,
                                  .results = transform_results<F>,
                                  .gradients = transform_gradients<F>,
                                  .gradient_of_weights = transform_gradient_of_weights<F>};

}  // namespace

const WinogradParts& winograd_parts(int64_t out) {
  return out == winograd::F2::kOut ? kParts<winograd::F2> : kParts<winograd::F4>;
}

}  // namespace onward
