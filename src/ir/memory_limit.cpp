#include "ir/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <limits>

#include "ir/tensor.h"
#include "onward/error.h"

namespace onward {
namespace {

int64_t machine_memory() {
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : std::numeric_limits<int64_t>::max();
}

std::atomic<int64_t>& limit() {
  static std::atomic<int64_t> bytes = machine_memory();
  return bytes;
}

std::string readable(int64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

int64_t memory_limit() { return limit(); }

void set_memory_limit(int64_t bytes) { limit() = bytes; }

void refuse_beyond_memory(int64_t bytes, std::string_view what) {
  if (bytes <= limit()) return;
  throw Error(fmt::format("{} would take {}, more than the {} of memory that there are", what,
                          readable(bytes), readable(limit())));
}

int64_t checked_bytes(DType dtype, std::span<const int64_t> dims) {
  const auto bytes = packed_bytes(dtype, checked_element_count(dims));
  if (bytes && *bytes <= limit()) return *bytes;
  throw Error(fmt::format("{}{} would take more than the {} of memory that there are", name(dtype),
                          to_string(dims), readable(limit())));
}

int64_t checked_list_size(std::span<const int64_t> dims, int64_t width) {
  const int64_t count = checked_element_count(dims);
  if (count <= limit() / width) return count;
  throw Error(
      fmt::format("a tensor of shape {} would take more than the {} of memory that there are",
                  to_string(dims), readable(limit())));
}

}  // namespace onward
