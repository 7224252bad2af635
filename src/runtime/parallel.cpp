#include "runtime/parallel.h"

#include <cblas.h>
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "onward/error.h"

extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" char* bli_info_get_version_str(void);
extern "C" void omp_set_num_threads(int count);
extern "C" int omp_get_max_threads();

namespace onward {
namespace {

/// BLIS before 1.0 knows AMD's processors by their numbers, and takes plain C, a quarter as fast,
/// for Zen 4 and later. It reads what to take instead once, in the environment, which is as before
/// afterwards: that is why it happens here, while nobody else runs.
bool start_blis() {
  constexpr const char* kVariable = "BLIS_ARCH_TYPE";
  constexpr const char* kSkylakeX = "0";  // its kernels for AVX-512
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool is_unknown = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") &&
                          std::string_view(bli_info_get_version_str()).starts_with("0.");
#else
  const bool is_unknown = false;
#endif
  if (!is_unknown || std::getenv(kVariable)) return false;
  setenv(kVariable, kSkylakeX, 0);
  bli_thread_set_num_threads(1);
  unsetenv(kVariable);
  return true;
}

[[maybe_unused]] const bool started_blis = start_blis();

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
