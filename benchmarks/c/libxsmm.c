/* LIBXSMM: one generated kernel for the whole product. */
#include <libxsmm.h>
#include <stdio.h>
#include <stdlib.h>

#include "contender.h"

typedef struct {
  const contender_problem *problem;
  libxsmm_smmfunction kernel;
} state;

void *contender_open(const contender_problem *p) {
  state *s = malloc(sizeof *s);
  if (!s) {
    return 0;
  }
  /* Its matrices are column-major: a transposed product of transposed matrices. */
  const libxsmm_blasint m = (libxsmm_blasint)p->n, n = (libxsmm_blasint)p->m;
  const libxsmm_blasint k = (libxsmm_blasint)p->k;
  const float alpha = 1, beta = 0;
  libxsmm_init();
  s->problem = p;
  s->kernel = libxsmm_smmdispatch(m, n, k, &m, &k, &m, &alpha, &beta, 0, 0);
  return s->kernel ? s : 0;
}

void contender_run(void *opened) {
  const state *s = opened;
  s->kernel(s->problem->b, s->problem->a, s->problem->c);
}

const char *contender_about(void) {
  static char text[64];
  libxsmm_init();
  snprintf(text, sizeof text, "LIBXSMM %s, %s", LIBXSMM_VERSION, libxsmm_get_target_arch());
  return text;
}
