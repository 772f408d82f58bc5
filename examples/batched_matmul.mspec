# As many products as the batch is large. Dimensions before the last two are the batch: any number.
target x86.avx512

spec batched_matmul(B = 4, M = 32, K = 32, N = 32) {
  input  a: f32[B, M, K]
  input  b: f32[B, K, N]
  output c: f32[B, M, N]
  c = matmul(a, b)
}
