# A linear layer of bytes: sums in 32 bits, a bias, and back to bytes with another scale.

target x86.avx512_vnni

spec int8_linear(M = 32, K = 256, N = 128) {
  input  x: u8[M, K]
  weight w: s8[K, N]
  weight b: s32[N]
  local  product: s32[M, N]
  local  sum: f32[M, N]
  output y: s8[M, N]
  product = matmul(x, w)
  sum     = copy(add_bias(product, b))
  y       = copy(round(scale(sum, factor = 0.0009765625)))      # to s8: saturating
}
