#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/buffer.h"

namespace onward {

/// What there is room for; each store takes its part of it.
struct StoreRoom {
  int64_t memory = 0, disk = 0;  // bytes
  std::filesystem::path folder;  // for a file
};

/// A quarter of the memory that is free, and half of the disk under $TMPDIR or /var/tmp.
StoreRoom free_room();

/// Keeps so many bytes for each example: in memory, and where that is full in a file that has no
/// name, so that it goes with the process. What does not fit, or a disk refuses, is just not there.
class ExampleStore {
 public:
  ExampleStore(int64_t examples, int64_t bytes, StoreRoom& room);
  ~ExampleStore();
  ExampleStore(const ExampleStore&) = delete;
  ExampleStore& operator=(const ExampleStore&) = delete;

  /// The examples that there is room for.
  int64_t capacity() const { return in_memory_ + on_disk_; }

  bool has(int64_t example) const { return places_[static_cast<size_t>(example)] >= 0; }
  /// False where it is not there.
  bool read(int64_t example, std::span<std::byte> to);
  /// Keeps it, where there is room.
  void write(int64_t example, std::span<const std::byte> from);

  /// What went wrong first, to be told once; empty afterwards.
  std::string take_failure() { return std::exchange(failure_, {}); }

 private:
  std::byte* in_memory(int64_t place);
  bool on_disk(bool writes, int64_t place, std::byte* bytes);
  void open_file();
  void give_up(int64_t capacity_left, const std::string& what);

  int64_t bytes_;
  int64_t in_memory_ = 0, on_disk_ = 0;  // places
  int64_t used_ = 0;
  std::vector<int64_t> places_;  // by example; -1: none. Those of the disk follow those in memory
  int64_t per_chunk_ = 1;
  std::vector<Buffer> chunks_;
  std::filesystem::path folder_;
  int file_ = -1;
  bool has_failed_ = false;
  std::string failure_;
};

}  // namespace onward
