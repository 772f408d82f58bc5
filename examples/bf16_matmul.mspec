# Two bytes an element, multiplied and summed in f32; in pairs, where the other operand is bf16 as well.
target x86.avx512_bf16

spec bf16_matmul(M = 24, K = 40, N = 36) {
  input  a: bf16[M, K]
  weight b: bf16[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}

spec mixed_matmul(M = 24, K = 40, N = 36) {
  input  a: f32[M, K]
  weight b: bf16[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}
