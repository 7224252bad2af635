#pragma once

#include <vector>

#include "runtime/plan.h"
#include "runtime/tile.h"

namespace onward {

/// A loop over tiles: what each operand is, and which functions run on each tile.
struct TileProgram {
  /// A tensor that is read: as it lies, or broadcast.
  struct Source {
    SlotIndex slot;
    size_t element;                // bytes
    bool whole = true;             // of the result's shape: read where it lies
    std::vector<int64_t> strides;  // else, in elements, for each of `dims`
  };
  struct Target {
    SlotIndex slot;
    size_t element;
    int reg;
  };
  /// Registers are numbered: first the sources, then tiles of memory.
  struct Instruction {
    TileFunction function;
    int a = -1, b = -1, c = -1, out = -1;
    elementwise::Attributes attributes = {};
  };

  std::vector<int64_t> dims;  // of the result, as it lies in memory, runs of dimensions joined
  int64_t count = 1;
  std::vector<Source> sources;
  std::vector<Target> targets;
  std::vector<Instruction> instructions;
  int tiles = 0;
  double cost = 0;  // of one element, in nanoseconds

  size_t registers() const { return sources.size() + static_cast<size_t>(tiles); }
  void run(const Run& run) const;
};

/// Gets the memory for so many registers of each thread, so that a program that is run from this
/// one asks for none.
void reserve_tiles(size_t registers);

}  // namespace onward
