/* The plain triple loop, as one would write it, in two orders; M, K and N are given with -D. */
#include <stdint.h>
#include <string.h>

typedef void product(const float *restrict a, const float *restrict b, float *restrict c);

static void loop_ijk(const float *restrict a, const float *restrict b, float *restrict c) {
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
  memset(c, 0, sizeof(float) * M * N);
  for (int i = 0; i < M; i++) {
    for (int k = 0; k < K; k++) {
      for (int j = 0; j < N; j++) {
        c[i * N + j] += a[i * K + k] * b[k * N + j];
      }
    }
  }
}

void loops_repeat(int64_t count, int order, const float *a, const float *b, float *c);

/* The call goes through a volatile pointer, so that no compiler can merge or drop calls. */
void loops_repeat(int64_t count, int order, const float *a, const float *b, float *c) {
  product *volatile function = order == 0 ? loop_ijk : loop_ikj;
  for (int64_t i = 0; i < count; i++) {
    function(a, b, c);
  }
}
