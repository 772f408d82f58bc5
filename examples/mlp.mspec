# A dense layer: what is added and the activation are done while a tile of the product is in registers.

target x86.avx512

spec mlp(M = 128, K = 768, N = 3072) {
  input  x: f32[M, K]
  weight w: f32[K, N]
  weight b: f32[N]
  output y: f32[M, N]
  y = gelu(add_bias(matmul(x, w), b))
}
