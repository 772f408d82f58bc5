# What is measured to fit a target's coefficients: every operator that has kernels, in shapes that
# spend their time in different places: registers, each cache, memory, loops, remainders.

spec product_48(N = 48)    { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec product_100(N = 100)  { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec product_256(N = 256)  { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec product_401(N = 401)  { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec product_512(N = 512)  { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec product_768(N = 768)  { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
spec deep(M = 24, K = 4096, N = 64)   { input a: f32[M, K]; input b: f32[K, N]; output c: f32[M, N]; c = matmul(a, b) }
spec flat(M = 320, K = 16, N = 1024)  { input a: f32[M, K]; input b: f32[K, N]; output c: f32[M, N]; c = matmul(a, b) }
spec wide(M = 48, K = 256, N = 3072)  { input a: f32[M, K]; input b: f32[K, N]; output c: f32[M, N]; c = matmul(a, b) }
spec tall(M = 3000, K = 128, N = 48)  { input a: f32[M, K]; input b: f32[K, N]; output c: f32[M, N]; c = matmul(a, b) }
spec row(K = 1000, N = 1000)          { input a: f32[1, K]; input b: f32[K, N]; output c: f32[1, N]; c = matmul(a, b) }
spec long_row(K = 512, N = 8192)      { input a: f32[1, K]; input b: f32[K, N]; output c: f32[1, N]; c = matmul(a, b) }
spec column_major(N = 96)             { input a: f32[N, N]; input b: f32[N, N] layout (1, 0); output c: f32[N, N]; c = matmul(a, b) }
spec whole_numbers(N = 96)            { input a: s32[N, N]; input b: s32[N, N]; output c: s32[N, N]; c = matmul(a, b) }

spec copy_small(N = 1500)             { input x: f32[N]; output y: f32[N]; y = copy(x) }
spec copy_large(N = 3000000)          { input x: f32[N]; output y: f32[N]; y = copy(x) }
spec transpose(M = 200, N = 300)      { input x: f32[M, N]; output y: f32[M, N] layout (1, 0); y = copy(x) }
spec convert(N = 10000)               { input x: s32[N]; output y: f32[N]; y = copy(x) }
spec maximum_of(N = 2000)             { input x: f32[N]; input z: f32[N]; output y: f32[N]; y = maximum(x, z) }
spec quotient(N = 3001)               { input x: f32[N]; input z: f32[N]; output y: f32[N]; y = div(x, z) }
spec root(N = 3001)                   { input x: f32[N]; output y: f32[N]; y = sqrt(x) }
spec exponential(N = 3001)            { input x: f32[N]; output y: f32[N]; y = exp(x) }
spec logarithm(N = 3001)              { input x: f32[N]; output y: f32[N]; y = log(x) }
spec tangent(N = 3001)                { input x: f32[N]; output y: f32[N]; y = tanh(x) }
spec error_function(N = 3001)         { input x: f32[N]; output y: f32[N]; y = erf(x) }
spec error_function_rest(N = 3001)    { input x: f32[N]; output y: f32[N]; y = erfc(x) }
spec logarithm_near_1(N = 3001)       { input x: f32[N]; output y: f32[N]; y = log1p(x) }
spec exponential_near_0(N = 3001)     { input x: f32[N]; output y: f32[N]; y = expm1(x) }
spec rounding(N = 3001)               { input x: f32[N]; output y: f32[N]; y = round(x) }
spec sum_of(M = 300, N = 400)         { input x: s32[M, N]; input z: s32[M, N]; output y: s32[M, N]; y = add(x, z) }

# What two threads share: so little that it hardly pays, up to what hides how they begin and end.
spec shared_4000(N = 4000) threads 2   { input x: f32[N]; output y: f32[N]; y = exp(x) }
spec shared_20000(N = 20000) threads 2 { input x: f32[N]; output y: f32[N]; y = exp(x) }
spec shared_50000(N = 50000) threads 2 { input x: f32[N]; output y: f32[N]; y = tanh(x) }
spec shared_product(N = 100) threads 2 { input a: f32[N, N]; input b: f32[N, N]; output c: f32[N, N]; c = matmul(a, b) }
