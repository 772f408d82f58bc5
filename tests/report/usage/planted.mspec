target planted.tiny

spec itself(N = 4) {
  input  x: f32[N]
  output y: f32[N]
  y = same(x)
}

spec moved(M = 2, N = 3) {
  input  x: f32[M, N]
  output y: f32[M, N]
  y = copy(x)
}
