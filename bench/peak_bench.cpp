// What the processor could do at most: peak_bench THREADS prints the GFLOPS of fused multiply-adds
// in registers, in the widest vectors that it has, as JSON.

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kRounds = 20'000'000;

// Twelve sums at a time, more than the multiply-adds that are under way at once.
__attribute__((target("avx512f"))) float with_avx512() {
  __m512 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.999F), b = _mm512_set1_ps(0.001F);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  }
  for (int i = 1; i < 12; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float with_avx2() {
  __m256 sums[12];
  for (int i = 0; i < 12; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(0.001F);
  for (int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  }
  for (int i = 1; i < 12; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const bool is_wide = __builtin_cpu_supports("avx512f");
  std::vector<float> results(static_cast<size_t>(threads));
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::jthread> running;
    for (float& result : results) {
      running.emplace_back([&result, is_wide] { result = is_wide ? with_avx512() : with_avx2(); });
    }
    running.clear();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    const double flops = 2.0 * 12 * kRounds * (is_wide ? 16 : 8) * threads;
    best = std::max(best, flops / passed.count() / 1e9);
  }
  fmt::print("{{\"gflops\": {:.1f}, \"vectors\": \"{}\", \"sum\": {}}}\n", best,
             is_wide ? "AVX-512" : "AVX2", results[0]);
}
