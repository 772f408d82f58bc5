# Measured by `morello calibrate`, beside the specs of other plugins.

spec filtered(T = 61, K = 3, CI = 16, CO = 32) {
  input  x: f32[T + K - 1, CI]
  input  w: f32[K, CI, CO]
  output y: f32[T, CO]
  y = conv1d(x, w, stride = 1, dilation = 1)
}
