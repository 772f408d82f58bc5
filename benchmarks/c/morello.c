/* The compiled spec: the function `matmul` that is built into the same library. */
#include "matmul.h"

#include <stdlib.h>

#include "contender.h"

typedef struct {
  const contender_problem *problem;
  void *workspace;
} state;

void *contender_open(const contender_problem *problem) {
  enum { ALIGNMENT = 64 };
  state *s = malloc(sizeof *s);
  if (!s) {
    return 0;
  }
  s->problem = problem;
  s->workspace = aligned_alloc(ALIGNMENT, matmul_workspace_size() + ALIGNMENT);
  return s->workspace ? s : 0;
}

void contender_run(void *opened) {
  const state *s = opened;
  matmul(s->problem->a, s->problem->b, s->problem->c, s->workspace);
}

const char *contender_about(void) { return "this checkout"; }
