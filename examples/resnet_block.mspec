# A block of a residual network: two convolutions of pictures in a frame of zeros, and what went in added again.

target x86.avx512

spec resnet_block(H = 14, W = 14, C = 64) {
  input  x: f32[1, H, W, C]
  weight filters: f32[3, 3, C, C]
  weight bias: f32[C]
  weight more_filters: f32[3, 3, C, C]
  weight more_bias: f32[C]
  output y: f32[1, H, W, C]

  p = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = 0)
  h = relu(add_bias(conv2d_nhwc(p, filters), bias))
  q = pad2d_nhwc(h, top = 1, bottom = 1, left = 1, right = 1, value = 0)
  r = add_bias(conv2d_nhwc(q, more_filters), more_bias)
  y = relu(add(r, x))
}
