# Up to four threads, with OpenMP; a size that they cannot divide evenly is no problem.
target x86.avx512

spec threaded_matmul(M = 250, K = 64, N = 64) threads 4 {
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}
