/* A layer that is called many times: weights are packed once, memory is asked for once. */
#include <stdio.h>
#include <stdlib.h>

#include "layer.h"

enum { M = 8, K = 12, N = 16 };

/* At least one line of memory that begins at a line. */
static void *lines(size_t size) { return aligned_alloc(64, (size / 64 + 1) * 64); }

int main(void) {
  static float x[M * K], w[K * N], y[M * N];
  for (int i = 0; i < M * K; i++) x[i] = 1;
  for (int i = 0; i < K * N; i++) w[i] = 2;

  void *const workspace = lines(layer_workspace_size());
  float *const packed = lines(layer_pack_w_size());
  if (workspace == NULL || packed == NULL) return 2;

  layer_pack_w(w, packed, workspace);
  for (int call = 0; call < 100; call++) layer(x, packed, y, workspace);

  free(packed);
  free(workspace);
  printf("y[0] = %g\n", y[0]);
  return y[0] == 24 ? 0 : 1;
}
