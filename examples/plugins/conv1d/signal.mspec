target x86.scalar

spec filtered(T = 30, K = 3, CI = 4, CO = 8) {
  input  x: f32[2 * T + K - 2, CI]
  input  w: f32[K, CI, CO]
  output y: f32[T, CO]
  y = conv1d(x, w, stride = 2, dilation = 1)
}
