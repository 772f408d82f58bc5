/* Calls a BLAS many times, so that timing it does not time Python. */
#include <stdint.h>

typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

void blas_repeat(int64_t count, sgemm *multiply, int m, int k, int n, const float *a, const float *b,
                 float *c);

void blas_repeat(int64_t count, sgemm *multiply, int m, int k, int n, const float *a, const float *b,
                 float *c) {
  enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
  for (int64_t i = 0; i < count; i++) {
    multiply(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
  }
}
