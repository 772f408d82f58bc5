/* The plain triple loop, as one would write it, in two orders; M, K and N are given with -D. */
#include <string.h>

#include "contender.h"

enum { IJK, IKJ }; /* variants */

static void loop_ijk(const float *restrict a, const float *restrict b, float *restrict c) {
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int k = 0; k < K; k++) {
        sum += a[i * K + k] * b[k * N + j];
      }
      c[i * N + j] = sum;
    }
  }
}

static void loop_ikj(const float *restrict a, const float *restrict b, float *restrict c) {
#ifdef _OPENMP
#pragma omp parallel for
#endif
  for (int i = 0; i < M; i++) {
    memset(c + i * N, 0, sizeof(float) * N);
    for (int k = 0; k < K; k++) {
      for (int j = 0; j < N; j++) {
        c[i * N + j] += a[i * K + k] * b[k * N + j];
      }
    }
  }
}

void *contender_open(const contender_problem *problem) { return (void *)problem; }

void contender_run(void *opened) {
  const contender_problem *p = opened;
  (p->variant == IJK ? loop_ijk : loop_ikj)(p->a, p->b, p->c);
}

const char *contender_about(void) { return "plain C"; }
