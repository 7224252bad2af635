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
  bli_thread_set_num_threads(1);   // kernels/gemm.cpp deals its products out
}

int threads() {
  if (wanted_threads > 0) return wanted_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

LibraryThreads::LibraryThreads(double cost) : alone_(threads() > 1 && cost < 2 * kWorthAThread) {
  if (alone_) omp_set_num_threads(1);
}

LibraryThreads::~LibraryThreads() {
  if (alone_) omp_set_num_threads(threads());
}

}  // namespace onward
