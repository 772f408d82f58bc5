/* The compiled spec: the function `matmul` that is built into the same library. */
#define _DEFAULT_SOURCE
#include "matmul.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "contender.h"

typedef struct {
  const contender_problem *problem;
  const void *b;
  void *workspace;
} state;

void *contender_open(const contender_problem *problem) {
  enum { ALIGNMENT = 64 };
  state *s = malloc(sizeof *s);
  if (!s) {
    return 0;
  }
  s->problem = problem;
  s->b = problem->b;
  s->workspace = aligned_alloc(ALIGNMENT, matmul_workspace_size() + ALIGNMENT);
  if (!s->workspace) {
    return 0;
  }
#ifdef PACKED
  /* In huge pages, as numpy has the other matrices. */
  const size_t page = (size_t)1 << 21, whole = (matmul_pack_b_size() / page + 1) * page;
  void *packed = aligned_alloc(page, whole);
  if (!packed) {
    return 0;
  }
  madvise(packed, whole, MADV_HUGEPAGE);
  matmul_pack_b(problem->b, packed, s->workspace);
  s->b = packed;
#endif
  return s;
}

void contender_run(void *opened) {
  const state *s = opened;
  matmul(s->problem->a, s->b, s->problem->c, s->workspace);
}

const char *contender_about(void) { return "this checkout"; }
