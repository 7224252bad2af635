// Winograd's convolutions: what is computed where, by how many threads. The transforms themselves
// are in winograd_with_avx2.cpp. Weights are transformed in an action of its own, which runs once
// where they are constant.

#include "runtime/kernels/conv_winograd.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/window.h"
#include "runtime/buffer.h"
#include "runtime/conv_method.h"
#include "runtime/kernels/panel_product.h"
#include "runtime/kernels/winograd.h"
#include "runtime/parallel.h"
#include "runtime/tile.h"

namespace onward {
namespace {

constexpr int64_t kChannels = 8;  // that a vector has
// The transform of the result makes the errors of sums larger. With sums of 256 products F(4x4,3x3)
// is two to three times as wrong as a direct sum, with these about as much.
constexpr int64_t kPreciseChunk = 32;

int64_t round_up(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

/// A step between planes of so many floats. With an odd number of cache lines, what has the same
/// place in all planes does not meet in the same few lines of a cache.
int64_t plane_step(int64_t floats) {
  constexpr int64_t kLine = kCacheLine / sizeof(float);
  return (round_up(floats, kLine) / kLine | 1) * kLine;
}

/// A convolution, with what follows for its tiles and planes.
struct Work {
  const WinogradParts& parts;
  Conv3x3 conv;

  int64_t places() const { return parts.in * parts.in; }
  int64_t tiles() const {
    const auto along = [&](int64_t size) { return (size + parts.out - 1) / parts.out; };
    return conv.images * along(conv.out_height) * along(conv.out_width);
  }
  int64_t input_row() const { return round_up(conv.channels, kChannels); }
  int64_t result_row() const { return panels_of(conv.outputs) * kPanel; }
  int64_t weight_plane() const { return plane_step(conv.channels * result_row()); }
  /// Of products alone, of one tile, for one thread in nanoseconds.
  double tile_cost() const {
    return product_cost(2.0 * static_cast<double>(places() * conv.channels * result_row()));
  }
};

Conv3x3 conv_of(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                const std::vector<int64_t>& y) {
  const Window window = read_window(node, std::span(x).subspan(2), {w[2], w[3]});
  window.require_result(y);
  return {.images = x[0],
          .height = x[2],
          .width = x[3],
          .channels = x[1],
          .out_height = y[2],
          .out_width = y[3],
          .outputs = y[1],
          .before_down = window.before[0],
          .before_across = window.before[1]};
}

/// dx is the convolution of dy with the weights turned round.
Conv3x3 backward(const Conv3x3& conv) {
  return {.images = conv.images,
          .height = conv.out_height,
          .width = conv.out_width,
          .channels = conv.outputs,
          .out_height = conv.height,
          .out_width = conv.width,
          .outputs = conv.channels,
          .before_down = 2 - conv.before_down,
          .before_across = 2 - conv.before_across};
}

/// Weights, input 1, transformed.
SlotIndex transformed_weights(Site& site, const Work& work, bool turned) {
  const int64_t plane = work.weight_plane(), panels = panels_of(work.conv.outputs);
  const auto [from, to] =
      site.rearranged(1, static_cast<size_t>(work.places() * plane) * sizeof(float));
  const int64_t outputs = turned ? work.conv.channels : work.conv.outputs,
                inputs = turned ? work.conv.outputs : work.conv.channels;
  const double cost = static_cast<double>(work.conv.channels * kPanel) * 2;
  site.before("transform of weights", {from}, {to}, [=, from = from, to = to](const Run& run) {
    const Planes planes{
        .data = run.at<float>(to), .row = work.conv.channels * kPanel, .plane = plane};
    parallel_for(panels, cost, [&](int64_t first, int64_t last) {
      work.parts.weights(run.at<float>(from), outputs, inputs, turned, first, last, planes);
    });
  });
  return to;
}

/// The products of all places, or of some, with transformed weights.
void multiply(const Work& work, int64_t tiles, int64_t first_place, int64_t last_place,
              const Planes& inputs, const float* weights, const Planes& results) {
  const PanelProduct product{.rows = tiles,
                             .k = work.conv.channels,
                             .columns = work.result_row(),
                             .a_row = inputs.row,
                             .a_k = 1,
                             .b_panel = work.conv.channels * kPanel,
                             .y_row = results.row,
                             .chunk = kPreciseChunk};
  for (int64_t place = first_place; place < last_place; ++place) {
    product.run(inputs.data + place * inputs.plane, weights + place * work.weight_plane(),
                results.data + place * results.plane);
  }
}

struct Slots {
  SlotIndex x, weights, bias, y, scratch;
};

/// Each thread takes tiles from the image to the result, a block at a time that stays in its
/// caches: for weights that do so too.
void add_by_tiles(Site& site, const Work& work, Slots slots) {
  const int64_t bytes_a_tile = work.places() * (work.input_row() + work.result_row()) * 4;
  const int64_t budget = work.conv.channels >= 256 ? 6 << 20 : 3 << 19;  // of a thread, measured
  const int64_t tiles = work.tiles();
  const int64_t share = (tiles + threads() - 1) / threads();
  const int64_t unit = PanelProduct::rows_at_once();
  const int64_t most = std::max(unit, budget / bytes_a_tile / unit * unit);
  const int64_t blocks = (share + most - 1) / most;  // of each thread, all of about the same size
  const int64_t block = round_up((share + blocks - 1) / blocks, unit);
  const int64_t input_plane = plane_step(block * work.input_row()),
                result_plane = plane_step(block * work.result_row());
  const int64_t own = work.places() * (input_plane + result_plane);
  slots.scratch = site.scratch(static_cast<size_t>(own * threads()) * sizeof(float));
  site.action([=](const Run& run) {
    const float* bias = slots.bias < 0 ? nullptr : run.at<float>(slots.bias);
    parallel_for((tiles + block - 1) / block, work.tile_cost() * static_cast<double>(block),
                 [&](int64_t first, int64_t last, int64_t thread) {
                   float* scratch = run.at<float>(slots.scratch) + thread * own;
                   const Planes inputs{
                       .data = scratch, .row = work.input_row(), .plane = input_plane};
                   const Planes results{.data = scratch + work.places() * input_plane,
                                        .row = work.result_row(),
                                        .plane = result_plane};
                   for (int64_t b = first; b < last; ++b) {
                     const TileRange range{b * block, std::min(tiles, (b + 1) * block)};
                     work.parts.inputs(work.conv, run.at<float>(slots.x), range, inputs);
                     multiply(work, range.last - range.first, 0, work.places(), inputs,
                              run.at<float>(slots.weights), results);
                     work.parts.results(work.conv, results, range, bias, run.at<float>(slots.y));
                   }
                 });
  });
}

/// All tiles are transformed, then each thread multiplies for some of the places: so weights that
/// fill the caches are read once, by one thread each.
void add_by_places(Site& site, const Work& work, Slots slots) {
  const int64_t tiles = work.tiles();
  const int64_t input_plane = plane_step(tiles * work.input_row()),
                result_plane = plane_step(tiles * work.result_row());
  slots.scratch = site.scratch(static_cast<size_t>(work.places() * (input_plane + result_plane)) *
                               sizeof(float));
  site.action([=](const Run& run) {
    const float* bias = slots.bias < 0 ? nullptr : run.at<float>(slots.bias);
    float* scratch = run.at<float>(slots.scratch);
    const auto at = [](const Planes& planes, int64_t tile) {
      return Planes{planes.data + tile * planes.row, planes.row, planes.plane};
    };
    const Planes inputs{.data = scratch, .row = work.input_row(), .plane = input_plane};
    const Planes results{.data = scratch + work.places() * input_plane,
                         .row = work.result_row(),
                         .plane = result_plane};
    const double cost_in = static_cast<double>(work.places() * work.input_row()),
                 cost_out = static_cast<double>(work.places() * work.result_row());
    parallel_for(tiles, cost_in, [&](int64_t first, int64_t last) {
      work.parts.inputs(work.conv, run.at<float>(slots.x), {first, last}, at(inputs, first));
    });
    const double cost =
        work.tile_cost() * static_cast<double>(tiles) / static_cast<double>(work.places());
    parallel_for(work.places(), cost, [&](int64_t first, int64_t last) {
      multiply(work, tiles, first, last, inputs, run.at<float>(slots.weights), results);
    });
    parallel_for(tiles, cost_out, [&](int64_t first, int64_t last) {
      work.parts.results(work.conv, at(results, first), {first, last}, bias,
                         run.at<float>(slots.y));
    });
  });
}

void add_convolution(Site& site, const Work& work, const Slots& slots) {
  constexpr int64_t kMaxShared = 8 << 20;  // bytes of weights, measured
  if (work.places() * work.weight_plane() * 4 <= kMaxShared) {
    add_by_tiles(site, work, slots);
  } else {
    add_by_places(site, work, slots);
  }
}

void make_winograd(Site& site, int64_t tile) {
  const Work work{winograd_parts(tile), conv_of(site.node(), site.input_dims(0), site.input_dims(1),
                                                site.output_dims(0))};
  const SlotIndex x = site.input(0, Layout::channels_last);
  const SlotIndex weights = transformed_weights(site, work, false);
  const SlotIndex bias = site.has_input(2) ? site.input(2) : -1;
  add_convolution(site, work, {x, weights, bias, site.output(0, Layout::channels_last), -1});
}

// ConvGradX(dy, w, x_shape)
void make_winograd_grad_x(Site& site, int64_t tile) {
  const Work work{winograd_parts(tile), backward(conv_of(site.node(), site.output_dims(0),
                                                         site.input_dims(1), site.input_dims(0)))};
  const SlotIndex dy = site.input(0, Layout::channels_last);
  const SlotIndex weights = transformed_weights(site, work, true);
  add_convolution(site, work, {dy, weights, -1, site.output(0, Layout::channels_last), -1});
}

/// G^T m G of the sums, eight channels at a time.
void finish_weights(const Work& work, const Planes& sums, float* dw) {
  const int64_t channels = work.conv.channels;
  const double cost = static_cast<double>(work.places() * kChannels * work.result_row());
  parallel_for((channels + kChannels - 1) / kChannels, cost, [&](int64_t first, int64_t last) {
    work.parts.gradient_of_weights(work.conv, sums, first * kChannels,
                                   std::min(channels, last * kChannels), dw);
  });
}

/// Each thread sums up tiles of its own, block by block, in its own caches: for few weights, of
/// which each thread can have all sums. Nobody waits for others but at the end.
void add_grad_w_by_tiles(Site& site, const Work& work) {
  constexpr int64_t kBudget = 3 << 19;  // bytes of the tiles of a block, as of results
  const int64_t tiles = work.tiles(), places = work.places(), channels = work.conv.channels;
  const int64_t input_row = work.input_row() + kPanel;  // no power of two: rows are read across
  const int64_t most =
      std::max<int64_t>(32, kBudget / (places * (input_row + work.result_row()) * 4));
  const int64_t parts = threads(), share = (tiles + parts - 1) / parts;
  const int64_t blocks = (share + most - 1) / most, block = (share + blocks - 1) / blocks;
  const int64_t input_plane = plane_step(block * input_row),
                gradient_plane = plane_step(block * work.result_row()),
                sum_plane = plane_step(channels * work.result_row());
  const int64_t own = places * (input_plane + gradient_plane + sum_plane);
  const SlotIndex x = site.input(0, Layout::channels_last),
                  dy = site.input(1, Layout::channels_last), dw = site.output(0);
  const SlotIndex scratch = site.scratch(static_cast<size_t>(parts * own) * sizeof(float));
  site.action([=](const Run& run) {
    float* memory = run.at<float>(scratch);
    const auto sums_of = [&](int64_t part) {
      return Planes{.data = memory + part * own + places * (input_plane + gradient_plane),
                    .row = work.result_row(),
                    .plane = sum_plane};
    };
    const auto add_up = [&](int64_t part) {
      const Planes sums = sums_of(part);
      const Planes inputs{.data = memory + part * own, .row = input_row, .plane = input_plane};
      const int64_t begin = tiles * part / parts, end = tiles * (part + 1) / parts;
      if (begin == end) std::fill_n(sums.data, places * sum_plane, 0.0F);
      for (int64_t first = begin; first < end; first += block) {
        const TileRange range{first, std::min(end, first + block)};
        const int64_t count = range.last - range.first;
        const Planes gradients{.data = inputs.data + places * input_plane,
                               .row = count * kPanel,
                               .plane = gradient_plane};
        work.parts.inputs(work.conv, run.at<float>(x), range, inputs);
        work.parts.gradients(work.conv, run.at<float>(dy), range, first, gradients);
        const PanelProduct product{.rows = channels,
                                   .k = count,
                                   .columns = work.result_row(),
                                   .a_row = 1,
                                   .a_k = inputs.row,
                                   .b_panel = gradients.row,
                                   .y_row = sums.row,
                                   .add = first > begin};
        for (int64_t place = 0; place < places; ++place) {
          product.run(inputs.data + place * inputs.plane, gradients.data + place * gradients.plane,
                      sums.data + place * sums.plane);
        }
      }
    };
    const double cost = work.tile_cost() * static_cast<double>(share);
    parallel_for(parts, cost, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) add_up(part);
    });
    const Planes all = sums_of(0);
    parallel_for(places, static_cast<double>((parts - 1) * sum_plane),
                 [&](int64_t first, int64_t last) {
                   for (int64_t part = 1; part < parts; ++part) {
                     const float* more = sums_of(part).data;
                     for (int64_t place = first; place < last; ++place) {
                       const int64_t at = place * sum_plane;
                       for (int64_t i = at; i < at + channels * all.row; ++i) {
                         all.data[i] += more[i];
                       }
                     }
                   }
                 });
    finish_weights(work, all, run.at<float>(dw));
  });
}

// ConvGradW(x, dy, w_shape)
void make_winograd_grad_w(Site& site, int64_t tile) {
  const Work work{winograd_parts(tile), conv_of(site.node(), site.input_dims(0),
                                                site.output_dims(0), site.input_dims(1))};
  constexpr int64_t kFewBytes = 1 << 20;  // of sums, beside which a block fits the caches too
  if (work.places() * work.weight_plane() * 4 <= kFewBytes) {
    add_grad_w_by_tiles(site, work);
    return;
  }
  constexpr int64_t kBudget = 4 << 20;  // bytes of the tiles of a block, measured
  const int64_t tiles = work.tiles(), places = work.places(), channels = work.conv.channels;
  const int64_t input_row = work.input_row() + kPanel;  // no power of two: rows are read across
  const int64_t most =
      std::max<int64_t>(64, kBudget / (places * (channels + work.conv.outputs) * 4));
  const int64_t blocks = (tiles + most - 1) / most, block = (tiles + blocks - 1) / blocks;
  const int64_t input_plane = plane_step(block * input_row),
                gradient_plane = plane_step(block * work.result_row()),
                sum_plane = plane_step(channels * work.result_row());
  const SlotIndex x = site.input(0, Layout::channels_last),
                  dy = site.input(1, Layout::channels_last), dw = site.output(0);
  const SlotIndex scratch = site.scratch(
      static_cast<size_t>(places * (input_plane + gradient_plane + sum_plane)) * sizeof(float));
  site.action([=](const Run& run) {
    float* memory = run.at<float>(scratch);
    const Planes inputs{.data = memory, .row = input_row, .plane = input_plane};
    const Planes sums{.data = memory + places * (input_plane + gradient_plane),
                      .row = work.result_row(),
                      .plane = sum_plane};
    for (int64_t begin = 0; begin < tiles; begin += block) {
      const int64_t count = std::min(block, tiles - begin);
      const Planes gradients{
          .data = memory + places * input_plane, .row = count * kPanel, .plane = gradient_plane};
      const double cost = static_cast<double>(places * (input_row + work.result_row()));
      parallel_for(count, cost, [&](int64_t first, int64_t last) {
        const TileRange range{begin + first, begin + last};
        work.parts.inputs(work.conv, run.at<float>(x), range,
                          {inputs.data + first * inputs.row, inputs.row, inputs.plane});
        work.parts.gradients(work.conv, run.at<float>(dy), range, begin, gradients);
      });
      // Pieces of work: a panel of outputs at a place.
      const int64_t panels = panels_of(work.conv.outputs);
      const PanelProduct product{.rows = channels,
                                 .k = count,
                                 .columns = kPanel,
                                 .a_row = 1,
                                 .a_k = inputs.row,
                                 .b_panel = gradients.row,
                                 .y_row = sums.row,
                                 .add = begin > 0};
      const double piece = product_cost(2.0 * static_cast<double>(count * channels * kPanel));
      parallel_for(places * panels, piece, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t place = i / panels, panel = i % panels;
          product.run(inputs.data + place * inputs.plane,
                      gradients.data + place * gradients.plane + panel * gradients.row,
                      sums.data + place * sums.plane + panel * kPanel);
        }
      });
    }
    finish_weights(work, sums, run.at<float>(dw));
  });
}

