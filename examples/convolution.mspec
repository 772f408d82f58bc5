# A convolution of a picture with channels last, in a frame that the caller left. Filters are 3 by 3.

target x86.avx512

spec convolution(H = 56, W = 56, C = 64, F = 64) {
  input  x: f32[1, H + 2, W + 2, C]
  weight filters: f32[3, 3, C, F]
  output y: f32[1, H, W, F]
  y = conv2d_nhwc(x, filters)
}
