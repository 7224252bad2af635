// Pooling with channels last: the channels of a place lie side by side, so that all of them are
// compared at once.

#include <algorithm>
#include <limits>

#include "eval/array.h"
#include "onward/error.h"
#include "ops/window.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/rows.h"

namespace onward {
namespace {

constexpr int64_t kMaxTaps = 255;  // a tap's number is one byte

Reason refuses_max_pool(const Node& node) {
  const Value& pooled = node.op == "MaxPoolGrad" ? *node.input(0) : *node.output(0);
  if (pooled.type.dtype != DType::f32 && pooled.type.dtype != DType::f64) {
    return "neither f32 nor f64";
  }
  if (node.op == "MaxPool" && node.output(1)) return "returns indices";
  int64_t taps = 1;
  const auto* kernel = node.get<std::vector<int64_t>>("kernel_shape");
  for (const int64_t size : kernel ? *kernel : std::vector<int64_t>{}) taps *= size;
  if (!kernel || taps > kMaxTaps) return "a window of more than 255 places";
  return {};
}

/// For each place of the result, which places of the input its window covers: taps that fall on
/// padding are left out.
struct Places {
  int64_t images = 0, channels = 0, inputs = 0, outputs = 0;  // places of an image
  std::vector<int64_t> begin;                                 // of each output's list
  std::vector<int64_t> place;
  bool each_once = false;  // windows cover every place of the input, and none twice