enum class Result : uint8_t { image, weights };

/// Why it can't be computed so.
Reason refuses_any(const Node& node, Result result) {
  if (node.output(0)->type.dtype != DType::f32) return "not f32";
  if (!has_avx2()) return "no AVX2";
  const auto w = *static_dims(result == Result::weights ? *node.output(0) : *node.input(1));
  if (w.size() != 4) return "not 2 spatial dimensions";
  if (w[2] != 3 || w[3] != 3) return "not 3x3";
  if (node.int_or("group", 1) != 1) return "groups";
  for (const char* attribute : {"strides", "dilations"}) {
    const auto* each = node.get<std::vector<int64_t>>(attribute);
    if (each && std::ranges::any_of(*each, [](int64_t step) { return step != 1; })) {
      return fmt::format("{} other than 1", attribute);
    }
  }
  for (const Value* value : {node.input(0), node.input(1), node.output(0)}) {
    if (checked_element_count(*static_dims(*value)) == 0) return "no elements";
  }
  if (pads_whole_windows(node, std::span(w).subspan(2))) return "windows in the padding alone";
  return {};
}

/// Where others are as fast, or more precise. Measured (bench/conv_bench.cpp) on a processor with
/// AVX-512, with oneDNN using it and held to AVX2. A choice is made where it is 1.1 times as fast,
/// and the largest error at most twice that of the direct kernel.
Reason refuses_slower(const Node& node, Result result, const WinogradParts& parts) {
  constexpr int64_t kMaxWeightBytes = 16 << 20;  // transformed: so many come from memory
  const bool of_weights = result == Result::weights;
  const auto x = *static_dims(*node.input(0)),
             y = *static_dims(of_weights ? *node.input(1) : *node.output(0));
  const int64_t fewest = std::min(x[1], y[1]), size = std::min(y[2], y[3]);
  const auto along = [&](int64_t places) { return (places + parts.out - 1) / parts.out; };
  const int64_t tiles = y[0] * along(y[2]) * along(y[3]);
  if (fewest < 32) return "few channels: transforms take longer than they save";
  if (size <= parts.out / 2) return "tiny images: most of a tile is beyond them";
  if (tiles < 32) return "few tiles: transforms of weights take longer than they save";
  const int64_t weights = parts.in * parts.in * x[1] * y[1] * 4;
  if (!of_weights && has_avx512() && weights >= kMaxWeightBytes) {
    return "many weights: oneDNN with AVX-512 is as fast";
  }
  if (parts.out == 2) return {};
  if (of_weights && y[0] * y[2] * y[3] < 1024) return "short sums: direct ones are more precise";
  if (!of_weights && fewest < 64) return "short sums: direct ones are more precise";
  return {};
}

