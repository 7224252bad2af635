#pragma once

#include <span>
#include <string_view>

#include "runtime/tile.h"

namespace onward {

struct TileEntry {
  std::string_view op;
  DType from, to;
  TileFunction function;
};

// The same functions, compiled for different machines.
namespace any_machine {
std::span<const TileEntry> tile_entries();
}
namespace with_avx2 {
std::span<const TileEntry> tile_entries();
}

}  // namespace onward
