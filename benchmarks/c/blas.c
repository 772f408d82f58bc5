/* Any library with the C interface of BLAS; SGEMM, SGEMV and ABOUT name its functions. */
#include "contender.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
enum { PRODUCT, VECTOR }; /* variants */

void SGEMM(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
           const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void SGEMV(int order, int transpose, int rows, int columns, float alpha, const float *matrix,
           int stride, const float *x, int step_x, float beta, float *y, int step_y);
char *ABOUT(void);

void *contender_open(const contender_problem *p) {
  return p->variant == VECTOR && p->m != 1 ? 0 : (void *)p;
}

void contender_run(void *opened) {
  const contender_problem *p = opened;
  const int m = (int)p->m, k = (int)p->k, n = (int)p->n;
  if (p->variant == VECTOR) {
    SGEMV(ROW_MAJOR, TRANSPOSE, k, n, 1, p->b, n, p->a, 1, 0, p->c, 1);
  } else {
    SGEMM(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
  }
}

const char *contender_about(void) { return ABOUT(); }
