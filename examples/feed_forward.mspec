# The feed-forward block of a transformer, with its normalisation and its residual connection.

target x86.avx512

spec feed_forward(M = 64, D = 256, H = 1024) {
  input  x: f32[M, D]
  weight g: f32[D]
  weight w: f32[D, H]
  weight v: f32[H, D]
  output y: f32[M, D]
  h = silu(matmul(rms_norm(x, g, epsilon = 0.00001), w))
  y = add(matmul(h, v), x)
}
