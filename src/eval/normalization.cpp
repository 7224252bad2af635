#include <fmt/format.h>

#include <cmath>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// The channel, dimension 1, of each element of a shape.
std::vector<int64_t> channels_of(std::span<const int64_t> dims) {
  std::vector<int64_t> channels(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))), 0);
  const int64_t inner = dims.size() > 2 ? checked_element_count(dims.subspan(2)) : 1;
  const int64_t count = dims.size() > 1 ? dims[1] : 1;
  for (size_t i = 0; i < channels.size(); ++i) {
    channels[i] = static_cast<int64_t>(i) / inner % count;
  }
  return channels;
}

template <typename T>
struct Statistics {
  std::vector<T> mean, variance;
};

/// Mean and (biased) variance of each channel, in two passes so that nothing cancels.
template <typename T>
Statistics<T> batch_statistics(const Array<T>& x, const std::vector<int64_t>& channels,
                               size_t count) {
  Statistics<T> result{std::vector<T>(count, 0), std::vector<T>(count, 0)};
  const size_t per_channel = count == 0 ? 1 : x.data.size() / count;
  const T n = static_cast<T>(per_channel);
  for (size_t i = 0; i < x.data.size(); ++i)
    result.mean[static_cast<size_t>(channels[i])] += x.data[i];
  for (T& value : result.mean) value /= n;
  for (size_t i = 0; i < x.data.size(); ++i) {
    const auto channel = static_cast<size_t>(channels[i]);
    const T difference = x.data[i] - result.mean[channel];
    result.variance[channel] += difference * difference;
  }
  for (T& value : result.variance) value /= n;
  return result;
}

Tensors batch_norm(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const bool training = c.node().int_or("training_mode", 0) != 0;
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const T epsilon = static_cast<T>(c.node().float_or("epsilon", 1e-5F));
    const T momentum = static_cast<T>(c.node().float_or("momentum", 0.9F));
    Array<T> y = c.array<T>(0);
    const Array<T> scale = c.array<T>(1), bias = c.array<T>(2);
    Array<T> mean = c.array<T>(3), variance = c.array<T>(4);
    if (bias.size() != scale.size() || mean.size() != scale.size() ||
        variance.size() != scale.size()) {
      throw Error("scale, bias, mean and variance differ in length");
    }
    if (y.rank() > 1 && y.dims[1] != scale.size()) {
      throw Error(fmt::format("{} numbers for {} channels", scale.size(), y.dims[1]));
    }
    const auto channels = channels_of(y.dims);
    Statistics<T> used{mean.data, variance.data};
    if (training) {
      used = batch_statistics(y, channels, scale.data.size());
      for (size_t i = 0; i < mean.data.size(); ++i) {
        mean.data[i] = mean.data[i] * momentum + used.mean[i] * (T(1) - momentum);
        variance.data[i] = variance.data[i] * momentum + used.variance[i] * (T(1) - momentum);
      }
    }
    for (size_t i = 0; i < y.data.size(); ++i) {
      const auto channel = static_cast<size_t>(channels[i]);
      y.data[i] = (y.data[i] - used.mean[channel]) / std::sqrt(used.variance[channel] + epsilon) *
                      scale.data[channel] +
                  bias.data[channel];
    }
    return {to_tensor(y, dtype), to_tensor(mean, c.input(3).dtype()),
            to_tensor(variance, c.input(4).dtype())};
  });
}

/// Computed in the input's own precision at least: stash_type float32 would spoil doubles. The
/// internal form, which a step's passes make, gives statistics in that precision too.
Tensors layer_norm(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    Array<T> y = c.array<T>(0);
    const auto axis = static_cast<size_t>(c.axis("axis", -1, y.rank()));
    const std::span<const int64_t> all(y.dims);
    const int64_t rows = checked_element_count(all.first(axis)),
                  row = checked_element_count(all.subspan(axis));
    const T epsilon = static_cast<T>(c.node().float_or("epsilon", 1e-5F));
    const Array<T> scale = c.array<T>(1);
    const auto of_scale = broadcast_indices(scale.dims, y.dims);
    std::vector<int64_t> reduced(y.dims);
    for (size_t d = axis; d < reduced.size(); ++d) reduced[d] = 1;
    Array<T> means(reduced), inverses(reduced);
    for (int64_t r = 0; r < rows; ++r) {
      T mean = 0, variance = 0;
      for (int64_t i = 0; i < row; ++i) mean += y[r * row + i];
      mean /= static_cast<T>(row);
      for (int64_t i = 0; i < row; ++i)
        variance += (y[r * row + i] - mean) * (y[r * row + i] - mean);
      const T inverse = T(1) / std::sqrt(variance / static_cast<T>(row) + epsilon);
      for (int64_t i = r * row; i < (r + 1) * row; ++i) {
        y[i] = (y[i] - mean) * inverse * scale[of_scale[static_cast<size_t>(i)]];
      }
      means[r] = mean;
      inverses[r] = inverse;
    }
    if (c.has(2)) {
      const Array<T> bias = c.array<T>(2);
      const auto of_bias = broadcast_indices(bias.dims, y.dims);
      for (int64_t i = 0; i < y.size(); ++i) y[i] += bias[of_bias[static_cast<size_t>(i)]];
    }
    const DType stash =
        c.node().domain.empty() ? static_cast<DType>(c.node().int_or("stash_type", 1)) : dtype;
    return {to_tensor(y, dtype), to_tensor(means, stash), to_tensor(inverses, stash)};
  });
}

constexpr KernelDef kNormalizationKernels[] = {
    {"BatchNormalization", batch_norm},
    {"LayerNormalization", layer_norm},
    {"LayerNormalization", layer_norm, "onward"},
};

}  // namespace

std::span<const KernelDef> normalization_kernels() { return kNormalizationKernels; }

}  // namespace onward::eval
