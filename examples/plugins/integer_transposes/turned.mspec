target x86.avx2

spec turned(M = 5, N = 37) {
  input  x: s32[M, N]
  output y: s32[N, M]
  y = transpose(x)
}
