# Statements with subscripts.

spec no_sums(N = 4, M = 2) {
  input  x: f32[N, N]
  input  b: f32[N]
  output y: f32[N]
  output z: f32[N]
  output v: f32[N]
  output w: f32[N]
  y[i] = x[M, 1] + x[i * i, i] #! S040 22 'i * i' is no sum of dimensions
  z[i] = x[i // 2, N - 1 - i] #! S040 12 'i // 2' is no sum of dimensions #! S040 20 'N - 1 - i' is no subscript: the factor of 'i' is -1
  v[i] = x[i - 1, i] + b #! S040 12 'i - 1' is no subscript: it begins before the first element #! S040 24 'b' is a tensor: say which element
  w[i] = x[i, 0 * i] * b[i * i] #! S040 15 '0 * i' is no subscript: the factor of 'i' is 0 #! S040 26 'i * i' is no sum of dimensions
}

spec one(N = 4) {
  input  x: f32[N, N]
  output y: f32[]
  y[] = x[N - 1, 0] #! S040 9 'x[3, 0]' is one element, and there is no dimension
}

spec single(N = 4) {
  input  x: f32[N]
  output y: f32[2, N]
  y[1, i] = x[i] #! S040 5 'y[1, i]' leaves elements without a value
}

spec ranks(N = 4) {
  input  x: f32[N, N]
  output y: f32[N]
  y[i, j] = x[i] + x[i, j, k] #! S035 3 'y' has 1 dimension, but 2 are written #! S035 13 'x' has 2 dimensions, but 1 are written #! S035 20 'x' has 2 dimensions, but 3 are written
}

spec extents(N = 4) {
  input  x: f32[N]
  input  z: f32[N + 1]
  output y: f32[N]
  output a: f32[N]
  output b: f32[2 * N]
  output c: f32[N]
  y[i] = x[i] * z[i] #! S036 19 'i' is 4 in dimension 1 of 'x' but 5 in dimension 1 of 'z'
  a[i] = x[i + 1] #! S036 12 this reaches 5 elements where dimension 1 of 'x' has 4
  b[2 * i] = x[i] #! S036 5 this reaches 7 elements where dimension 1 of 'b' has 8
  c[i + 1] = x[i + 0] #! S036 5 nothing gives 'c' its first elements a value
}

spec rows_that_do_not_fit(N = 4) {
  input  x: f32[3 * N, 2 * N]
  output y: f32[6, 13]
  y[2 * a + b, N * i + j] = x[N * a + i, N * b + j] #! S036 16 this reaches 12 elements where dimension 2 of 'y' has 13
}

spec unknown_extents(N = 4) {
  input  x: f32[N]
  output y: f32[2, 2]
  t[i, j] = x[2 * i + j] #! S036 15 nothing tells the size of dimension 'i'
  y[i, j] = t[i, j]
}

spec types(N = 4) {
  input  x: s8[N]
  input  z: f32[N]
  output y: f32[N]
  t[i] = x[i] * z[i] #! S037 3 nothing tells the element type of 't'
  y = relu(t)
}

spec meanings(N = 4) {
  input  x: f32[N, N]
  output y: f32[N]
  output z: f32[N]
  output v: f32[N]
  output w: f32[N]
  y[i] = x[i, j] #! O012 3 'j' is reduced, but '=' keeps one value
  z[i] = x * x[i, i] #! S040 10 'x' is a tensor: say which element
  v[i] = z[i] + v[i] #! S031 17 'v' is input and output of the same operator
  w[i] = nothing[i] #! S022 10 unknown tensor 'nothing'
}

spec no_numbers(N = 4) {
  input  x: s8[N]
  output y: s8[N]
  y[i] = x[i] * 0.5 #! S039 17 0.5 is no number of s8, which is computed in
}

spec too_large(N = 65536) {
  input  x: f32[N]
  output y
  y[i, j] = x[i] * x[j] #! S007 3 'y' has 4294967296 elements; the most is 2147483648
}


spec positions(N = 300, M = 100000) {
  input  x: bf16[N]
  input  z: f32[M]
  output y: bf16[N]
  output v: f32[M]
  output w: f32[N]
  y[i] = x[i] if i < 5 else 0 #! S041 18 'i' goes to 299, and bf16 does not have all these numbers
  v[i] = z[i] * i #! S041 17 'i' is used as a number, and has 100000 values
  w[i] = x[i] * k #! K001 17 unknown name 'k'
}

spec lookups(N = 4) {
  input  i: f32[N]
  input  j: s32[N]
  input  e: f32[N, N]
  local  h: f32[N, N]
  output y: f32[N, N]
  output z: f32[N, N]
  output v: f32[N, N]
  output w: f32[N, N]
  h[a, b] = e[a, b] * e[a, b]
  y[t, d] = e[i[t], d] #! S042 15 'i' is of f32, and is an index
  z[t, d] = e[j[t], t] #! S042 13 'e[j[t], t]' is no lookup: all but one subscript are dimensions
  v[t, d] = h[j[t], d] #! S042 13 'h[j[t], d]' looks up what is no argument, or has panels
  w[t, d] = e[j[t], d, d] #! S042 13 'e[j[t], d, d]' is no lookup: all but one subscript are dimensions
}

spec parts(N = 4) {
  input  x: f32[N]
  output y: f32[2 * N]
  output z: f32[N]
  output u: f32[2 * N]
  output v: f32[2, N] panels 2
  output w: f32[N + 1]
  y[i] = x[i]
  y[i + N - 1] = x[i] #! S025 3 'y[3:7]' and 'y[0:4]' have elements in common
  z[i] = x[i]
  z[i + 1] = x[i] #! S036 5 this reaches 5 elements where dimension 1 of 'z' has 4
  u[i] = x[i]
  u[i + N + 1] = x[i + 1] #! S036 3 not all of 'u' gets a value
  v[0, i] = x[i] #! S025 3 'v' has panels, so one statement computes all of it
  v[1, i] = x[i] #! S025 3 'v' has panels, so one statement computes all of it
  w[i] = x[i]
  w[N] = x[0] elsewhere 1 #! S025 3 several statements compute 'w', and 'elsewhere' all of it
}

spec frames(N = 4) {
  input  x: s8[N]
  output a: s8[N]
  output b: s8[N + 2]
  output c: s8[N + 2]
  output d: s8[N + 2]
  a[i] = x[i] elsewhere 0 #! O016 25 every element of 'a' is reached
  b[i + 1] += x[i] elsewhere 0 #! O016 30 '+=' reduces, so that what it reaches nowhere has no value
  c[i + 1] = x[i] elsewhere 1 / 2 #! S039 29 0.5 is no number of s8, which is computed in
  d[i + 3] = x[i] elsewhere x #! K001 29 unknown name 'x'
}
