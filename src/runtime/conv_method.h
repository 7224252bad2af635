#pragma once

#include <cstdint>
#include <string_view>

namespace onward {

/// By which kernels convolutions are computed. They differ in the last digits.
enum class ConvMethod : uint8_t {
  fastest,  // for each shape, by a table of measurements
  direct,   // no transforms: as precise as sums of products are
  // Wherever it can, whether that is fast or not: for tests and measurements.
  winograd_4x4,
  winograd_2x2,
  taps,
};

std::string_view name(ConvMethod method);
/// The one that is called "fastest" or "direct"; throws Error for any other name.
ConvMethod required_conv_method(std::string_view name);

/// While it lives, plans that are made in this thread convolve so; without any, by what is fastest.
/// As of `Threads`, results depend on it: whoever computes something says it each time.
class ConvMethodScope {
 public:
  explicit ConvMethodScope(ConvMethod method);
  ~ConvMethodScope();
  ConvMethodScope(const ConvMethodScope&) = delete;
  ConvMethodScope& operator=(const ConvMethodScope&) = delete;

 private:
  ConvMethod before_;
};

ConvMethod conv_method();

}  // namespace onward
