#include "runtime/conv_method.h"

#include <fmt/format.h>

#include "onward/error.h"

namespace onward {
namespace {

thread_local ConvMethod method_here = ConvMethod::fastest;

}  // namespace

std::string_view name(ConvMethod method) {
  switch (method) {
    case ConvMethod::fastest:
      return "fastest";
    case ConvMethod::direct:
      return "direct";
    case ConvMethod::winograd_4x4:
      return "winograd 4x4";
    case ConvMethod::winograd_2x2:
      return "winograd 2x2";
    case ConvMethod::taps:
      return "taps";
  }
  return {};
}

ConvMethod required_conv_method(std::string_view wanted) {
  for (const ConvMethod method : {ConvMethod::fastest, ConvMethod::direct}) {
    if (wanted == name(method)) return method;
  }
  throw Error(
      fmt::format("'{}' is no way to compute convolutions: give 'fastest' or 'direct'", wanted));
}

ConvMethodScope::ConvMethodScope(ConvMethod method) : before_(method_here) { method_here = method; }

ConvMethodScope::~ConvMethodScope() { method_here = before_; }

ConvMethod conv_method() { return method_here; }

}  // namespace onward
