#include "ops/families.h"

namespace onward {
namespace {

// Elements stay what they are only where their type does.
Grads bit_cast_vjp(const VjpContext& c) {
  if (c.input(0).dtype() != c.output(0).dtype()) return {};
  return {c.grad(0)};
}

constexpr std::string_view kIntegers = "its result is integers";

const OpDef kBitwiseOps[] = {
    {.name = "BitCast", .vjp = bit_cast_vjp},
    {.name = "BitShift", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseAnd", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseNot", .no_gradient = kIntegers},
    {.name = "BitwiseOr", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseXor", .traits = kBroadcasts, .no_gradient = kIntegers},
};

}  // namespace

OpFamily bitwise_ops() { return {kBitwiseOps, kElementwise}; }

}  // namespace onward
