/* The limit of arithmetic: as many multiply-adds as a product has, without any memory. VECTOR_BYTES
 * is the widest vector of the target, whose flags it is compiled with. */
#include "contender.h"

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

/* Chains that do not wait for each other: more than latency times throughput of any processor. */
enum { CHAINS = 12, LANES = VECTOR_BYTES / sizeof(float) };

static volatile float start = 0.5f, factor = 0.999f, sink;

static float multiply_add(int64_t rounds) {
  vector chains[CHAINS];
  const vector f = (vector){0} + factor;
  for (int i = 0; i < CHAINS; i++) {
    chains[i] = (vector){0} + start;
  }
  for (int64_t round = 0; round < rounds; round++) {
    for (int i = 0; i < CHAINS; i++) {
      chains[i] = chains[i] * f + f;
    }
  }
  float sum = 0;
  for (int i = 0; i < CHAINS; i++) {
    for (unsigned lane = 0; lane < LANES; lane++) {
      sum += chains[i][lane];
    }
  }
  return sum;
}

void *contender_open(const contender_problem *problem) { return (void *)problem; }

void contender_run(void *opened) {
  const contender_problem *p = opened;
  const int64_t together = CHAINS * LANES * p->threads;
  const int64_t rounds = (p->m * p->k * p->n + together - 1) / together;
  const int threads = (int)p->threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (int i = 0; i < threads; i++) {
    sink = multiply_add(rounds);
  }
}

const char *contender_about(void) { return "multiply-adds in registers"; }
