# Each spec has the errors that stand after '#!' on its lines, and no others.

spec parameters(M, N = 2, N = 3, Z = 4) { #! S004 17 parameter 'M' has no value #! S002 27 spec 'parameters' has two parameters named 'N' #! S026 34 parameter 'Z' is never used
  input x: f32[M, N]
  output y: f32[M, N]
  y = relu(x)
}

spec same_name(N = 2) { input x: f32[N]; output y: f32[N]; y = relu(x) }
spec same_name(N = 2) { input x: f32[N]; output y: f32[N]; y = relu(x) } #! S002 6 spec 'same_name' is declared twice

spec values(A = 7 / 2, B = 1 // (A - 3), C = 3, D = 4) { #! S005 17 parameter 'A' must be a whole number, found 3.5 #! S026 24 parameter 'B' is never used
  input x: f32[C / D, C - 3, 0 - D, D // (C - 3), C // 0] #! S005 16 size 1 of 'x' must be a whole number, found 0.75 #! S006 23 size 2 of 'x' is 0; it must be at least 1 #! S006 30 size 3 of 'x' is -4; it must be at least 1 #! S005 37 size 4 of 'x' divides by zero #! K008 56 division by zero
  output y: f32[1, 2, 3, 4, 5]
  y = relu(x)
}

spec unknown_names(N = 2) {
  input x: f32[NN, size(N), volume(N), min(N), N > 1] #! K001 16 unknown name 'NN' #! K002 20 unknown function 'size' #! K002 29 unknown function 'volume' #! K004 40 'min' takes 2 or more arguments, 1 given #! K005 48 size 5 of 'x' must be a number, found a truth value
  output y: f32[1, 2, 3, 4, 5]
  y = relu(x)
}

spec large(N = 16777217) {
  input x: f32[N] #! S006 16 size 1 of 'x' is 16777217; it must be at most 16777216
  output y: f32[65536, 65536] #! S007 3 'y' has 4294967296 elements; the most is 2147483648
  y = relu(x)
}

spec threads_zero(N = 2) threads N - 2 { #! S006 34 the number of threads is 0; it must be at least 1
  input x: f32[N]
  output y: f32[N]
  y = relu(x)
}

spec threads_many(N = 2) threads 5000 { #! S006 34 the number of threads is 5000; it must be at most 1024
  input x: f32[N]
  output y: f32[N]
  y = relu(x)
}

spec dtypes(N = 2) {
  input x: f64[N] #! S010 12 unknown dtype 'f64'
  output y: f32[N]
  y = relu(x)
}

spec mixed(N = 2) {
  input x: f32[N]
  input z: s32[N]
  output y: s32[N]
  y = add(x, z) #! S034 3 'y' is s32, but 'add' needs f32 #! S034 14 'z' is s32, but 'add' needs f32
}

spec layouts(N = 2) {
  input x: f32[N, N] layout (0, 2) #! S011 22 the layout of 'x' does not order its 2 dimensions
  output y: f32[N, N] layout (0, 0) #! S011 23 the layout of 'y' does not order its 2 dimensions
  y = relu(x)
}

spec strided(N = 4) {
  input a: f32[N, N] stride (N - 1, 1) #! S011 22 elements of 'a' lie in each other's place
  input b: f32[N, N] stride (2 * N, 2) #! S011 22 no two elements of 'b' are next to each other
  input c: f32[N, N] stride (N) #! S011 22 'c' has 2 dimensions and 1 stride
  input d: f32[N, N] stride (0, 1) #! S006 30 stride 1 of 'd' is 0; it must be at least 1
  input e: f32[N, N] layout (1, 0) stride (1, N) #! S011 36 'e' has a layout and strides
  input f: f32[N, N] panels 2 stride (N, 1) #! S011 31 'f' has panels and strides
  local h: f32[N, N] stride (N, 1) #! S011 3 'h' is a local, so its layout is the compiler's choice
  h = add(a, add(b, add(c, add(d, add(e, f)))))
  output y: f32[N, N]
  y = relu(h)
}

spec panels(N = 2) {
  input x: f32[N, N] panels (1, 4) #! S011 22 'x': panels of 1 x 4 elements
  input u: f32[N] panels (4, 4) #! S011 19 'u': panels with a height are for two dimensions, and there is one
  input v: f32[] panels 4 #! S011 18 'v': a scalar has no panels
  output y: f32[N, N] panels 1025 #! S011 23 'y': panels of 1025 elements
  y = scale(add_bias(x, u), factor = 2)
  output z: f32[]
  z = neg(v)
}

spec tensors(N = 2) {
  input x: f32[N]
  input x: f32[N] #! S002 9 tensor 'x' is declared twice
  weight spare: f32[N] #! S020 10 weight 'spare' is never used
  output y: f32[N]
  output other: f32[N] #! S021 10 output 'other' is never computed
  y = relu(x)
}

spec unknown_tensors(N = 2) {
  input x: f32[N]
  output y: f32[N]
  yy = relu(z) #! S022 3 unknown tensor 'yy' #! S022 13 unknown tensor 'z'
}

spec unread(N = 2) {
  input x: f32[N]
  output y: f32[N]
  u[i] = x[i] + 1 #! S022 3 'u' is computed, but nothing reads it
  y = relu(x)
}

spec computed_input(N = 2) {
  input x: f32[N]
  weight z: f32[N]
  z = relu(x) #! S023 3 'z' is declared as weight, so it cannot be computed
}

spec nothing(N = 2) { #! S024 6 spec 'nothing' computes nothing
  input x: f32[N]
  output y: f32[N]
}

spec twice(N = 2) {
  input x: f32[N]
  local unread: f32[N] #! S020 9 local 'unread' is never used
  local unknown: f32[N] #! S021 9 local 'unknown' is never computed
  local ordered: f32[N] panels 2 #! S011 3 'ordered' is a local, so its layout is the compiler's choice
  output y: f32[N]
  unread = neg(x)
  ordered = neg(unknown) #! S031 17 'unknown' is never computed, so it has no value to read
  z = relu(later) #! S031 12 'later' is read before it is computed
  later = relu(x)
  y = relu(z)
  y = relu(ordered) #! S025 3 'y' is computed twice
}

spec nested(N = 2) {
  input x: f32[N]
  output y: s32[N]
  y = relu(copy(relu(w))) #! S022 22 unknown tensor 'w'
}

spec untold(N = 2) {
  input x: s8[N]
  output y: s32[N]
  y = relu(copy(relu(x))) #! S037 12 nothing tells the element type of what 'copy' computes here
}

spec untold_output(N = 2) {
  input  x: s8[N]
  output y
  y = copy(x) #! S037 7 nothing tells the element type of what 'copy' computes here
}

spec untyped_outputs(N = 2) {
  input  x: f32[N]
  output y
  output z
  output w: f32[N] #! S021 10 output 'w' is never computed
  y = relu(z) #! S031 12 'z' is read before it is computed
  z = relu(x)
}

spec one_output_of_two(N = 2) {
  input x: f32[N]
  output y: f32[N]
  output z: f32[N] #! S021 10 output 'z' is never computed
  h = neg(x)
  y = relu(h)
}

spec order_of_outputs(N = 2) {
  input x: f32[N]
  output y: f32[N]
  output z: f32[N]
  y = add(x, z) #! S031 14 'z' is read before it is computed
  z = relu(z) #! S031 12 'z' is input and output of the same operator
  y = relu(x) #! S025 3 'y' is computed twice
}

spec unused(N = 2, M = 3) { #! S026 20 parameter 'M' is never used
  input x: f32[N]
  output y: f32[N]
  y = relu(x)
}

spec unknown_operator(N = 2) {
  input x: f32[N]
  output y: f32[N]
  y = rellu(x) #! S030 7 unknown operator 'rellu'
}

spec in_place(N = 2) {
  input x: f32[N]
  output y: f32[N]
  y = add(x, y) #! S031 14 'y' is input and output of the same operator
}

spec reads_output(N = 2) {
  input x: f32[N]
  output y: f32[N]
  output z: f32[N] #! S021 10 output 'z' is never computed
  y = add(x, z) #! S031 14 'z' is never computed, so it has no value to read
}

spec arguments(N = 2) {
  input x: f32[N]
  output y: f32[N]
  y = add(x) #! S032 7 'add' takes 2 tensors, 1 given
}

spec scalars(N = 2) {
  output y: f32[N]
  y = fill(valu = 1) #! S033 12 'fill' has no scalar 'valu'
}

spec scalar_twice(N = 2) {
  output y: f32[N]
  y = fill(value = 1, value = 2) #! S033 23 scalar 'value' is given twice
}

spec no_number(N = 2) {
  output y: f32[N]
  y = fill(value = sqrt(0 - 1)) #! S033 20 scalar 'value' is not a number
}

spec ranks(N = 2) {
  input a: f32[N]
  input b: f32[N, N]
  output c: f32[N, N]
  c = matmul(a, b) #! S035 14 'a' has 1 dimension, but 2 or more are needed
}

spec groups(N = 2) {
  input a: f32[N, N, N]
  input b: f32[N, N]
  output c: f32[N, N, N]
  c = matmul(a, b) #! S035 7 'b...' has not the same number of dimensions everywhere
}

spec dimensions(M = 2, K = 3, N = 5) {
  input a: f32[M, K]
  input b: f32[N, K]
  output c: f32[M, N]
  c = matmul(a, b) #! S036 3 dimension 'n' of 'matmul' is 3 in dimension 2 of 'b' but 5 in dimension 2 of 'c' #! S036 17 dimension 'k' of 'matmul' is 3 in dimension 2 of 'a' but 5 in dimension 1 of 'b'
}

spec strides(N = 4) {
  input  x: f32[1, N, N, 2]
  output y: f32[1, N - 1, N - 1, 2]
  y = max_pool2d_nhwc(x, window = 2.5, stride = 0) #! S038 35 scalar 'window' of 'max_pool2d_nhwc' is 2.5 #! S038 49 scalar 'stride' of 'max_pool2d_nhwc' is 0
}

spec windows(N = 4) {
  input  x: f32[1, N, N, 2]
  output y: f32[1, N - 1, N - 1, 2]
  y = max_pool2d_nhwc(x, window = 3, stride = 1) #! S036 23 'max_pool2d_nhwc' reaches 5 elements where there is 4 in dimension 2 of 'x' #! S036 23 'max_pool2d_nhwc' reaches 5 elements where there is 4 in dimension 3 of 'x'
}

spec frames(N = 4) {
  input  x: f32[1, N, N, 2]
  output y: f32[1, N + 2, N, 2]
  y = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 0 - 1, value = 0) #! S038 60 scalar 'right' of 'pad2d_nhwc' is -1
}

