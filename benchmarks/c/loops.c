/* The plain triple loop, as one would write it, in three orders; M, K and N are given with -D. */
#include <string.h>

#include "contender.h"

enum { IJK, IKJ, KIJ }; /* variants */

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

/* Threads share the rows of C, and each goes through all of B. */
static void loop_kij(const float *restrict a, const float *restrict b, float *restrict c) {
  memset(c, 0, sizeof(float) * M * N);
#ifdef _OPENMP
#pragma omp parallel
#endif
  for (int k = 0; k < K; k++) {
#ifdef _OPENMP
#pragma omp for schedule(static) nowait
#endif
    for (int i = 0; i < M; i++) {
      for (int j = 0; j < N; j++) {
        c[i * N + j] += a[i * K + k] * b[k * N + j];
      }
    }
  }
}

static void (*const loops[])(const float *restrict, const float *restrict, float *restrict) = {
    [IJK] = loop_ijk, [IKJ] = loop_ikj, [KIJ] = loop_kij};

void *contender_open(const contender_problem *problem) { return (void *)problem; }

void contender_run(void *opened) {
  const contender_problem *p = opened;
  loops[p->variant](p->a, p->b, p->c);
}

const char *contender_about(void) { return "plain C"; }
