// A file of its own: a compiler that sees the replaced operators takes malloc and delete for a pair
// that does not match.

#include "tests/train/large_allocations.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> least_size = SIZE_MAX;
std::atomic<int> count = 0;

}  // namespace

void* operator new(size_t size) {
  if (size >= least_size) ++count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int onward::large_allocations(size_t bytes, const std::function<void()>& call) {
  count = 0;
  least_size = bytes;
  call();
  least_size = SIZE_MAX;
  return count;
}
