/* What every contender is: a shared library with these functions, for C = A x B, all row-major. */
#ifndef CONTENDER_H
#define CONTENDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* `dtypes` names the element types of A, B and C, as in benchmarks/cases.py; `b_bytes` is the size of
 * one element of B. `variant` counts the ways that one library offers, in the order of
 * benchmarks/contenders.py. */
typedef struct {
  const char *dtypes;
  int64_t variant, threads, m, k, n, b_bytes;
  const void *a, *b;
  void *c;
} contender_problem;

/* All that is done ahead: generating code, packing B. NULL where it cannot do this problem. The
 * problem stays where it is, and what is opened stays open, until the process ends. */
void *contender_open(const contender_problem *problem);

/* One product. */
void contender_run(void *opened);

/* Version and chosen instruction set, as far as the library tells. */
const char *contender_about(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
