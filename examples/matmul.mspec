# A matrix product; the sizes can be set on the command line, such as -D M=100.
target x86.avx512

spec matmul(M = 512, K = 512, N = 512) {
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}
