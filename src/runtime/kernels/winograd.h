#pragma once

#include <cstdint>

namespace onward {

/// A convolution of 3x3 taps with stride 1 over images with channels last. The gradient by its
/// input is another one.
struct Conv3x3 {
  int64_t images, height, width, channels;
  int64_t out_height, out_width, outputs;
  int64_t before_down, before_across;  // padding
};

/// Numbers by place in a tile, then by `row` (a tile or a channel), then as they lie side by side.
struct Planes {
  float* data;
  int64_t row, plane;  // steps
};

/// Some of the tiles that the results of all images are cut into.
struct TileRange {
  int64_t first, last;
};

/// Winograd's convolution F(out x out, 3x3): with G, B and A the matrices of `kOut`
/// (winograd_1d.h), a tile of y is A^T [(G w G^T) * (B^T x B)] A, a product for each of in x in
/// places, which sums over channels: in^2 / (9 out^2) of the multiplications.
struct WinogradParts {
  int64_t out, in;

  /// G w G^T, in panels of 16 outputs (or of inputs, turned round, for the gradient by the input)
  /// from one panel to another. `planes.row` is the step from one panel to the next.
  void (*weights)(const float* w, int64_t outputs, int64_t inputs, bool turned, int64_t first_panel,
                  int64_t last_panel, const Planes& planes);
  /// B^T x B of tiles, of which the first goes to row 0. Beyond the channels are zeros, up to a
  /// multiple of 8.
  void (*inputs)(const Conv3x3& conv, const float* x, TileRange tiles, const Planes& planes);
  /// A^T m A with the bias, if there is one.
  void (*results)(const Conv3x3& conv, const Planes& planes, TileRange tiles, const float* bias,
                  float* y);

  /// A dy A^T of tiles, in panels of 16 outputs; `planes.row` is the step from one panel to the
  /// next and row 0 of each is tile `base`.
  void (*gradients)(const Conv3x3& conv, const float* dy, TileRange tiles, int64_t base,
                    const Planes& planes);
  /// G^T m G, as the standard has weights, of these channels: whole eights of them, but for the
  /// last.
  void (*gradient_of_weights)(const Conv3x3& conv, const Planes& planes, int64_t first_channel,
                              int64_t last_channel, float* dw);
};

/// For tiles of 2x2 or 4x4 results. Only for machines with AVX2.
const WinogradParts& winograd_parts(int64_t out);

}  // namespace onward
