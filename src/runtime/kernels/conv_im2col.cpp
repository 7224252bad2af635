#include "runtime/kernels/conv_im2col.h"

#include <algorithm>

#include "eval/array.h"
#include "ir/memory_limit.h"
#include "ops/window.h"
#include "runtime/kernels/gemm.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

/// One convolution y = conv(x, w), group by group: with the patches of an image as a matrix of
/// (channels of a group x taps) rows and one column for each place of y.
struct Im2col {
  int64_t images, groups;
  int64_t x_channels, y_channels;  // of a group
  int64_t x_places, y_places, taps;
  std::vector<int64_t> source;  // for each tap and place of y: the place of x, or -1 for padding

  int64_t rows() const { return x_channels * taps; }
  int64_t x_group() const { return x_channels * x_places; }
  int64_t y_group() const { return y_channels * y_places; }

  template <typename T>
  void copy_out(const T* x, T* patches) const {
    parallel_for(rows(), static_cast<double>(y_places), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const T* channel = x + row / taps * x_places;
        const int64_t* from = source.data() + row % taps * y_places;
        T* to = patches + row * y_places;
        for (int64_t i = 0; i < y_places; ++i) to[i] = from[i] < 0 ? T(0) : channel[from[i]];
      }
    });
  }

  /// The backward: what several patches took from one place is added up there.
  template <typename T>
  void add_back(const T* patches, T* x) const {
    parallel_for(x_channels, static_cast<double>(taps * y_places),
                 [&](int64_t first, int64_t last) {
                   for (int64_t row = first * taps; row < last * taps; ++row) {
                     T* channel = x + row / taps * x_places;
                     const int64_t* to = source.data() + row % taps * y_places;
                     const T* from = patches + row * y_places;
                     for (int64_t i = 0; i < y_places; ++i) {
                       if (to[i] >= 0) channel[to[i]] += from[i];
                     }
                   }
                 });
  }
};

Im2col find_im2col(const Node& node, const std::vector<int64_t>& x, const std::vector<int64_t>& w,
                   const std::vector<int64_t>& y) {
  const std::span spatial = std::span(x).subspan(2);
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  const Window window = read_window(node, spatial, kernel);
  window.require_result(y);
  const int64_t groups = node.int_or("group", 1);
  Im2col p{.images = x[0],
           .groups = groups,
           .x_channels = x[1] / groups,
           .y_channels = y[1] / groups,
           .x_places = checked_element_count(spatial),
           .y_places = checked_element_count(window.output),
           .taps = checked_element_count(kernel),
           .source = {}};
  const int64_t entries[] = {p.taps, p.y_places};
  p.source.reserve(static_cast<size_t>(checked_list_size(entries, sizeof(int64_t))));
  eval::for_each_position(kernel, [&](std::span<const int64_t> tap, int64_t) {
    eval::for_each_position(window.output, [&](std::span<const int64_t> at, int64_t) {
      int64_t place = 0;
      for (size_t d = 0; d < spatial.size() && place >= 0; ++d) {
        const int64_t source = window.source(d, at[d], tap[d]);
        place = source < 0 || source >= spatial[d] ? -1 : place * spatial[d] + source;
      }
      p.source.push_back(place);
    });
  });
  return p;
}

template <typename T>
SlotIndex patch_matrix(Site& site, const Im2col& p) {
  return site.scratch(static_cast<size_t>(p.rows() * p.y_places) * sizeof(T));
}

template <typename T>
void plan_conv(Site& site) {
  const Im2col p =
      find_im2col(site.node(), site.input_dims(0), site.input_dims(1), site.output_dims(0));
  const SlotIndex x = site.input(0), w = site.input(1);
  const SlotIndex b = site.has_input(2) ? site.input(2) : -1;
  const SlotIndex y = site.output(0), patches = patch_matrix<T>(site, p);
  site.action([=](const Run& run) {
    for (int64_t unit = 0; unit < p.images * p.groups; ++unit) {
      const int64_t group = unit % p.groups;
      p.copy_out(run.at<T>(x) + unit * p.x_group(), run.at<T>(patches));
      T* to = run.at<T>(y) + unit * p.y_group();
      for (int64_t c = 0; c < p.y_channels; ++c) {
        const T start = b < 0 ? T(0) : run.at<T>(b)[group * p.y_channels + c];
        std::fill_n(to + c * p.y_places, p.y_places, start);
      }
      Product{.m = p.y_channels, .n = p.y_places, .k = p.rows(), .beta = 1}.run(
          run.at<T>(w) + group * p.y_channels * p.rows(), run.at<T>(patches), to);
    }
  });
}

// ConvGradX(dy, w, x_shape)
template <typename T>
void plan_conv_grad_x(Site& site) {
  const Im2col p =
      find_im2col(site.node(), site.output_dims(0), site.input_dims(1), site.input_dims(0));
  const SlotIndex dy = site.input(0), w = site.input(1), dx = site.output(0);
  const SlotIndex patches = patch_matrix<T>(site, p);
  site.action([=](const Run& run) {
    for (int64_t unit = 0; unit < p.images * p.groups; ++unit) {
      Product{.trans_a = true, .m = p.rows(), .n = p.y_places, .k = p.y_channels}.run(
          run.at<T>(w) + unit % p.groups * p.y_channels * p.rows(),
          run.at<T>(dy) + unit * p.y_group(), run.at<T>(patches));
      T* to = run.at<T>(dx) + unit * p.x_group();
      std::fill_n(to, p.x_group(), T(0));
      p.add_back(run.at<T>(patches), to);
    }
  });
}

// ConvGradW(x, dy, w_shape)
template <typename T>
void plan_conv_grad_w(Site& site) {
  const Im2col p =
      find_im2col(site.node(), site.input_dims(0), site.output_dims(0), site.input_dims(1));
  const SlotIndex x = site.input(0), dy = site.input(1), dw = site.output(0);
  const SlotIndex patches = patch_matrix<T>(site, p);
  site.action([=](const Run& run) {
    std::fill_n(run.at<T>(dw), p.groups * p.y_channels * p.rows(), T(0));
    for (int64_t unit = 0; unit < p.images * p.groups; ++unit) {
      p.copy_out(run.at<T>(x) + unit * p.x_group(), run.at<T>(patches));
      Product{.trans_b = true, .m = p.y_channels, .n = p.rows(), .k = p.y_places, .beta = 1}.run(
          run.at<T>(dy) + unit * p.y_group(), run.at<T>(patches),
          run.at<T>(dw) + unit % p.groups * p.y_channels * p.rows());
    }
  });
}

}  // namespace

Reason refuses_im2col(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  for (const Value* value : {node.input(0), node.input(1), node.output(0)}) {
    if (static_dims(*value)->size() < 3) return "no spatial dimension";
  }
  return {};
}

void make_conv_by_im2col(Site& site) {
  site.dtype() == DType::f32 ? plan_conv<float>(site) : plan_conv<double>(site);
}

void make_conv_grad_x_by_im2col(Site& site) {
  site.dtype() == DType::f32 ? plan_conv_grad_x<float>(site) : plan_conv_grad_x<double>(site);
}

void make_conv_grad_w_by_im2col(Site& site) {
  site.dtype() == DType::f32 ? plan_conv_grad_w<float>(site) : plan_conv_grad_w<double>(site);
}

}  // namespace onward
