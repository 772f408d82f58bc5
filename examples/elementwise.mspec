# Elementwise operators, on tensors of any rank. Choose one with --spec.
target x86.avx512

spec relu(N = 1000) {
  input  x: f32[N]
  output y: f32[N]
  y = relu(x)
}

spec add(H = 30, W = 50) {
  input  x: f32[H, W]
  input  z: f32[H, W]
  output y: f32[H, W]
  y = add(x, z)
}
