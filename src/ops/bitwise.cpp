#include "ops/families.h"

namespace onward {
namespace {

constexpr std::string_view kIntegers = "its result is integers";

const OpDef kBitwiseOps[] = {
    {.name = "BitShift", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseAnd", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseNot", .no_gradient = kIntegers},
    {.name = "BitwiseOr", .traits = kBroadcasts, .no_gradient = kIntegers},
    {.name = "BitwiseXor", .traits = kBroadcasts, .no_gradient = kIntegers},
};

}  // namespace

OpFamily bitwise_ops() { return {kBitwiseOps, kElementwise}; }

}  // namespace onward
