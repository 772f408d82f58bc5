# Normalised rows times a matrix.

target x86.avx512

spec rms_norm_matmul(M = 32, K = 512, N = 512) {
  input  x: f32[M, K]
  weight g: f32[K]
  weight w: f32[K, N]
  output y: f32[M, N]
  y = matmul(rms_norm(x, g, epsilon = 0.00001), w)
}
