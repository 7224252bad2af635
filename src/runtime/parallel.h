#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <type_traits>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace onward {

/// The number of threads for a wish: 0 means as many as the machine has. Throws Error where it is
/// negative or more than kMaxThreads.
int thread_count(int64_t wanted);
constexpr int kMaxThreads = 256;  // OpenMP ends the program where the system refuses it a thread

/// While it lives, loops, products and oneDNN use so many threads when they are called from this
/// one. Results depend on the number, so whoever computes something says it each time: the
/// number is nobody's but the caller's. Throws Error in the child of a fork, where OpenMP's threads
/// are gone and a loop over several would wait for them forever.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// How many there are to compute with.
int threads();

/// Tells a thread of a team what the team's master computes with.
void adopt_threads(int count);

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
/// the range is cut depends on the number of threads alone, so that results do not vary. A body of
/// three parameters is told which of the team's threads it runs in. What one throws is thrown when
/// all are done: an exception that leaves a team's thread would end the program.
template <typename Body>
void parallel_for(int64_t count, [[maybe_unused]] double cost, Body body) {
  if (count == 0) return;
  const auto run = [&]([[maybe_unused]] int64_t index, int64_t first, int64_t last) {
    if constexpr (std::is_invocable_v<Body&, int64_t, int64_t, int64_t>) {
      body(first, last, index);
    } else {
      body(first, last);
    }
  };
#ifdef _OPENMP
  const auto useful = static_cast<int64_t>(static_cast<double>(count) * cost / kWorthAThread);
  const int all = threads();
  const int team = static_cast<int>(std::clamp<int64_t>(useful, 1, all));
  if (team > 1) {
    std::exception_ptr failure;
#pragma omp parallel num_threads(team)
    {
      adopt_threads(all);
      const int64_t index = omp_get_thread_num(), size = omp_get_num_threads();
      try {
        run(index, count * index / size, count * (index + 1) / size);
      } catch (...) {
#pragma omp critical(onward_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    return;
  }
#endif
  run(0, 0, count);
}

}  // namespace onward