  bool has_empty_window() const { return std::ranges::adjacent_find(begin) != begin.end(); }
};

Places find_places(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
  const std::span spatial = std::span(x).subspan(2);
  const Window window = read_window(node, spatial, {});
  window.require_result(y);
  Places found{.images = x[0], .channels = x[1]};
  found.inputs = checked_element_count(spatial);
  found.outputs = checked_element_count(window.output);
  eval::for_each_position(window.output, [&](std::span<const int64_t> at, int64_t) {
    found.begin.push_back(static_cast<int64_t>(found.place.size()));
    std::vector<int64_t> first, inside;
    for (size_t d = 0; d < spatial.size(); ++d) {
      first.push_back(window.taps_before(d, at[d], 0));
      inside.push_back(window.taps_before(d, at[d], spatial[d]) - first.back());
    }
    eval::for_each_position(inside, [&](std::span<const int64_t> tap, int64_t) {
      int64_t place = 0;
      for (size_t d = 0; d < spatial.size(); ++d) {
        place = place * spatial[d] + window.source(d, at[d], first[d] + tap[d]);
      }
      found.place.push_back(place);
    });
  });
  found.begin.push_back(static_cast<int64_t>(found.place.size()));
  std::vector<int> covered(static_cast<size_t>(found.inputs), 0);
  for (const int64_t place : found.place) ++covered[static_cast<size_t>(place)];
  found.each_once = std::ranges::all_of(covered, [](int times) { return times == 1; });
  return found;
}

/// What each window's sum is divided by.
std::vector<int64_t> window_sizes(const Node& node, const std::vector<int64_t>& x,
                                  const Places& places) {
  const std::span spatial = std::span(x).subspan(2);
  const Window window = read_window(node, spatial, {});
  const bool with_padding = node.int_or("count_include_pad", 0) != 0;
  std::vector<int64_t> sizes;
  eval::for_each_position(window.output, [&](std::span<const int64_t> at, int64_t) {
    const size_t output = sizes.size();
    int64_t size = places.begin[output + 1] - places.begin[output];
    if (with_padding) {
      size = 1;
      for (size_t d = 0; d < spatial.size(); ++d) {
        // Rounding up can push a window beyond the padding: such places are nowhere.
        size *= window.taps_before(d, at[d], spatial[d] + window.after[d]);
      }
    }
    sizes.push_back(std::max<int64_t>(1, size));
  });
  return sizes;
}

/// y and, where asked for, the number in the list of its window of each largest element.
template <typename T>
void max_pool(const Places& p, const T* x, T* y, uint8_t* taps) {
  const int64_t c = p.channels;
  const RowFunctions<T>& rows = row_functions<T>();
  const double cost = static_cast<double>(c);
  parallel_for(p.images * p.outputs, cost, [&](int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; ++unit) {
      const int64_t image = unit / p.outputs, output = unit % p.outputs;
      const T* from = x + image * p.inputs * c;
      T* best = y + unit * c;
      uint8_t* chosen = taps ? taps + unit * c : nullptr;
      const int64_t begin = p.begin[static_cast<size_t>(output)];
      const int64_t end = p.begin[static_cast<size_t>(output) + 1];
      std::fill_n(best, c, -std::numeric_limits<T>::infinity());
      if (chosen) std::fill_n(chosen, c, uint8_t{0});
      for (int64_t t = begin; t < end; ++t) {
        const T* row = from + p.place[static_cast<size_t>(t)] * c;
        if (chosen) {
          rows.max_with_tap(best, chosen, row, static_cast<uint8_t>(t - begin), c);
        } else {
          rows.max(best, row, c);
        }
      }
    }
  });
}

template <typename T>
void max_pool_grad(const Places& p, const T* dy, const uint8_t* taps, T* dx) {
  const int64_t c = p.channels;
  const RowFunctions<T>& rows = row_functions<T>();
  const auto put = p.each_once ? rows.set_where_tap : rows.add_where_tap;
  const double cost = static_cast<double>(p.inputs * c) * 0.5;
  parallel_for(p.images, cost, [&](int64_t first, int64_t last) {
    for (int64_t image = first; image < last; ++image) {
      T* to = dx + image * p.inputs * c;
      if (!p.each_once) std::fill_n(to, p.inputs * c, T(0));
      for (int64_t output = 0; output < p.outputs; ++output) {
        const T* from = dy + (image * p.outputs + output) * c;
        const uint8_t* chosen = taps + (image * p.outputs + output) * c;
        const int64_t begin = p.begin[static_cast<size_t>(output)];
        const int64_t count = p.begin[static_cast<size_t>(output) + 1] - begin;
        for (int64_t t = 0; t < count; ++t) {
          T* row = to + p.place[static_cast<size_t>(begin + t)] * c;
          put(row, from, chosen, static_cast<uint8_t>(t), c);
        }
      }
    }
  });
}

template <typename T>
void plan_max_pool(Site& site) {
  const Places places = find_places(site.node(), site.input_dims(0), site.output_dims(0));
  if (places.images * places.channels > 0 && places.has_empty_window()) {
    throw Error("a window lies in the padding alone");
  }
  const SlotIndex x = site.input(0, Layout::channels_last),
                  y = site.output(0, Layout::channels_last);
  const bool saves = site.has_output(1);
  const SlotIndex taps = saves ? site.output(1, Layout::channels_last) : -1;
  site.action([=](const Run& run) {
    max_pool(places, run.at<T>(x), run.at<T>(y), saves ? run.at<uint8_t>(taps) : nullptr);
  });
}

void make_max_pool(Site& site) {
  site.dtype() == DType::f32 ? plan_max_pool<float>(site) : plan_max_pool<double>(site);
}

// MaxPoolGrad(dy, taps), where the taps are what MaxPoolSaving gave.
template <typename T>
void plan_max_pool_grad(Site& site) {
  const Places places = find_places(site.node(), site.output_dims(0), site.input_dims(0));
  const SlotIndex dy = site.input(0, Layout::channels_last),
                  taps = site.input(1, Layout::channels_last);
  const SlotIndex dx = site.output(0, Layout::channels_last);
  site.action([=](const Run& run) {
    max_pool_grad(places, run.at<T>(dy), run.at<uint8_t>(taps), run.at<T>(dx));
  });
}

void make_max_pool_grad(Site& site) {
  site.dtype() == DType::f32 ? plan_max_pool_grad<float>(site) : plan_max_pool_grad<double>(site);
}

Reason refuses_average_pool(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  return dtype == DType::f32 || dtype == DType::f64 ? "" : "neither f32 nor f64";
}

template <typename T>
void plan_average_pool(Site& site) {
  const Places p = find_places(site.node(), site.input_dims(0), site.output_dims(0));
  const auto sizes = window_sizes(site.node(), site.input_dims(0), p);
  const SlotIndex x = site.input(0, Layout::channels_last),
                  y = site.output(0, Layout::channels_last);
  site.action([=](const Run& run) {
    const RowFunctions<T>& rows = row_functions<T>();
    const int64_t c = p.channels;
    parallel_for(p.images * p.outputs, static_cast<double>(c), [&](int64_t first, int64_t last) {
      for (int64_t unit = first; unit < last; ++unit) {
        const auto output = static_cast<size_t>(unit % p.outputs);
        const T* from = run.at<T>(x) + unit / p.outputs * p.inputs * c;
        T* to = run.at<T>(y) + unit * c;
        std::fill_n(to, c, T(0));
        const T factor = T(1) / static_cast<T>(sizes[output]);
        for (int64_t t = p.begin[output]; t < p.begin[output + 1]; ++t) {
          rows.add_scaled(to, from + p.place[static_cast<size_t>(t)] * c, factor, c);
        }
      }
    });
  });
}

void make_average_pool(Site& site) {
  site.dtype() == DType::f32 ? plan_average_pool<float>(site) : plan_average_pool<double>(site);
}

// AveragePoolGrad(dy, the shape of x)
template <typename T>
void plan_average_pool_grad(Site& site) {
  const Places p = find_places(site.node(), site.output_dims(0), site.input_dims(0));
  const auto sizes = window_sizes(site.node(), site.output_dims(0), p);
  const SlotIndex dy = site.input(0, Layout::channels_last);
  const SlotIndex dx = site.output(0, Layout::channels_last);
  site.action([=](const Run& run) {
    const RowFunctions<T>& rows = row_functions<T>();
    const int64_t c = p.channels;
    const double cost = static_cast<double>(p.inputs * c) * 0.5;
    parallel_for(p.images, cost, [&](int64_t first, int64_t last) {
      for (int64_t image = first; image < last; ++image) {
        T* to = run.at<T>(dx) + image * p.inputs * c;
        std::fill_n(to, p.inputs * c, T(0));
        for (size_t output = 0; output < sizes.size(); ++output) {
          const T* from = run.at<T>(dy) + (image * p.outputs + static_cast<int64_t>(output)) * c;
          const T factor = T(1) / static_cast<T>(sizes[output]);
          for (int64_t t = p.begin[output]; t < p.begin[output + 1]; ++t) {
            rows.add_scaled(to + p.place[static_cast<size_t>(t)] * c, from, factor, c);
          }
        }
      }
    });
  });
}

void make_average_pool_grad(Site& site) {
  site.dtype() == DType::f32 ? plan_average_pool_grad<float>(site)
                             : plan_average_pool_grad<double>(site);
}

constexpr KernelChoice kPoolChoices[] = {
    {"AveragePool", "channels last", refuses_average_pool, make_average_pool, "",
     Layout::channels_last},
    {"AveragePoolGrad", "channels last", refuses_average_pool, make_average_pool_grad, "onward",
     Layout::channels_last},
    {"MaxPool", "channels last", refuses_max_pool, make_max_pool, "", Layout::channels_last},
    {"MaxPoolSaving", "channels last", refuses_max_pool, make_max_pool, "onward",
     Layout::channels_last},
    {"MaxPoolGrad", "channels last", refuses_max_pool, make_max_pool_grad, "onward",
     Layout::channels_last},
};

}  // namespace

std::span<const KernelChoice> pool_choices() { return kPoolChoices; }

}  // namespace onward
