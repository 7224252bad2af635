#include "runtime/tile_program.h"

#include <array>
#include <cstring>

#include "runtime/buffer.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

constexpr size_t kTileBytes = kTile * sizeof(double);

/// Copies `n` elements, from the one at `start` of the result's order on, of a tensor that is
/// broadcast over the result.
template <typename T>
void gather_broadcast(const T* from, T* to, int64_t start, int64_t n,
                      const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  const size_t rank = dims.size();
  std::array<int64_t, 16> position{};
  int64_t rest = start, offset = 0;
  for (size_t d = rank; d-- > 0;) {
    position[d] = rest % dims[d];
    rest /= dims[d];
    offset += position[d] * strides[d];
  }
  const size_t inner = rank - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t run = std::min(dims[inner] - position[inner], n - done);
    if (strides[inner] == 0) {
      std::fill_n(to + done, run, from[offset]);
    } else if (strides[inner] == 1) {
      std::copy_n(from + offset, run, to + done);
    } else {
      for (int64_t i = 0; i < run; ++i) to[done + i] = from[offset + i * strides[inner]];
    }
    done += run;
    offset += run * strides[inner];
    position[inner] += run;
    for (size_t d = inner; d > 0 && position[d] == dims[d]; --d) {
      position[d] = 0;
      offset += strides[d - 1] - dims[d] * strides[d];
      ++position[d - 1];
    }
  }
}

void load(const TileProgram::Source& source, const std::byte* from, std::byte* to, int64_t start,
          int64_t n, const std::vector<int64_t>& dims) {
  const auto as = [&]<typename T>(T) {
    gather_broadcast(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), start, n, dims,
                     source.strides);
  };
  switch (source.element) {
    case 1:
      return as(uint8_t{});
    case 4:
      return as(uint32_t{});
    default:
      return as(uint64_t{});
  }
}

bool is_scalar(const TileProgram::Source& source) {
  for (const int64_t stride : source.strides) {
    if (stride != 0) return false;
  }
  return !source.whole;
}

// The tiles of all threads of the team that this thread is the master of, kept between runs: the
// others ask for no memory, which they might be refused in the midst of a commit.
thread_local Buffer tile_memory;

/// For one thread: where each register is, and the tiles themselves.
size_t addresses_bytes(size_t registers) { return aligned_size(registers * sizeof(std::byte*)); }

size_t bytes_a_thread(size_t registers) {
  return addresses_bytes(registers) + registers * kTileBytes;
}

}  // namespace

void reserve_tiles(size_t registers) {
  const size_t bytes = static_cast<size_t>(threads()) * bytes_a_thread(registers);
  if (tile_memory.size() < bytes) tile_memory = Buffer(bytes);
}

void TileProgram::run(const Run& run) const {
  const int64_t whole_tiles = (count + kTile - 1) / kTile;
  reserve_tiles(registers());
  std::byte* memory = tile_memory.data();
  parallel_for(whole_tiles, cost * kTile, [&](int64_t first, int64_t last, int64_t thread) {
    std::byte* own = memory + static_cast<size_t>(thread) * bytes_a_thread(registers());
    auto** at = reinterpret_cast<std::byte**>(own);
    for (size_t i = 0; i < registers(); ++i) {
      at[i] = own + addresses_bytes(registers()) + i * kTileBytes;
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!is_scalar(sources[i])) continue;
      load(sources[i], run.at<std::byte>(sources[i].slot), at[i], 0, std::min(count, kTile), dims);
    }
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t start = tile * kTile, n = std::min(kTile, count - start);
      for (size_t i = 0; i < sources.size(); ++i) {
        const Source& source = sources[i];
        std::byte* from = run.at<std::byte>(source.slot);
        if (source.whole) {
          at[i] = from + static_cast<size_t>(start) * source.element;
        } else if (!is_scalar(source)) {
          load(source, from, at[i], start, n, dims);
        }
      }
      for (const Target& target : targets) {
        // A result that leaves the loop is computed where it is to lie.
        at[static_cast<size_t>(target.reg)] =
            run.at<std::byte>(target.slot) + static_cast<size_t>(start) * target.element;
      }
      const auto operand = [&](int reg) {
        return reg < 0 ? nullptr : at[static_cast<size_t>(reg)];
      };
      for (const Instruction& step : instructions) {
        step.function(operand(step.a), operand(step.b), operand(step.c), operand(step.out), n,
                      step.attributes);
      }
    }
  });
}

}  // namespace onward
