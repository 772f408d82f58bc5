# 32-bit integers wrap around.
target x86.avx512

spec integer_matmul(M = 24, K = 40, N = 36) {
  input  a: s32[M, K]
  input  b: s32[K, N]
  output c: s32[M, N]
  c = matmul(a, b)
}
