# Probabilities over a vocabulary.

target x86.avx512

spec vocabulary(B = 8, V = 32768) {
  input  logits: f32[B, V]
  output p: f32[B, V]
  p = softmax(logits)
}
