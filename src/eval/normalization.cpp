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

constexpr KernelDef kNormalizationKernels[] = {
    {"BatchNormalization", batch_norm},
};

}  // namespace

std::span<const KernelDef> normalization_kernels() { return kNormalizationKernels; }

}  // namespace onward::eval
