#include <algorithm>
#include <cmath>

#include "eval/families.h"
#include "eval/random_numbers.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

RandomNumbers numbers_of(const Context& c) { return random_numbers_of(c.node(), c.random()); }

DType result_type(const Context& c, DType fallback) {
  const auto* given = c.node().get<int64_t>("dtype");
  return given ? dtype_from_onnx(*given).value_or(fallback) : fallback;
}

template <typename Number>
Tensor filled(std::vector<int64_t> dims, DType dtype, Number number) {
  Array<double> y(std::move(dims));
  for (int64_t i = 0; i < y.size(); ++i) y[i] = number(static_cast<uint64_t>(i));
  return to_tensor(y, dtype);
}

Tensor normal_tensor(const Context& c, std::vector<int64_t> dims, DType dtype) {
  const RandomNumbers random = numbers_of(c);
  const double mean = static_cast<double>(c.node().float_or("mean", 0));
  const double scale = static_cast<double>(c.node().float_or("scale", 1));
  return filled(std::move(dims), dtype,
                [&](uint64_t i) { return mean + scale * random.normal(i); });
}

Tensor uniform_tensor(const Context& c, std::vector<int64_t> dims, DType dtype) {
  const RandomNumbers random = numbers_of(c);
  const double low = static_cast<double>(c.node().float_or("low", 0));
  const double high = static_cast<double>(c.node().float_or("high", 1));
  return filled(std::move(dims), dtype,
                [&](uint64_t i) { return low + (high - low) * random.uniform(i); });
}

Tensors random_normal(const Context& c) {
  return {normal_tensor(c, c.ints_attribute("shape", {}), result_type(c, DType::f32))};
}
Tensors random_uniform(const Context& c) {
  return {uniform_tensor(c, c.ints_attribute("shape", {}), result_type(c, DType::f32))};
}
Tensors random_normal_like(const Context& c) {
  return {normal_tensor(c, c.input(0).dims(), result_type(c, c.input(0).dtype()))};
}
Tensors random_uniform_like(const Context& c) {
  return {uniform_tensor(c, c.input(0).dims(), result_type(c, c.input(0).dtype()))};
}

Tensors dropout(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const double ratio = c.has(1) ? c.scalar<double>(1) : 0.5;
  const bool training = c.has(2) && c.scalar<uint8_t>(2) != 0;
  Array<uint8_t> mask(c.input(0).dims(), 1);
  if (!training || ratio == 0) return {c.input(0), to_tensor(mask, DType::boolean)};
  if (!(ratio > 0 && ratio <= 1))
    throw Error("the ratio of elements to drop is not between 0 and 1");
  const RandomNumbers random = numbers_of(c);
  for (int64_t i = 0; i < mask.size(); ++i)
    mask[i] = random.uniform(static_cast<uint64_t>(i)) >= ratio;
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    Array<T> y = c.array<T>(0);
    const T scale = static_cast<T>(1) / static_cast<T>(1 - ratio);
    for (int64_t i = 0; i < y.size(); ++i) y[i] = mask[i] ? y[i] * scale : T(0);
    return {to_tensor(y, dtype), to_tensor(mask, DType::boolean)};
  });
}

/// Outcomes of each row, whose logarithms of chances are given up to a constant.
Tensors multinomial(const Context& c) {
  const Array<double> x = c.array<double>(0);
  const int64_t rows = x.dims[0], outcomes = x.dims[1];
  const int64_t samples = c.node().int_or("sample_size", 1);
  const RandomNumbers random = numbers_of(c);
  Array<int64_t> y({rows, samples});
  std::vector<double> sums(static_cast<size_t>(outcomes));
  for (int64_t row = 0; row < rows; ++row) {
    const auto logs = std::span(x.data).subspan(static_cast<size_t>(row * outcomes), sums.size());
    const double largest = *std::ranges::max_element(logs);
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = sum += std::exp(logs[i] - largest);
    if (!std::isfinite(sum)) throw Error("the chances of its outcomes are no finite numbers");
    for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
      const double point = random.uniform(static_cast<uint64_t>(i)) * sum;
      const auto found = std::ranges::upper_bound(sums, point);
      y[i] = std::min<int64_t>(found - sums.begin(), outcomes - 1);
    }
  }
  return {to_tensor(y, result_type(c, DType::i32))};
}

constexpr KernelDef kRandomKernels[] = {
    {"Dropout", dropout},
    {"Multinomial", multinomial},
    {"RandomNormal", random_normal},
    {"RandomNormalLike", random_normal_like},
    {"RandomUniform", random_uniform},
    {"RandomUniformLike", random_uniform_like},
};

}  // namespace

std::span<const KernelDef> random_kernels() { return kRandomKernels; }

}  // namespace onward::eval
