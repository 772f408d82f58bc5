# One attention head. Of the scores, only those of some rows are there at a time; of long rows, only
# those of a block of keys.

target x86.avx512

spec attention(S = 512, D = 64) {
  input  q: f32[S, D]
  input  k: f32[D, S]            # keys, one a column
  input  v: f32[S, D]
  output o: f32[S, D]
  scores = scale(matmul(q, k), factor = 0.125)
  o      = matmul(softmax(scores), v)
}
