# A layer with weights that never change, for a program in C: CMakeLists.txt beside it builds both.
target x86.avx2

spec layer(M = 8, K = 12, N = 16) {
  input  x: f32[M, K]
  weight w: f32[K, N]
  output y: f32[M, N]
  y = matmul(x, w)
}
