#include "runtime/parallel.h"

#include <cblas.h>

#include <thread>

extern "C" void bli_thread_set_num_threads(int64_t count);
extern "C" void omp_set_num_threads(int count);

namespace onward {
namespace {

int wanted_threads = 0;

}  // namespace

void set_threads(int count) {
  wanted_threads = count;
  omp_set_num_threads(threads());  // oneDNN asks OpenMP
  bli_thread_set_num_threads(threads());
}

int threads() {
  if (wanted_threads > 0) return wanted_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace onward
