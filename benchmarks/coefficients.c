/* Measures the cost coefficients of targets: cycles of loads, stores, arithmetic, cache lines.
 *
 *   cc -O2 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -fopenmp coefficients.c -o coefficients
 *   ./coefficients
 *
 * A chain of dependent additions of registers, one cycle each on every x86 processor (constants take no
 * time on some), gives the length of a cycle. Each line printed is the least of several repeats: NAME
 * CYCLES; of loops that threads share, the lower quartile, the median and the upper one. The numbers are
 * copied into targets/c and targets/x86 by hand, with the processor beside them; fitting them is another
 * program's.
 */
#define _POSIX_C_SOURCE 200112L
#include <immintrin.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 15, PAGE = 4096, LINE = 64 };

static double cycle = 1e-9; /* seconds */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sets `best` to the least time of `body` in seconds, run `count` times between two readings. */
#define LEAST(best, count, body)                                       \
  do {                                                                 \
    best = 1e30;                                                       \
    for (int repeat_ = 0; repeat_ < REPEATS; repeat_++) {              \
      const double start_ = now();                                     \
      for (ptrdiff_t run = 0; run < (count); run++) {                  \
        body;                                                          \
      }                                                                \
      const double spent_ = now() - start_;                            \
      best = spent_ < best ? spent_ : best;                            \
    }                                                                  \
    best /= (double)(count);                                           \
  } while (0)

static void report(const char *name, double cycles) { printf("%-32s %8.3f\n", name, cycles); }

/* Added from a register: small constants are added without taking a cycle on newer Intel processors. */
static void calibrate_cycle(void) {
  double best;
  uint64_t x = 0;
  const uint64_t one = 1;
  LEAST(best, 1000000, __asm__ volatile("add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                                        "add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                                        "add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                                        "add %1, %0; add %1, %0; add %1, %0; add %1, %0"
                                        : "+r"(x)
                                        : "r"(one)));
  cycle = best / 16;
  printf("# cycle %.4f ns (%.3f GHz)\n", cycle * 1e9, 1e-9 / cycle);
}

