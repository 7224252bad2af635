// Batch normalization: one walk for the statistics, one that normalizes; back, one for the sums and
// one for dx. Image tensors stay in the layout that they have.

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/rewrite.h"
#include "runtime/kernel.h"
#include "runtime/kernels/channels.h"
#include "runtime/passes/fast_forms.h"

namespace onward {
namespace {

Layout layout_of(const Site& site, std::initializer_list<size_t> inputs) {
  const bool any = std::ranges::any_of(
      inputs, [&](size_t i) { return site.layout_of(i) == Layout::channels_last; });
  return any ? Layout::channels_last : Layout::plain;
}

bool with_relu(const Site& site) { return site.node().int_or("relu", 0) != 0; }

template <typename T>
T epsilon_of(const Site& site) {
  return static_cast<T>(site.node().float_or("epsilon", 1e-5F));
}

/// A slot where there is one.
struct MaybeSlot {
  SlotIndex slot = -1;

  template <typename T>
  T* in(const Run& run) const {
    return slot < 0 ? nullptr : run.at<T>(slot);
  }
};

MaybeSlot maybe_input(Site& site, size_t index) {
  return {site.has_input(index) ? site.input(index) : -1};
}

/// The slot of an output that somebody reads.
MaybeSlot maybe_output(Site& site, size_t index, Layout layout = Layout::plain) {
  const bool read = site.has_output(index) && is_needed(*site.node().output(index));
  return {read ? site.output(index, layout) : -1};
}

// BatchNormalization(x, scale, bias, mean, var) gives y and the running averages; with the passes'
// additions also the batch's mean and inverse deviation, and a Relu after it.
template <typename T>
void plan_batch_norm(Site& site) {
  const Layout layout = layout_of(site, {0});
  const Channels channels(site.input_dims(0), layout);
  const bool training = site.node().int_or("training_mode", 0) != 0, relu = with_relu(site);
  const T epsilon = epsilon_of<T>(site);
  const T momentum = static_cast<T>(site.node().float_or("momentum", 0.9F));
  const SlotIndex x = site.input(0, layout), scale = site.input(1), bias = site.input(2),
                  given_mean = site.input(3), given_var = site.input(4);
  const SlotIndex y = site.output(0, layout);
  const MaybeSlot running_mean = maybe_output(site, 1), running_var = maybe_output(site, 2),
                  saved_mean = maybe_output(site, 3), saved_inverse = maybe_output(site, 4);
  const int64_t count = channels.count();
  const SlotIndex numbers = site.scratch(static_cast<size_t>(4 * count) * sizeof(T));
  const SlotIndex scratch = site.scratch(channels.scratch_bytes(sizeof(T)));
  site.action([=](const Run& run) {
    T *mean = run.at<T>(numbers), *var = mean + count, *inverse = var + count,
      *factor = inverse + count;
    std::byte* memory = run.at<std::byte>(scratch);
    const auto average = [&](T* to, const T* old, const T* batch) {
      for (int64_t i = 0; to && i < count; ++i) {
        to[i] = old[i] * momentum + batch[i] * (T(1) - momentum);
      }
    };
    if (training) {
      channels.statistics(run.at<T>(x), mean, var, memory);
      average(running_mean.in<T>(run), run.at<T>(given_mean), mean);
      average(running_var.in<T>(run), run.at<T>(given_var), var);
    } else {
      std::copy_n(run.at<T>(given_mean), count, mean);
      std::copy_n(run.at<T>(given_var), count, var);
    }
    for (int64_t i = 0; i < count; ++i) {
      inverse[i] = T(1) / std::sqrt(var[i] + epsilon);
      factor[i] = run.at<T>(scale)[i] * inverse[i];
    }
    if (T* saved = saved_mean.in<T>(run)) std::copy_n(mean, count, saved);
    if (T* saved = saved_inverse.in<T>(run)) std::copy_n(inverse, count, saved);
    channels.apply(run.at<T>(x), run.at<T>(y), Affine<T>{mean, factor, run.at<T>(bias)}, relu,
                   memory);
  });
}

void make_batch_norm(Site& site) {
  site.dtype() == DType::f32 ? plan_batch_norm<float>(site) : plan_batch_norm<double>(site);
}

// BatchNormGrad(dy, x, scale, mean, var, saved mean, saved inverse deviation, bias): the statistics
// are given (mean, var), or the batch's, which are saved or computed again. The bias is there for a
// Relu behind the normalization, whose dy this is.
template <typename T>
void plan_batch_norm_grad(Site& site) {
  const Layout layout = layout_of(site, {0, 1});
  const Channels channels(site.input_dims(1), layout);
  const bool relu = with_relu(site), frozen = site.has_input(3);
  const T epsilon = epsilon_of<T>(site);
  const SlotIndex dy = site.input(0, layout), x = site.input(1, layout), scale = site.input(2);
  const MaybeSlot given_mean = maybe_input(site, 3), given_var = maybe_input(site, 4),
                  saved_mean = maybe_input(site, 5), saved_inverse = maybe_input(site, 6),
                  bias = maybe_input(site, 7);
  const MaybeSlot dx = maybe_output(site, 0, layout), dscale = maybe_output(site, 1),
                  dbias = maybe_output(site, 2);
  const int64_t count = channels.count();
  const SlotIndex numbers = site.scratch(static_cast<size_t>(8 * count) * sizeof(T));
  const SlotIndex scratch = site.scratch(channels.scratch_bytes(sizeof(T)));
  const bool sums = !frozen || dscale.slot >= 0 || dbias.slot >= 0;
  site.action([=](const Run& run) {
    T* next = run.at<T>(numbers);
    const auto vector = [&] { return std::exchange(next, next + count); };
    T *mean = vector(), *var = vector(), *inverse = vector(), *factor = vector(), *sum = vector(),
      *product = vector(), *slope = vector(), *offset = vector();
    std::byte* memory = run.at<std::byte>(scratch);
    if (frozen) {
      std::copy_n(given_mean.in<T>(run), count, mean);
      std::copy_n(given_var.in<T>(run), count, var);
    } else if (const T* saved = saved_mean.in<T>(run)) {
      std::copy_n(saved, count, mean);
    } else {
      channels.statistics(run.at<T>(x), mean, var, memory);
    }
    if (const T* saved = saved_inverse.in<T>(run)) {
      std::copy_n(saved, count, inverse);
    } else {
      for (int64_t i = 0; i < count; ++i) inverse[i] = T(1) / std::sqrt(var[i] + epsilon);
    }
    for (int64_t i = 0; i < count; ++i) factor[i] = run.at<T>(scale)[i] * inverse[i];
    std::fill_n(slope, count, T(0));
    std::fill_n(offset, count, T(0));
    const Affine<T> affine{mean, factor, relu ? bias.in<T>(run) : offset};
    if (sums) {
      channels.products(run.at<T>(dy), run.at<T>(x), affine, relu, sum, product, memory);
      if (T* to = dbias.in<T>(run)) std::copy_n(sum, count, to);
      if (T* to = dscale.in<T>(run)) {
        for (int64_t i = 0; i < count; ++i) to[i] = product[i] * inverse[i];
      }
    }
    T* to = dx.in<T>(run);
    if (!to) return;
    if (frozen && !relu) {
      channels.apply(run.at<T>(dy), to, Affine<T>{slope, factor, offset}, false, memory);
      return;
    }
    const T n = static_cast<T>(channels.each());
    for (int64_t i = 0; !frozen && i < count; ++i) {
      slope[i] = -factor[i] * inverse[i] * inverse[i] * (product[i] / n);
      offset[i] = -factor[i] * (sum[i] / n);
    }
    const T* shift = relu ? affine.shift : mean;  // not read without a Relu
    channels.back(run.at<T>(dy), run.at<T>(x), to, Affine<T>{mean, factor, shift},
                  WayBack<T>{slope, offset}, relu, memory);
  });
}

void make_batch_norm_grad(Site& site) {
  site.dtype() == DType::f32 ? plan_batch_norm_grad<float>(site)
                             : plan_batch_norm_grad<double>(site);
}

constexpr KernelChoice kNormalizationChoices[] = {
    {"BatchNormalization", "channels", refuses_batch_norm, make_batch_norm},
    {"BatchNormalization", "channels", refuses_batch_norm, make_batch_norm, "onward"},
    {"BatchNormGrad", "channels", refuses_batch_norm, make_batch_norm_grad, "onward",
     Layout::channels_last},
};

}  // namespace

std::span<const KernelChoice> normalization_choices() { return kNormalizationChoices; }

}  // namespace onward
