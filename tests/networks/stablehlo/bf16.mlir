module @jit_half attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x6xbf16>) -> (tensor<3x8xbf16> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<[[-2.714840e-01, -2.500000e-01, -6.562500e-01, 2.968750e-01, 3.300780e-01, -1.943360e-01, 6.689450e-02, -5.273440e-01], [-1.923830e-01, 5.625000e-01, 5.541990e-02, 9.414060e-01, -3.222660e-01, 2.373050e-01, -7.958980e-02, 2.314450e-01], [-2.944950e-03, -2.294920e-01, -3.535160e-01, 1.250000e+00, -3.149410e-02, -8.242180e-01, -2.656250e-01, 2.773440e-01], [-2.041020e-01, 5.546880e-01, 4.101560e-01, -6.225590e-02, -1.923830e-01, -4.101560e-01, -2.851560e-01, -6.015630e-01], [4.921880e-01, 6.484380e-01, -5.117190e-01, -4.824220e-01, -7.226560e-01, -3.925780e-01, -1.265630e+00, -4.667970e-01], [5.312500e-01, -1.416020e-01, 3.496090e-01, -1.992190e-01, 7.187500e-01, 8.154300e-02, -1.562500e-01, 1.039060e+00]]> : tensor<6x8xbf16>
    %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x6xbf16>, tensor<6x8xbf16>) -> tensor<3x8xbf16>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<3x8xbf16>
    %2 = stablehlo.multiply %1, %0 : tensor<3x8xbf16>
    %3 = stablehlo.negate %0 : tensor<3x8xbf16>
    %cst_1 = stablehlo.constant dense<7.070310e-01> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<3x8xbf16>
    %5 = stablehlo.multiply %3, %4 : tensor<3x8xbf16>
    %6 = chlo.erfc %5 : tensor<3x8xbf16> -> tensor<3x8xbf16>
    %7 = stablehlo.multiply %2, %6 : tensor<3x8xbf16>
    return %7 : tensor<3x8xbf16>
  }
}