/* Twelve independent instructions a run, each on a register of its own; memory is at %0. */
#define TWELVE(name, instruction, register_)                                                      \
  do {                                                                                           \
    double best;                                                                                 \
    LEAST(best, 200000,                                                                          \
          __asm__ volatile(                                                                      \
              instruction(register_ "0") instruction(register_ "1") instruction(register_ "2")   \
              instruction(register_ "3") instruction(register_ "4") instruction(register_ "5")   \
              instruction(register_ "6") instruction(register_ "7") instruction(register_ "8")   \
              instruction(register_ "9") instruction(register_ "10") instruction(register_ "11") \
              ::"r"(line_buffer)                                                                 \
              : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",        \
                "xmm8", "xmm9", "xmm10", "xmm11"));                                              \
    report(name, best / cycle / 12);                                                             \
  } while (0)

#define LOAD(r) "vmovups (%0), " r ";"
#define STORE(r) "vmovups " r ", (%0);"
#define LOAD_SCALAR(r) "vmovss (%0), " r ";"
#define BROADCAST(r) "vbroadcastss (%0), " r ";"
#define FMA512(r) "vfmadd231ps %%zmm12, %%zmm13, " r ";"
#define FMA256(r) "vfmadd231ps %%ymm12, %%ymm13, " r ";"
#define ADD512(r) "vaddps %%zmm12, " r ", " r ";"
#define ADD256(r) "vaddps %%ymm12, " r ", " r ";"
#define MAX512(r) "vmaxps %%zmm12, " r ", " r ";"
#define DIV512(r) "vdivps %%zmm12, %%zmm13, " r ";"
#define DIV256(r) "vdivps %%ymm12, %%ymm13, " r ";"
#define SQRT512(r) "vsqrtps %%zmm12, " r ";"
#define SQRT256(r) "vsqrtps %%ymm12, " r ";"
#define MULLO512(r) "vpmulld %%zmm12, %%zmm13, " r ";"
#define MULLO256(r) "vpmulld %%ymm12, %%ymm13, " r ";"
#define PADD512(r) "vpaddd %%zmm12, " r ", " r ";"
#define PADD256(r) "vpaddd %%ymm12, " r ", " r ";"
#define ADDSS(r) "vaddss %%xmm12, " r ", " r ";"
#define DIVSS(r) "vdivss %%xmm12, %%xmm13, " r ";"
#define SQRTSS(r) "vsqrtss %%xmm12, %%xmm13, " r ";"

#define BROADCAST32(r) "vpbroadcastd (%0), " r ";"
#define WIDEN_U16(r) "vpmovzxwd (%0), " r ";"
#define WIDEN_U8(r) "vpmovzxbd (%0), " r ";"
#define WIDEN_S8(r) "vpmovsxbw (%0), " r ";"
#define SHIFT(r) "vpslld $16, " r ", " r ";"
#define NARROW16(r) "vpmovdw " r ", (%0);"
#define NARROW8(r) "vpmovdb " r ", (%0);"
#define SHUFFLE(r) "vpshufb %%ymm12, " r ", " r ";"
#define SHUFFLE512(r) "vpshufb %%zmm12, " r ", " r ";"
#define PAIRS256(r) "vpmaddwd %%ymm12, %%ymm13, " r ";"
#define PAIRS512(r) "vpmaddwd %%zmm12, %%zmm13, " r ";"
#define DOT_U8S8(r) "vpdpbusd %%zmm12, %%zmm13, " r ";"
#define DOT_BF16(r) "vdpbf16ps %%zmm12, %%zmm13, " r ";"

/* One sum, so that each instruction waits for the one before it. */
static void chain_bf16(void) {
  double best;
  LEAST(best, 200000,
        __asm__ volatile(DOT_BF16("%%zmm0") DOT_BF16("%%zmm0") DOT_BF16("%%zmm0") DOT_BF16("%%zmm0")::
                             : "xmm0"));
  report("64-byte vdpbf16ps, in a chain", best / cycle / 4);
}

/* What the narrower element types need; the last three where the processor has them. */
static void narrow_types(void) {
  _Alignas(64) static float line_buffer[16];
  TWELVE("32-byte broadcast of 32 bits", BROADCAST32, "%%ymm");
  TWELVE("32-byte load, 16 to 32 bits", WIDEN_U16, "%%ymm");
  TWELVE("32-byte load, 8 to 32 bits", WIDEN_U8, "%%ymm");
  TWELVE("32-byte load, 8 to 16 bits", WIDEN_S8, "%%ymm");
  TWELVE("32-byte shift", SHIFT, "%%ymm");
  TWELVE("32-byte byte shuffle", SHUFFLE, "%%ymm");
  TWELVE("32-byte pairs of products", PAIRS256, "%%ymm");
  TWELVE("64-byte broadcast of 32 bits", BROADCAST32, "%%zmm");
  TWELVE("64-byte load, 16 to 32 bits", WIDEN_U16, "%%zmm");
  TWELVE("64-byte load, 8 to 32 bits", WIDEN_U8, "%%zmm");
  TWELVE("64-byte load, 8 to 16 bits", WIDEN_S8, "%%zmm");
  TWELVE("64-byte shift", SHIFT, "%%zmm");
  TWELVE("64-byte byte shuffle", SHUFFLE512, "%%zmm");
  TWELVE("64-byte store, 32 to 16 bits", NARROW16, "%%zmm");
  TWELVE("64-byte store, 32 to 8 bits", NARROW8, "%%zmm");
  TWELVE("64-byte pairs of products", PAIRS512, "%%zmm");
  if (__builtin_cpu_supports("avx512vnni")) TWELVE("64-byte vpdpbusd", DOT_U8S8, "%%zmm");
  if (__builtin_cpu_supports("avx512bf16")) TWELVE("64-byte vdpbf16ps", DOT_BF16, "%%zmm");
  if (__builtin_cpu_supports("avx512bf16")) chain_bf16();
}

static void instructions(void) {
  _Alignas(64) static float line_buffer[16];
  __asm__ volatile("vpxor %%xmm12, %%xmm12, %%xmm12; vpxor %%xmm13, %%xmm13, %%xmm13" ::: "xmm12", "xmm13");
  TWELVE("scalar load", LOAD_SCALAR, "%%xmm");
  TWELVE("scalar add", ADDSS, "%%xmm");
  TWELVE("scalar divide", DIVSS, "%%xmm");
  TWELVE("scalar square root", SQRTSS, "%%xmm");
  TWELVE("32-byte load", LOAD, "%%ymm");
  TWELVE("32-byte store", STORE, "%%ymm");
  TWELVE("32-byte broadcast", BROADCAST, "%%ymm");
  TWELVE("32-byte FMA", FMA256, "%%ymm");
  TWELVE("32-byte add", ADD256, "%%ymm");
  TWELVE("32-byte divide", DIV256, "%%ymm");
  TWELVE("32-byte square root", SQRT256, "%%ymm");
  TWELVE("32-byte integer add", PADD256, "%%ymm");
  TWELVE("32-byte integer multiply", MULLO256, "%%ymm");
  TWELVE("64-byte load", LOAD, "%%zmm");
  TWELVE("64-byte store", STORE, "%%zmm");
  TWELVE("64-byte broadcast", BROADCAST, "%%zmm");
  TWELVE("64-byte FMA", FMA512, "%%zmm");
  TWELVE("64-byte add", ADD512, "%%zmm");
  TWELVE("64-byte max", MAX512, "%%zmm");
  TWELVE("64-byte divide", DIV512, "%%zmm");
  TWELVE("64-byte square root", SQRT512, "%%zmm");
  TWELVE("64-byte integer add", PADD512, "%%zmm");
  TWELVE("64-byte integer multiply", MULLO512, "%%zmm");
}

static void masked(void) {
  _Alignas(64) static float line_buffer[16];
  double best;
  const __m256i mask = _mm256_setr_epi32(-1, -1, -1, 0, 0, 0, 0, 0);
  __m256 v = _mm256_setzero_ps();
  LEAST(best, 1000000, _mm256_maskstore_ps(line_buffer, mask, v); __asm__ volatile("" ::: "memory"));
  report("32-byte masked store", best / cycle);
  LEAST(best, 1000000, v = _mm256_maskload_ps(line_buffer, mask); __asm__ volatile("" ::"x"(v) : "memory"));
  report("32-byte masked load", best / cycle);
  __m512 w = _mm512_setzero_ps();
  LEAST(best, 1000000, _mm512_mask_storeu_ps(line_buffer, 7, w); __asm__ volatile("" ::: "memory"));
  report("64-byte masked store", best / cycle);
}

/* Cycles for one line when `rows` rows of `row` bytes, `stride` apart, are read over and over. */
static double read_rows(const unsigned char *data, ptrdiff_t rows, ptrdiff_t row, ptrdiff_t stride) {
  double best;
  const ptrdiff_t total = rows * row / LINE, count = 1 + (4 << 20) / (rows * row);
  LEAST(best, count, {
    for (ptrdiff_t i = 0; i < rows; i++) {
      for (ptrdiff_t j = 0; j < row; j += LINE) {
        const __m512 v = _mm512_loadu_ps(data + i * stride + j);
        __asm__ volatile("" ::"x"(v));
      }
    }
  });
  return best / cycle / (double)total;
}

static double write_rows(unsigned char *data, ptrdiff_t rows, ptrdiff_t row, ptrdiff_t stride) {
  double best;
  const __m512 zero = _mm512_setzero_ps();
  const ptrdiff_t total = rows * row / LINE, count = 1 + (4 << 20) / (rows * row);
  LEAST(best, count, {
    for (ptrdiff_t i = 0; i < rows; i++) {
      for (ptrdiff_t j = 0; j < row; j += LINE) {
        _mm512_storeu_ps(data + i * stride + j, zero);
      }
    }
    __asm__ volatile("" ::: "memory");
  });
  return best / cycle / (double)total;
}

/* Rows of `row` bytes that fill `bytes`: one stream, then rows apart, then rows pages apart. */
static void lines(const char *what, unsigned char *data, ptrdiff_t bytes, ptrdiff_t row) {
  const ptrdiff_t rows = bytes / row;
  char name[64];
  const double in_l1[2] = {read_rows(data, 16, 1024, 1024), write_rows(data, 16, 1024, 1024)};
  printf("# %s, %td KiB, rows of %td bytes; less the cycles in L1: read %.2f, write %.2f\n", what,
         bytes / 1024, row, in_l1[0], in_l1[1]);
  const ptrdiff_t strides[3] = {row, 4 * row + LINE * 5, PAGE};
  const char *const kinds[3] = {"streamed", "strided", "paged"};
  for (int k = 0; k < 3; k++) {
    snprintf(name, sizeof name, "%s read %s", what, kinds[k]);
    report(name, read_rows(data, rows, row, strides[k]) - in_l1[0]);
    snprintf(name, sizeof name, "%s write %s", what, kinds[k]);
    report(name, write_rows(data, rows, row, strides[k]) - in_l1[1]);
  }
}

/* From one sum to the next in a register. */
static void latency(void) {
  double best;
  LEAST(best, 200000, __asm__ volatile(FMA512("%%zmm0") FMA512("%%zmm0") FMA512("%%zmm0")
                                           FMA512("%%zmm0")::: "xmm0"));
  report("fma latency, 512 bits", best / cycle / 4);
}

static void loops(void) {
  double best;
  LEAST(best, 10000, {
    for (ptrdiff_t i = 0; i < 100; i++) {
      __asm__ volatile("" ::"r"(i));
    }
  });
  report("loop step", best / cycle / 100);
}

static void parallel_loop(void) {
  _Pragma("omp parallel for num_threads(2) schedule(static)") for (int i = 0; i < 2; i++) {
    __asm__ volatile("" ::"r"(i));
  }
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The caller computes or sleeps between two loops; quartiles, since some of them take milliseconds. */
static void threads(void) {
  enum { LOOPS = 300 };
  static const struct {
    const char *name;
    double computes;
    long sleeps; /* nanoseconds */
  } gaps[] = {{"fork and join, 2 threads", 0, 0},
              {"after 10 us of work", 10e-6, 0},
              {"after 100 us of work", 100e-6, 0},
              {"after 1 ms of work", 1e-3, 0},
              {"after 1 ms of sleep", 0, 1000000},
              {"after 20 ms of sleep", 0, 20000000}};
  for (size_t gap = 0; gap < sizeof gaps / sizeof *gaps; gap++) {
    double spent[LOOPS];
    for (int i = 0; i < LOOPS; i++) {
      const struct timespec sleeps = {0, gaps[gap].sleeps};
      if (sleeps.tv_nsec > 0) nanosleep(&sleeps, NULL);
      for (const double end = now() + gaps[gap].computes; now() < end;) {
      }
      const double start = now();
      parallel_loop();
      spent[i] = now() - start;
    }
    qsort(spent, LOOPS, sizeof *spent, ascending);
    printf("%-32s %8.0f %8.0f %8.0f\n", gaps[gap].name, spent[LOOPS / 4] / cycle,
           spent[LOOPS / 2] / cycle, spent[LOOPS * 3 / 4] / cycle);
  }
}

int main(void) {
  enum { BYTES = 1 << 30 };
  unsigned char *data = aligned_alloc(PAGE, BYTES);
  if (data == NULL) {
    fprintf(stderr, "1 GiB of memory is needed\n");
    return 1;
  }
  for (ptrdiff_t i = 0; i < BYTES; i += PAGE) {
    data[i] = 1;
  }
  calibrate_cycle();
  instructions();
  narrow_types();
  masked();
  latency();
  loops();
  threads();
  lines("L2", data, 256 << 10, 256);
  lines("L3", data, 8 << 20, 256);
  lines("memory", data, 64 << 20, 256);
  free(data);
  return 0;
}