spec framed(N = 4) {
  input  x: f32[1, N, N, 2]
  output y: f32[1, N + 2, N, 2]
  y = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 0, value = 0) #! S036 3 'pad2d_nhwc' reaches 5 elements where there is 4 in dimension 3 of 'y'
}

spec no_number_of_the_type() {
  output y: u8[8]
  y = fill(value = 300) #! S039 20 scalar 'value' of 'fill' is 300; expected a number of u8
}

spec of_calls(M <= 8, N = 4) threads M { #! S043 38 it may only be all of a tensor's size: calls bring 'M'
  input x: f32[M, N]
  input s: f32[N, M] layout (0, 1) #! S043 9 rows of 's' do not follow each other in memory: calls bring 'M'
  input z: f32[2 * M] #! S043 20 it may only be all of a tensor's size: calls bring 'M'
  weight w: f32[M, N] #! S043 10 weight 'w' is packed before: calls bring 'M'
  output y: f32[M, N]
  y[m, n] = x[m, n] + s[n, m] + w[m, n] + z[m + 0] #! S043 3 'y' depends on which row it is of: calls bring 'M'
}

spec across(M <= 8, N = 4) {
  input x: f32[M, N]
  output y: f32[N] #! S043 10 output 'y' has no dimension 'M': calls bring 'M'
  output u: f32[M, N]
  output v: f32[M, M] #! S043 10 two dimensions of 'v' are of this size: calls bring 'M'
  output p: f32[M]
  output o: f32[M]
  y[n] += x[m, n] #! S043 3 'y' is computed from several rows at once: calls bring 'M'
  u = softmax(x)
  v[m, k] = x[m, 0] * x[k, 1] #! S043 3 'v' is computed from several rows at once: calls bring 'M'
  p[m] = x[m, 0] * m #! S043 3 'p' depends on which row it is of: calls bring 'M'
  o[m] = 1 #! S043 3 'o' is computed from nothing of this size: calls bring 'M'
}

spec two(M <= 8, N <= 4) { #! S043 18 'M' and 'N' are brought by each call
  input x: f32[M, N] #! S043 9 rows of 'x' do not follow each other in memory: calls bring 'N'
  output y: f32[M, N] #! S043 10 rows of 'y' do not follow each other in memory: calls bring 'N'
  y = relu(x)
}

spec one(M <= 1) { #! S006 10 'M' is at most 1, and so 1
  input x: f32[M]
  output y: f32[M]
  y = relu(x)
}

spec no_limit(M <= 0) { #! S006 20 the limit of 'M' is 0; it must be at least 1
  input x: f32[M]
  output y: f32[M]
  y = relu(x)
}
