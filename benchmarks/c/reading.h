/* The limit of memory: reading bytes once, and nothing else. VECTOR_BYTES as in arithmetic.c. */
#ifndef READING_H
#define READING_H

#include <stdint.h>
#include <string.h>

typedef int32_t vector __attribute__((vector_size(VECTOR_BYTES)));

/* Streams, each a part of the bytes: one alone does not keep the prefetchers busy. */
enum { STREAMS = 4 };

static volatile int32_t sink;

static int32_t read_part(const char *bytes, int64_t count) {
  const int64_t part = count / STREAMS / VECTOR_BYTES * VECTOR_BYTES;
  vector sums[STREAMS] = {{0}};
  for (int64_t i = 0; i < part; i += VECTOR_BYTES) {
    for (int s = 0; s < STREAMS; s++) {
      vector read;
      memcpy(&read, bytes + s * part + i, VECTOR_BYTES);
      sums[s] ^= read;
    }
  }
  int32_t sum = 0;
  for (int s = 0; s < STREAMS; s++) {
    for (unsigned lane = 0; lane < VECTOR_BYTES / sizeof sum; lane++) {
      sum ^= sums[s][lane];
    }
  }
  for (int64_t i = STREAMS * part; i < count; i++) {
    sum ^= bytes[i];
  }
  return sum;
}

/* `count` bytes, by so many threads. */
static inline void read_once(const void *bytes, int64_t count, int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (int i = 0; i < threads; i++) {
    const int64_t first = count * i / threads, end = count * (i + 1) / threads;
    sink = read_part((const char *)bytes + first, end - first);
  }
}

#endif
