# The command gives a value to 'K', and chooses 'mean'.

spec sum(N = 4) { #! S001 6 the file has no spec 'mean' #! S003 6 spec 'sum' has no parameter 'K' to define
  input  x: f32[N]
  output y: f32[]
  y = row_sum(x)
}