Reason refuses(const Node& node, Result result, ConvMethod method) {
  if (Reason reason = refuses_any(node, result); !reason.empty()) return reason;
  if (conv_method() == method) return {};
  if (conv_method() == ConvMethod::direct) return "turned off";
  if (conv_method() != ConvMethod::fastest) return "not asked for";
  return refuses_slower(node, result, winograd_parts(method == ConvMethod::winograd_4x4 ? 4 : 2));
}

}  // namespace

Reason refuses_winograd_4x4(const Node& node) {
  return refuses(node, Result::image, ConvMethod::winograd_4x4);
}
Reason refuses_winograd_2x2(const Node& node) {
  return refuses(node, Result::image, ConvMethod::winograd_2x2);
}
Reason refuses_winograd_4x4_grad_w(const Node& node) {
  return refuses(node, Result::weights, ConvMethod::winograd_4x4);
}
Reason refuses_winograd_2x2_grad_w(const Node& node) {
  return refuses(node, Result::weights, ConvMethod::winograd_2x2);
}

void make_conv_by_winograd_4x4(Site& site) { make_winograd(site, 4); }
void make_conv_by_winograd_2x2(Site& site) { make_winograd(site, 2); }
void make_conv_grad_x_by_winograd_4x4(Site& site) { make_winograd_grad_x(site, 4); }
void make_conv_grad_x_by_winograd_2x2(Site& site) { make_winograd_grad_x(site, 2); }
void make_conv_grad_w_by_winograd_4x4(Site& site) { make_winograd_grad_w(site, 4); }
void make_conv_grad_w_by_winograd_2x2(Site& site) { make_winograd_grad_w(site, 2); }

}  // namespace onward
