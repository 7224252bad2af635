// The sums of 6 x 16 numbers (12 x 16 with AVX-512) stay in registers while k goes by, so that each
// row of b is read once for all of them. Compilers find no order of these instructions that keeps
// both of the processor's multipliers busy (two thirds of its peak, measured), so it is written
// down.

#include "runtime/kernels/panel_product.h"

#include <algorithm>
#include <span>

#include "runtime/tile.h"

namespace onward {
namespace {

constexpr int64_t kDepth = 256;  // of a panel of b, which then takes half of the first cache

/// What one call reads and writes: some rows and one panel.
struct Tile {
  int64_t k;
  const float* a;
  int64_t a_row, a_k;
  const float* b;
  float* y;
  int64_t y_row;
  int64_t chunk;
  bool add;  // to what y has
};

using Kernel = void (*)(const Tile&);

#ifdef __x86_64__

// clang-format off
// AVX2: ymm0 and ymm1 have a row of b, ymm2 a number of a; two sums a row from ymm4 on.
#define ONWARD_AVX2_LOAD(offset)                             \
  "vmovups " #offset "(%[b]), %%ymm0\n\t"                    \
  "vmovups " #offset "+32(%[b]), %%ymm1\n\t"
#define ONWARD_AVX2_ROW(address, left, right)                \
  "vbroadcastss " address ", %%ymm2\n\t"                     \
  "vfmadd231ps %%ymm0, %%ymm2, %%ymm" #left "\n\t"           \
  "vfmadd231ps %%ymm1, %%ymm2, %%ymm" #right "\n\t"
#define ONWARD_AVX2_ZERO(left, right)                        \
  "vxorps %%ymm" #left ", %%ymm" #left ", %%ymm" #left "\n\t" \
  "vxorps %%ymm" #right ", %%ymm" #right ", %%ymm" #right "\n\t"
#define ONWARD_AVX2_STORE(left, right)                       \
  "vmovups %%ymm" #left ", (%[y])\n\t"                       \
  "vmovups %%ymm" #right ", 32(%[y])\n\t"                    \
  "add %[next], %[y]\n\t"
#define ONWARD_AVX2_ADD(left, right)                         \
  "vaddps (%[y]), %%ymm" #left ", %%ymm" #left "\n\t"        \
  "vaddps 32(%[y]), %%ymm" #right ", %%ymm" #right "\n\t"    \
  ONWARD_AVX2_STORE(left, right)

#define ONWARD_AVX2_ROWS_1 ONWARD_AVX2_ROW("(%[a0])", 4, 5)
#define ONWARD_AVX2_ROWS_2 ONWARD_AVX2_ROWS_1 ONWARD_AVX2_ROW("(%[a0],%[row])", 6, 7)
#define ONWARD_AVX2_ROWS_3 ONWARD_AVX2_ROWS_2 ONWARD_AVX2_ROW("(%[a0],%[row],2)", 8, 9)
#define ONWARD_AVX2_ROWS_4 ONWARD_AVX2_ROWS_3 ONWARD_AVX2_ROW("(%[a3])", 10, 11)
#define ONWARD_AVX2_ROWS_5 ONWARD_AVX2_ROWS_4 ONWARD_AVX2_ROW("(%[a3],%[row])", 12, 13)
#define ONWARD_AVX2_ROWS_6 ONWARD_AVX2_ROWS_5 ONWARD_AVX2_ROW("(%[a3],%[row],2)", 14, 15)
#define ONWARD_AVX2_EACH_1(do) ONWARD_AVX2_##do(4, 5)
#define ONWARD_AVX2_EACH_2(do) ONWARD_AVX2_EACH_1(do) ONWARD_AVX2_##do(6, 7)
#define ONWARD_AVX2_EACH_3(do) ONWARD_AVX2_EACH_2(do) ONWARD_AVX2_##do(8, 9)
#define ONWARD_AVX2_EACH_4(do) ONWARD_AVX2_EACH_3(do) ONWARD_AVX2_##do(10, 11)
#define ONWARD_AVX2_EACH_5(do) ONWARD_AVX2_EACH_4(do) ONWARD_AVX2_##do(12, 13)
#define ONWARD_AVX2_EACH_6(do) ONWARD_AVX2_EACH_5(do) ONWARD_AVX2_##do(14, 15)
#define ONWARD_AVX2_NEXT "add %[step], %[a0]\n\tadd %[step], %[a3]\n\t"

// AVX-512: zmm0 has a row of b, numbers of a come from memory; a sum a row from zmm4 on.
#define ONWARD_AVX512_LOAD(offset) "vmovups " #offset "(%[b]), %%zmm0\n\t"
#define ONWARD_AVX512_ROW(address, sum) \
  "vfmadd231ps " address "%{1to16%}, %%zmm0, %%zmm" #sum "\n\t"
#define ONWARD_AVX512_ZERO(sum) "vpxord %%zmm" #sum ", %%zmm" #sum ", %%zmm" #sum "\n\t"
#define ONWARD_AVX512_STORE(sum) "vmovups %%zmm" #sum ", (%[y])\n\tadd %[next], %[y]\n\t"
#define ONWARD_AVX512_ADD(sum) \
  "vaddps (%[y]), %%zmm" #sum ", %%zmm" #sum "\n\t" ONWARD_AVX512_STORE(sum)

#define ONWARD_AVX512_ROWS_1 ONWARD_AVX512_ROW("(%[a0])", 4)
#define ONWARD_AVX512_ROWS_2 ONWARD_AVX512_ROWS_1 ONWARD_AVX512_ROW("(%[a0],%[row])", 5)
#define ONWARD_AVX512_ROWS_3 ONWARD_AVX512_ROWS_2 ONWARD_AVX512_ROW("(%[a0],%[row],2)", 6)
#define ONWARD_AVX512_ROWS_4 ONWARD_AVX512_ROWS_3 ONWARD_AVX512_ROW("(%[a3])", 7)
#define ONWARD_AVX512_ROWS_5 ONWARD_AVX512_ROWS_4 ONWARD_AVX512_ROW("(%[a3],%[row])", 8)
#define ONWARD_AVX512_ROWS_6 ONWARD_AVX512_ROWS_5 ONWARD_AVX512_ROW("(%[a3],%[row],2)", 9)
#define ONWARD_AVX512_ROWS_7 ONWARD_AVX512_ROWS_6 ONWARD_AVX512_ROW("(%[a6])", 10)
#define ONWARD_AVX512_ROWS_8 ONWARD_AVX512_ROWS_7 ONWARD_AVX512_ROW("(%[a6],%[row])", 11)
#define ONWARD_AVX512_ROWS_9 ONWARD_AVX512_ROWS_8 ONWARD_AVX512_ROW("(%[a6],%[row],2)", 12)
#define ONWARD_AVX512_ROWS_10 ONWARD_AVX512_ROWS_9 ONWARD_AVX512_ROW("(%[a9])", 13)
#define ONWARD_AVX512_ROWS_11 ONWARD_AVX512_ROWS_10 ONWARD_AVX512_ROW("(%[a9],%[row])", 14)
#define ONWARD_AVX512_ROWS_12 ONWARD_AVX512_ROWS_11 ONWARD_AVX512_ROW("(%[a9],%[row],2)", 15)
#define ONWARD_AVX512_EACH_1(do) ONWARD_AVX512_##do(4)
#define ONWARD_AVX512_EACH_2(do) ONWARD_AVX512_EACH_1(do) ONWARD_AVX512_##do(5)
#define ONWARD_AVX512_EACH_3(do) ONWARD_AVX512_EACH_2(do) ONWARD_AVX512_##do(6)
#define ONWARD_AVX512_EACH_4(do) ONWARD_AVX512_EACH_3(do) ONWARD_AVX512_##do(7)
#define ONWARD_AVX512_EACH_5(do) ONWARD_AVX512_EACH_4(do) ONWARD_AVX512_##do(8)
#define ONWARD_AVX512_EACH_6(do) ONWARD_AVX512_EACH_5(do) ONWARD_AVX512_##do(9)
#define ONWARD_AVX512_EACH_7(do) ONWARD_AVX512_EACH_6(do) ONWARD_AVX512_##do(10)
#define ONWARD_AVX512_EACH_8(do) ONWARD_AVX512_EACH_7(do) ONWARD_AVX512_##do(11)
#define ONWARD_AVX512_EACH_9(do) ONWARD_AVX512_EACH_8(do) ONWARD_AVX512_##do(12)
#define ONWARD_AVX512_EACH_10(do) ONWARD_AVX512_EACH_9(do) ONWARD_AVX512_##do(13)
#define ONWARD_AVX512_EACH_11(do) ONWARD_AVX512_EACH_10(do) ONWARD_AVX512_##do(14)
#define ONWARD_AVX512_EACH_12(do) ONWARD_AVX512_EACH_11(do) ONWARD_AVX512_##do(15)
#define ONWARD_AVX512_NEXT ONWARD_AVX2_NEXT "add %[step], %[a6]\n\tadd %[step], %[a9]\n\t"

#define ONWARD_STEP(isa, rows, offset) \
  ONWARD_##isa##_LOAD(offset) ONWARD_##isa##_ROWS_##rows ONWARD_##isa##_NEXT

// Chunk by chunk: sums from zero over four steps at a time, then the rest, added to y or stored.
#define ONWARD_MULTIPLY(isa, rows)                                                       \
  template <>                                                                            \
  void multiply<isa, rows>(const Tile& tile) {                                           \
    constexpr int64_t kBytes = sizeof(float);                                            \
    const float *a0 = tile.a, *a3 = a0 + 3 * tile.a_row, *a6 = a0 + 6 * tile.a_row,      \
                *a9 = a0 + 9 * tile.a_row, *b = tile.b;                                  \
    float* y;                                                                            \
    int64_t left = tile.k, steps, add = tile.add ? 1 : 0;                                \
    const int64_t row = tile.a_row * kBytes, step = tile.a_k * kBytes,                   \
                  next = tile.y_row * kBytes;                                            \
    asm volatile(                                                                        \
        "0:\n\t"                                                                         \
        ONWARD_##isa##_EACH_##rows(ZERO)                                                 \
        "mov %[chunk], %[steps]\n\t"                                                     \
        "cmp %[steps], %[left]\n\t"                                                      \
        "cmovl %[left], %[steps]\n\t"                                                    \
        "sub %[steps], %[left]\n\t"                                                      \
        "sub $4, %[steps]\n\t"                                                           \
        "jl 2f\n\t"                                                                      \
        ".p2align 4\n"                                                                   \
        "1:\n\t"                                                                         \
        ONWARD_STEP(isa, rows, 0)                                                        \
        ONWARD_STEP(isa, rows, 64)                                                       \
        ONWARD_STEP(isa, rows, 128)                                                      \
        ONWARD_STEP(isa, rows, 192)                                                      \
        "add $256, %[b]\n\t"                                                             \
        "sub $4, %[steps]\n\t"                                                           \
        "jge 1b\n"                                                                       \
        "2:\n\t"                                                                         \
        "add $4, %[steps]\n\t"                                                           \
        "jz 4f\n"                                                                        \
        "3:\n\t"                                                                         \
        ONWARD_STEP(isa, rows, 0)                                                        \
        "add $64, %[b]\n\t"                                                              \
        "dec %[steps]\n\t"                                                               \
        "jnz 3b\n"                                                                       \
        "4:\n\t"                                                                         \
        "mov %[y0], %[y]\n\t"                                                            \
        "test %[add], %[add]\n\t"                                                        \
        "jz 5f\n\t"                                                                      \
        ONWARD_##isa##_EACH_##rows(ADD)                                                  \
        "jmp 6f\n"                                                                       \
        "5:\n\t"                                                                         \
        ONWARD_##isa##_EACH_##rows(STORE)                                                \
        "mov $1, %[add]\n"                                                               \
        "6:\n\t"                                                                         \
        "test %[left], %[left]\n\t"                                                      \
        "jnz 0b\n\t"                                                                     \
        "vzeroupper\n\t"                                                                 \
        : [a0] "+&r"(a0), [a3] "+&r"(a3), [a6] "+&r"(a6), [a9] "+&r"(a9), [b] "+&r"(b),  \
          [y] "=&r"(y), [left] "+&r"(left), [steps] "=&r"(steps), [add] "+&r"(add)       \
        : [row] "r"(row), [step] "r"(step), [next] "r"(next), [y0] "m"(tile.y),          \
          [chunk] "m"(tile.chunk)                                                        \
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",        \
          "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
  }

enum Isa : uint8_t { AVX2, AVX512 };

template <Isa isa, int rows>
void multiply(const Tile& tile);

ONWARD_MULTIPLY(AVX2, 1)
ONWARD_MULTIPLY(AVX2, 2)
ONWARD_MULTIPLY(AVX2, 3)
ONWARD_MULTIPLY(AVX2, 4)
ONWARD_MULTIPLY(AVX2, 5)
ONWARD_MULTIPLY(AVX2, 6)
ONWARD_MULTIPLY(AVX512, 1)
ONWARD_MULTIPLY(AVX512, 2)
ONWARD_MULTIPLY(AVX512, 3)
ONWARD_MULTIPLY(AVX512, 4)
ONWARD_MULTIPLY(AVX512, 5)
ONWARD_MULTIPLY(AVX512, 6)
ONWARD_MULTIPLY(AVX512, 7)
ONWARD_MULTIPLY(AVX512, 8)
ONWARD_MULTIPLY(AVX512, 9)
ONWARD_MULTIPLY(AVX512, 10)
ONWARD_MULTIPLY(AVX512, 11)
ONWARD_MULTIPLY(AVX512, 12)
// clang-format on

/// Kernels by the number of rows, from 1 on.
std::span<const Kernel> kernels(PanelIsa isa) {
  static constexpr Kernel kAvx2[] = {multiply<AVX2, 1>, multiply<AVX2, 2>, multiply<AVX2, 3>,
                                     multiply<AVX2, 4>, multiply<AVX2, 5>, multiply<AVX2, 6>};
  static constexpr Kernel kAvx512[] = {
      multiply<AVX512, 1>, multiply<AVX512, 2>,  multiply<AVX512, 3>,  multiply<AVX512, 4>,
      multiply<AVX512, 5>, multiply<AVX512, 6>,  multiply<AVX512, 7>,  multiply<AVX512, 8>,
      multiply<AVX512, 9>, multiply<AVX512, 10>, multiply<AVX512, 11>, multiply<AVX512, 12>};
  if (isa == PanelIsa::avx512) return kAvx512;
  return kAvx2;
}

#else

// Nobody calls it there, since those who would ask for AVX2.
void multiply(const Tile& tile) {
  for (int64_t column = 0; column < kPanel; ++column) {
    for (int64_t chunk = 0; chunk < tile.k; chunk += tile.chunk) {
      float sum = 0;
      for (int64_t k = chunk; k < std::min(tile.k, chunk + tile.chunk); ++k) {
        sum += tile.a[k * tile.a_k] * tile.b[k * kPanel + column];
      }
      tile.y[column] = tile.add || chunk > 0 ? tile.y[column] + sum : sum;
    }
  }
}

std::span<const Kernel> kernels(PanelIsa) {
  static constexpr Kernel kOfOneRow[] = {multiply};
  return kOfOneRow;
}

#endif

}  // namespace

PanelIsa fastest_panel_isa() {
  static const PanelIsa isa = has_avx512() ? PanelIsa::avx512 : PanelIsa::avx2;
  return isa;
}

int64_t PanelProduct::rows_at_once(PanelIsa isa) {
  return static_cast<int64_t>(kernels(isa).size());
}

void PanelProduct::run(const float* a, const float* b, float* y, PanelIsa isa) const {
  const auto by_rows = kernels(isa);
  const int64_t most = rows_at_once(isa);
  for (int64_t first = 0; first < k; first += kDepth) {
    Tile tile{.k = std::min(kDepth, k - first),
              .a = nullptr,
              .a_row = a_row,
              .a_k = a_k,
              .b = nullptr,
              .y = nullptr,
              .y_row = y_row,
              .chunk = chunk,
              .add = add || first > 0};
    for (int64_t panel = 0; panel < columns / kPanel; ++panel) {
      tile.b = b + panel * b_panel + first * kPanel;
      for (int64_t row = 0; row < rows; row += most) {
        tile.a = a + row * a_row + first * a_k;
        tile.y = y + row * y_row + panel * kPanel;
        by_rows[static_cast<size_t>(std::min(most, rows - row) - 1)](tile);
      }
    }
  }
}

}  // namespace onward
