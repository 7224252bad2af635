#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace onward {

/// The rules by which an initializer of a text may be given instead of a list of its elements:
///   normal(seed, stddev)     float or double; mean 0
///   uniform(seed, low, high) float or double
///   full(value)              float, double, int32, int64
/// Element i gets the same bits on every machine and from every compiler. With
///   bits(seed, j) = mix(mix(seed) + (j + 1) * 0x9e3779b97f4a7c15)       splitmix64's mix, mod 2^64
/// uniform takes   u = (bits(seed, i) >> 11) / 2^53,                  element = fma(high - low, u,
/// low) normal takes    s = the sum of bits(seed, 12 i + k) >> 11 for k < 12, exact in 57 bits,
///                 element = stddev * (s / 2^53 - 6)
/// which is the Irwin-Hall approximation: variance 1, no tail beyond 6. All in double, then rounded
/// to the tensor's type.
struct FillRule {
  std::string_view name;
  std::string_view usage;
  size_t arguments;
};

/// The rule of that name, or null.
const FillRule* find_fill_rule(std::string_view name);

/// Fills a text's initializers may hold together: enough for any example, little for memory.
inline constexpr int64_t kMaxFilledElements = int64_t{1} << 25;

/// Gives `tensor`, whose type and dimensions are set, its elements; returns how many. Throws Error
/// where the rule does not fit it, or where it has more than `max_elements`.
int64_t fill(onnx::TensorProto& tensor, const FillRule& rule, const std::vector<double>& arguments,
             int64_t max_elements);

}  // namespace onward
