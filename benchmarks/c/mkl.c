/* Intel MKL: its BLAS, its generated kernels, and its product with B packed ahead. */
#include <mkl.h>
#include <stdlib.h>

#include "contender.h"

enum { PRODUCT, JIT, PACKED, VECTOR }; /* variants */

typedef struct {
  const contender_problem *problem;
  void *jitter;
  sgemm_jit_kernel_t kernel;
  float *packed;
} state;

static int generate(state *s) {
  const contender_problem *p = s->problem;
  const mkl_jit_status_t status =
      mkl_jit_create_sgemm(&s->jitter, MKL_ROW_MAJOR, MKL_NOTRANS, MKL_NOTRANS, p->m, p->n, p->k, 1,
                           p->k, p->n, 0, p->n);
  if (status != MKL_JIT_SUCCESS) { /* or a call of the usual product, which is another variant */
    return 0;
  }
  s->kernel = mkl_jit_get_sgemm_ptr(s->jitter);
  return 1;
}

static int pack(state *s) {
  const contender_problem *p = s->problem;
  s->packed = mkl_malloc(cblas_sgemm_pack_get_size(CblasBMatrix, p->m, p->n, p->k), 64);
  if (!s->packed) {
    return 0;
  }
  cblas_sgemm_pack(CblasRowMajor, CblasBMatrix, CblasNoTrans, p->m, p->n, p->k, 1, p->b, p->n,
                   s->packed);
  return 1;
}

static int prepare(state *s) {
  switch (s->problem->variant) {
  case JIT:
    return generate(s);
  case PACKED:
    return pack(s);
  case VECTOR:
    return s->problem->m == 1;
  default:
    return 1;
  }
}

void *contender_open(const contender_problem *problem) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    return 0;
  }
  s->problem = problem;
  if (prepare(s)) {
    return s;
  }
  contender_close(s);
  return 0;
}

void contender_run(void *opened) {
  const state *s = opened;
  const contender_problem *p = s->problem;
  switch (p->variant) {
  case JIT:
    s->kernel(s->jitter, (float *)p->a, (float *)p->b, p->c);
    break;
  case PACKED:
    cblas_sgemm_compute(CblasRowMajor, CblasNoTrans, CblasPacked, p->m, p->n, p->k, p->a, p->k,
                        s->packed, p->n, 0, p->c, p->n);
    break;
  case VECTOR:
    cblas_sgemv(CblasRowMajor, CblasTrans, p->k, p->n, 1, p->b, p->n, p->a, 1, 0, p->c, 1);
    break;
  default:
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->m, p->n, p->k, 1, p->a, p->k, p->b,
                p->n, 0, p->c, p->n);
  }
}

void contender_close(void *opened) {
  state *s = opened;
  if (s->jitter) {
    mkl_jit_destroy(s->jitter);
  }
  mkl_free(s->packed);
  free(s);
}

const char *contender_about(void) {
  static char text[256];
  mkl_get_version_string(text, sizeof text);
  return text;
}
