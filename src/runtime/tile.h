#pragma once

// Elementwise operators on tiles: a chain of them is run tile by tile, so that what lies between
// two of them never leaves the first cache.

#include <cstdint>
#include <optional>
#include <string_view>

#include "eval/elementwise_functions.h"
#include "ir/dtype.h"

namespace onward {

/// Whether this machine has AVX2 and FMA.
bool has_avx2();
/// Whether it has AVX-512F too. Results do not depend on it.
bool has_avx512();

/// Elements of a tile: small enough for a dozen of them in the first cache, large enough for the
/// call of a function to cost nothing.
inline constexpr int64_t kTile = 512;

/// out[i] = f(a[i], b[i], c[i]) for n elements; operands that the operator does not have are null.
using TileFunction = void (*)(const void* a, const void* b, const void* c, void* out, int64_t n,
                              elementwise::Attributes attributes);

/// The function of an operator for operands of type `from` (of Where: of its branches), giving
/// `to`; null where there is none. Operators of any number of inputs (Sum, Max, Min) are found as
/// the function of two; one of several forms by the value of the attribute that tells them apart.
TileFunction find_tile_function(std::string_view op, DType from, DType to,
                                std::string_view form = {});

}  // namespace onward
