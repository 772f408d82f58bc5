/* The compiled spec: the function `matmul` that is built into the same library. Where it packs B,
 * variant 1 reads, once, as many bytes of what was packed as B has: what memory gives depends on where
 * the bytes are, by a tenth, so that the limit of a product is the reading of its own. */
#define _DEFAULT_SOURCE
#include "matmul.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "contender.h"
#ifdef PACKED
#include "reading.h"
#endif

typedef struct {
  const contender_problem *problem;
  const void *b;
  void *workspace;
} state;

#ifdef PACKED
/* B packed, by whichever variant is opened first, in huge pages, as numpy has the other matrices. */
static void *packed(const contender_problem *problem, void *workspace) {
  static void *memory;
  if (!memory) {
    const size_t page = (size_t)1 << 21, whole = (matmul_pack_b_size() / page + 1) * page;
    memory = aligned_alloc(page, whole);
    if (memory) {
      madvise(memory, whole, MADV_HUGEPAGE);
      matmul_pack_b(problem->b, memory, workspace);
    }
  }
  return memory;
}
#endif

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
  s->b = packed(problem, s->workspace);
#endif
  return s->b ? s : 0;
}

void contender_run(void *opened) {
  const state *s = opened;
  const contender_problem *p = s->problem;
#ifdef PACKED
  if (p->variant == 1) {
    read_once(s->b, p->k * p->n * p->b_bytes, (int)p->threads);
    return;
  }
#endif
  matmul(p->a, s->b, p->c, s->workspace);
}

const char *contender_about(void) { return "this checkout"; }
