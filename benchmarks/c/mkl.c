/* Intel MKL: its products, its generated kernels, and its products with B packed ahead. */
#include <mkl.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

enum { PRODUCT, JIT, PACKED, VECTOR }; /* variants */

typedef struct state state;

struct state {
  const contender_problem *problem;
  void (*run)(const state *);
  void *jitter;
  sgemm_jit_kernel_t kernel;
  void *packed;
};

/* What every product begins with: that nothing is transposed, and the sizes. */
#define ROWS CblasRowMajor
#define AS_IT_IS CblasNoTrans
#define SIZES(p) (MKL_INT)(p)->m, (MKL_INT)(p)->n, (MKL_INT)(p)->k

static int allocate(state *s, size_t bytes) {
  s->packed = mkl_malloc(bytes, 64);
  return s->packed != 0;
}

static int nothing(state *s) {
  (void)s;
  return 1;
}

/* ------------------------------------------------------------------------------ f32 */

static void f32_run(const state *s) {
  const contender_problem *p = s->problem;
  cblas_sgemm(ROWS, AS_IT_IS, AS_IT_IS, SIZES(p), 1, p->a, p->k, p->b, p->n, 0, p->c, p->n);
}

static int f32_generate(state *s) {
  const contender_problem *p = s->problem;
  const mkl_jit_status_t status =
      mkl_jit_create_sgemm(&s->jitter, MKL_ROW_MAJOR, MKL_NOTRANS, MKL_NOTRANS, SIZES(p), 1, p->k,
                           p->n, 0, p->n);
  if (status != MKL_JIT_SUCCESS) { /* or a call of the usual product, which is another variant */
    return 0;
  }
  s->kernel = mkl_jit_get_sgemm_ptr(s->jitter);
  return 1;
}

static void f32_run_generated(const state *s) {
  const contender_problem *p = s->problem;
  s->kernel(s->jitter, (float *)p->a, (float *)p->b, p->c);
}

static int f32_pack(state *s) {
  const contender_problem *p = s->problem;
  if (!allocate(s, cblas_sgemm_pack_get_size(CblasBMatrix, SIZES(p)))) {
    return 0;
  }
  cblas_sgemm_pack(ROWS, CblasBMatrix, AS_IT_IS, SIZES(p), 1, p->b, p->n, s->packed);
  return 1;
}

static void f32_run_packed(const state *s) {
  const contender_problem *p = s->problem;
  cblas_sgemm_compute(ROWS, AS_IT_IS, CblasPacked, SIZES(p), p->a, p->k, s->packed, p->n, 0, p->c,
                      p->n);
}

static int is_vector(state *s) { return s->problem->m == 1; }

static void f32_run_vector(const state *s) {
  const contender_problem *p = s->problem;
  cblas_sgemv(ROWS, CblasTrans, p->k, p->n, 1, p->b, p->n, p->a, 1, 0, p->c, 1);
}

/* ------------------------------------------------------------------------------ bf16 */

static void bf16_run(const state *s) {
  const contender_problem *p = s->problem;
  cblas_gemm_bf16bf16f32(ROWS, AS_IT_IS, AS_IT_IS, SIZES(p), 1, p->a, p->k, p->b, p->n, 0, p->c,
                         p->n);
}

static int bf16_pack(state *s) {
  const contender_problem *p = s->problem;
  if (!allocate(s, cblas_gemm_bf16bf16f32_pack_get_size(CblasBMatrix, SIZES(p)))) {
    return 0;
  }
  cblas_gemm_bf16bf16f32_pack(ROWS, CblasBMatrix, AS_IT_IS, SIZES(p), p->b, p->n, s->packed);
  return 1;
}

static void bf16_run_packed(const state *s) {
  const contender_problem *p = s->problem;
  cblas_gemm_bf16bf16f32_compute(ROWS, AS_IT_IS, CblasPacked, SIZES(p), 1, p->a, p->k, s->packed,
                                 p->n, 0, p->c, p->n);
}

/* ------------------------------------------------------------------------------ u8 and s8 */

static const MKL_INT32 no_offset = 0;

static void u8s8_run(const state *s) {
  const contender_problem *p = s->problem;
  cblas_gemm_s8u8s32(ROWS, AS_IT_IS, AS_IT_IS, CblasFixOffset, SIZES(p), 1, p->a, p->k, 0, p->b,
                     p->n, 0, 0, p->c, p->n, &no_offset);
}

static int u8s8_pack(state *s) {
  const contender_problem *p = s->problem;
  if (!allocate(s, cblas_gemm_s8u8s32_pack_get_size(CblasBMatrix, SIZES(p)))) {
    return 0;
  }
  cblas_gemm_s8u8s32_pack(ROWS, CblasBMatrix, AS_IT_IS, SIZES(p), p->b, p->n, s->packed);
  return 1;
}

static void u8s8_run_packed(const state *s) {
  const contender_problem *p = s->problem;
  cblas_gemm_s8u8s32_compute(ROWS, AS_IT_IS, CblasPacked, CblasFixOffset, SIZES(p), 1, p->a, p->k,
                             0, s->packed, p->n, 0, 0, p->c, p->n, &no_offset);
}

/* ------------------------------------------------------------------------------ all */

static const struct {
  const char *dtypes;
  int variant;
  int (*prepare)(state *);
  void (*run)(const state *);
} WAYS[] = {
    {"f32", PRODUCT, nothing, f32_run},
    {"f32", JIT, f32_generate, f32_run_generated},
    {"f32", PACKED, f32_pack, f32_run_packed},
    {"f32", VECTOR, is_vector, f32_run_vector},
    {"bf16", PRODUCT, nothing, bf16_run},
    {"bf16", PACKED, bf16_pack, bf16_run_packed},
    {"u8s8", PRODUCT, nothing, u8s8_run},
    {"u8s8", PACKED, u8s8_pack, u8s8_run_packed},
};

static int prepare(state *s) {
  for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++) {
    if (WAYS[i].variant == s->problem->variant && !strcmp(WAYS[i].dtypes, s->problem->dtypes)) {
      s->run = WAYS[i].run;
      return WAYS[i].prepare(s);
    }
  }
  return 0;
}

void *contender_open(const contender_problem *problem) {
  state *s = calloc(1, sizeof *s);
  if (!s) {
    return 0;
  }
  s->problem = problem;
  return prepare(s) ? s : 0;
}

void contender_run(void *opened) {
  const state *s = opened;
  s->run(s);
}

const char *contender_about(void) {
  static char text[256];
  mkl_get_version_string(text, sizeof text);
  return text;
}
