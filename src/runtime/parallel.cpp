#include "runtime/parallel.h"

#include <cblas.h>

#include <thread>

extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" void omp_set_num_threads(int count);

namespace onward {
namespace {

int wanted_threads = 0;

void set_library_threads(int count) {
  omp_set_num_threads(count);  // oneDNN asks OpenMP
  bli_thread_set_num_threads(count);
}

}  // namespace

void set_threads(int count) {
  wanted_threads = count;
  set_library_threads(threads());
}

int threads() {
  if (wanted_threads > 0) return wanted_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

LibraryThreads::LibraryThreads(double cost) : alone_(threads() > 1 && cost < 2 * kWorthAThread) {
  if (alone_) set_library_threads(1);
}

LibraryThreads::~LibraryThreads() {
  if (alone_) set_library_threads(threads());
}

}  // namespace onward
