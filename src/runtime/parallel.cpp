#include "runtime/parallel.h"

#include <cblas.h>
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <thread>

#include "onward/error.h"

extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" void omp_set_num_threads(int count);
extern "C" int omp_get_max_threads();

namespace onward {
namespace {

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

thread_local int threads_here = 0;      // 0: nobody has said
thread_local int others_in_openmp = 0;  // what this thread's other work uses

std::atomic<bool> started_threads = false;
std::atomic<bool> lost_threads = false;

/// A fork copies the thread that calls it and no other.
void watch_forks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { lost_threads = started_threads.load(); });
}

}  // namespace

int thread_count(int64_t wanted) {
  if (wanted < 0 || wanted > kMaxThreads) {
    throw Error(fmt::format("{} threads are not supported: give 1 to {}, or 0 for one per core",
                            wanted, kMaxThreads));
  }
  return wanted > 0 ? static_cast<int>(wanted) : std::min(machine_threads(), kMaxThreads);
}

Threads::Threads(int count) : before_(threads_here) {
  watch_forks();
  if (count > 1 && lost_threads) {
    throw Error(
        "this process was forked from one that used several threads, which a fork does not copy: "
        "start it with multiprocessing's \"spawn\", or use one thread");
  }
  if (count > 1) started_threads = true;
  bli_thread_set_num_threads(1);  // kernels/gemm.cpp deals its products out
  if (before_ == 0) others_in_openmp = omp_get_max_threads();
  threads_here = count;
  omp_set_num_threads(count);  // oneDNN asks OpenMP
}

Threads::~Threads() {
  threads_here = before_;
  omp_set_num_threads(before_ > 0 ? before_ : others_in_openmp);
}

int threads() { return threads_here > 0 ? threads_here : machine_threads(); }

void adopt_threads(int count) { threads_here = count; }

LibraryThreads::LibraryThreads(double cost) : alone_(threads() > 1 && cost < 2 * kWorthAThread) {
  if (alone_) omp_set_num_threads(1);
}

LibraryThreads::~LibraryThreads() {
  if (alone_) omp_set_num_threads(threads());
}

}  // namespace onward
