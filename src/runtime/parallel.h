#pragma once

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace onward {

/// Sets how many threads loops, products and oneDNN use; 0 leaves it to the machine.
void set_threads(int threads);
int threads();

/// Work that takes a thread longer than this, in nanoseconds, is worth starting another one for.
/// The start alone takes a few microseconds, and much longer where other programs hold the
/// processor.
constexpr double kWorthAThread = 20'000;

/// Keeps oneDNN in the calling thread for its lifetime, where what it is called for takes
/// one thread `cost` nanoseconds and that is too little for more.
class LibraryThreads {
 public:
  explicit LibraryThreads(double cost);
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  bool alone_;
};

/// What a product of so many multiplications and additions takes one thread, in nanoseconds.
inline double product_cost(double flops) { return flops / 60; }

/// Calls body(first, last) for pieces of 0..count, one a thread, where that is worth the start of
/// the threads: `cost` is the rough number of nanoseconds that one unit takes in one thread. How
/// the range is cut depends on the number of threads alone, so that results do not vary.
template <typename Body>
void parallel_for(int64_t count, [[maybe_unused]] double cost, Body body) {
  if (count == 0) return;
#ifdef _OPENMP
  const auto useful = static_cast<int64_t>(static_cast<double>(count) * cost / kWorthAThread);
  const int team = static_cast<int>(std::clamp<int64_t>(useful, 1, threads()));
  if (team > 1) {
#pragma omp parallel num_threads(team)
    {
      const int64_t index = omp_get_thread_num(), size = omp_get_num_threads();
      body(count * index / size, count * (index + 1) / size);
    }
    return;
  }
#endif
  body(0, count);
}

}  // namespace onward
