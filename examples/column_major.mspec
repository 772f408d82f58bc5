# B is stored column by column. A layout lists the dimensions from the slowest to the fastest.
target x86.avx512

spec column_major(M = 32, K = 48, N = 40) {
  input  a: f32[M, K]
  input  b: f32[K, N] layout (1, 0)
  output c: f32[M, N]
  c = matmul(a, b)
}
