# A target that there is not.

target x86.avx9 #! P002 8 unknown target 'x86.avx9'

spec positive(N = 4) {
  input  x: f32[N]
  output y: f32[N]
  y = relu(x)
}
