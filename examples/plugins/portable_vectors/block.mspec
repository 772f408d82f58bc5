target portable.vectors

spec block(M = 3, K = 4, N = 6) {
  input  x: f32[M, K]
  input  w: f32[K, N]
  input  b: f32[N]
  output y: f32[M, N]
  output s: f32[M]
  y = relu(add_bias(matmul(x, w), b))
  s = row_sum(sqrt(abs(x)))
}
