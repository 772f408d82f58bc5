# Several outputs: a layer, and of each row of it the largest element, the mean and the variance.

target x86.avx512

spec statistics(M = 32, K = 64, N = 48) {
  input  x: f32[M, K]
  weight w: f32[K, N]
  output y: f32[M, N]
  output largest: f32[M]
  output mean: f32[M]
  output variance: f32[M]
  y        = matmul(x, w)
  largest  = row_max(y)
  mean     = row_mean(y)
  variance = row_variance(y, mean)
}
