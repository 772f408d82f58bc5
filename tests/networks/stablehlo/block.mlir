module @jit_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<24x16xf32>, %arg1: tensor<16x24xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<16xf32>, %arg4: tensor<16x16xf32>, %arg5: tensor<16x16xf32>, %arg6: tensor<16x24xf32>, %arg7: tensor<16x16xf32>, %arg8: tensor<7x16xf32>) -> (tensor<7x16xf32> {jax.result_info = "result['hidden']"}) {
    %0 = stablehlo.multiply %arg8, %arg8 : tensor<7x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<7x16xf32>, tensor<f32>) -> tensor<7xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<7xf32>) -> tensor<7x1xf32>
    %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<7x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<7x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<7x1xf32>
    %6 = stablehlo.add %4, %5 : tensor<7x1xf32>
    %7 = stablehlo.rsqrt %6 : tensor<7x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<7x1xf32>) -> tensor<7x16xf32>
    %9 = stablehlo.multiply %arg8, %8 : tensor<7x16xf32>
    %10 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<7x16xf32>
    %12 = stablehlo.multiply %9, %11 : tensor<7x16xf32>
    %13 = stablehlo.dot_general %12, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x16xf32>) -> tensor<7x16xf32>
    %14 = stablehlo.reshape %13 : (tensor<7x16xf32>) -> tensor<7x2x8xf32>
    %15 = stablehlo.dot_general %12, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x16xf32>) -> tensor<7x16xf32>
    %16 = stablehlo.reshape %15 : (tensor<7x16xf32>) -> tensor<7x2x8xf32>
    %17 = stablehlo.dot_general %12, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x16xf32>) -> tensor<7x16xf32>
    %18 = stablehlo.reshape %17 : (tensor<7x16xf32>) -> tensor<7x2x8xf32>
    %19 = stablehlo.iota dim = 0 : tensor<7xi32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
    %21 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %22 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %23 = stablehlo.multiply %22, %21 : tensor<4xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %25 = stablehlo.add %24, %23 : tensor<4xi32>
    %26 = stablehlo.negate %25 : tensor<4xi32>
    %27 = stablehlo.convert %26 : (tensor<4xi32>) -> tensor<4xf32>
    %cst_3 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %29 = stablehlo.divide %27, %28 : tensor<4xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %31 = stablehlo.power %30, %29 : tensor<4xf32>
    %32 = stablehlo.convert %20 : (tensor<7x1xi32>) -> tensor<7x1xf32>
    %33 = stablehlo.broadcast_in_dim %31, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<7x1xf32>) -> tensor<7x4xf32>
    %35 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<7x4xf32>
    %36 = stablehlo.multiply %34, %35 : tensor<7x4xf32>
    %37 = stablehlo.cosine %36 : tensor<7x4xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 2] : (tensor<7x4xf32>) -> tensor<7x1x4xf32>
    %39 = stablehlo.sine %36 : tensor<7x4xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 2] : (tensor<7x4xf32>) -> tensor<7x1x4xf32>
    %41 = stablehlo.slice %14 [0:7, 0:2, 0:4] : (tensor<7x2x8xf32>) -> tensor<7x2x4xf32>
    %42 = stablehlo.slice %14 [0:7, 0:2, 4:8] : (tensor<7x2x8xf32>) -> tensor<7x2x4xf32>
    %43 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %44 = stablehlo.multiply %41, %43 : tensor<7x2x4xf32>
    %45 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %46 = stablehlo.multiply %42, %45 : tensor<7x2x4xf32>
    %47 = stablehlo.subtract %44, %46 : tensor<7x2x4xf32>
    %48 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %49 = stablehlo.multiply %42, %48 : tensor<7x2x4xf32>
    %50 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %51 = stablehlo.multiply %41, %50 : tensor<7x2x4xf32>
    %52 = stablehlo.add %49, %51 : tensor<7x2x4xf32>
    %53 = stablehlo.concatenate %47, %52, dim = 2 : (tensor<7x2x4xf32>, tensor<7x2x4xf32>) -> tensor<7x2x8xf32>
    %54 = stablehlo.iota dim = 0 : tensor<7xi32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
    %56 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c_5 = stablehlo.constant dense<2> : tensor<i32>
    %57 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %58 = stablehlo.multiply %57, %56 : tensor<4xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %59 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %60 = stablehlo.add %59, %58 : tensor<4xi32>
    %61 = stablehlo.negate %60 : tensor<4xi32>
    %62 = stablehlo.convert %61 : (tensor<4xi32>) -> tensor<4xf32>
    %cst_7 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %64 = stablehlo.divide %62, %63 : tensor<4xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %66 = stablehlo.power %65, %64 : tensor<4xf32>
    %67 = stablehlo.convert %55 : (tensor<7x1xi32>) -> tensor<7x1xf32>
    %68 = stablehlo.broadcast_in_dim %66, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %69 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<7x1xf32>) -> tensor<7x4xf32>
    %70 = stablehlo.broadcast_in_dim %68, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<7x4xf32>
    %71 = stablehlo.multiply %69, %70 : tensor<7x4xf32>
    %72 = stablehlo.cosine %71 : tensor<7x4xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0, 2] : (tensor<7x4xf32>) -> tensor<7x1x4xf32>
    %74 = stablehlo.sine %71 : tensor<7x4xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0, 2] : (tensor<7x4xf32>) -> tensor<7x1x4xf32>
    %76 = stablehlo.slice %16 [0:7, 0:2, 0:4] : (tensor<7x2x8xf32>) -> tensor<7x2x4xf32>
    %77 = stablehlo.slice %16 [0:7, 0:2, 4:8] : (tensor<7x2x8xf32>) -> tensor<7x2x4xf32>
    %78 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %79 = stablehlo.multiply %76, %78 : tensor<7x2x4xf32>
    %80 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %81 = stablehlo.multiply %77, %80 : tensor<7x2x4xf32>
    %82 = stablehlo.subtract %79, %81 : tensor<7x2x4xf32>
    %83 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %84 = stablehlo.multiply %77, %83 : tensor<7x2x4xf32>
    %85 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<7x1x4xf32>) -> tensor<7x2x4xf32>
    %86 = stablehlo.multiply %76, %85 : tensor<7x2x4xf32>
    %87 = stablehlo.add %84, %86 : tensor<7x2x4xf32>
    %88 = stablehlo.concatenate %82, %87, dim = 2 : (tensor<7x2x4xf32>, tensor<7x2x4xf32>) -> tensor<7x2x8xf32>
    %89 = stablehlo.dot_general %53, %88, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<7x2x8xf32>, tensor<7x2x8xf32>) -> tensor<2x7x7xf32>
    %cst_9 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %90 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x7x7xf32>
    %91 = stablehlo.divide %89, %90 : tensor<2x7x7xf32>
    %c_10 = stablehlo.constant dense<true> : tensor<i1>
    %92 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
    %93 = call @tril(%92) : (tensor<7x7xi1>) -> tensor<7x7xi1>
    %cst_11 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %94 = call @_where(%93, %91, %cst_11) : (tensor<7x7xi1>, tensor<2x7x7xf32>, tensor<f32>) -> tensor<2x7x7xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %95 = stablehlo.reduce(%94 init: %cst_12) applies stablehlo.maximum across dimensions = [2] : (tensor<2x7x7xf32>, tensor<f32>) -> tensor<2x7xf32>
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x7xf32>
    %97 = stablehlo.maximum %96, %95 : tensor<2x7xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1] : (tensor<2x7xf32>) -> tensor<2x7x1xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1, 2] : (tensor<2x7x1xf32>) -> tensor<2x7x7xf32>
    %100 = stablehlo.subtract %94, %99 : tensor<2x7x7xf32>
    %101 = stablehlo.exponential %100 : tensor<2x7x7xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.reduce(%101 init: %cst_14) applies stablehlo.add across dimensions = [2] : (tensor<2x7x7xf32>, tensor<f32>) -> tensor<2x7xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0, 1] : (tensor<2x7xf32>) -> tensor<2x7x1xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<2x7x1xf32>) -> tensor<2x7x7xf32>
    %105 = stablehlo.divide %101, %104 : tensor<2x7x7xf32>
    %106 = stablehlo.dot_general %18, %105, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<7x2x8xf32>, tensor<2x7x7xf32>) -> tensor<2x8x7xf32>
    %107 = stablehlo.transpose %106, dims = [2, 0, 1] : (tensor<2x8x7xf32>) -> tensor<7x2x8xf32>
    %108 = stablehlo.reshape %107 : (tensor<7x2x8xf32>) -> tensor<7x16xf32>
    %109 = stablehlo.dot_general %108, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x16xf32>) -> tensor<7x16xf32>
    %110 = stablehlo.add %109, %arg8 : tensor<7x16xf32>
    %111 = stablehlo.multiply %110, %110 : tensor<7x16xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %112 = stablehlo.reduce(%111 init: %cst_15) applies stablehlo.add across dimensions = [1] : (tensor<7x16xf32>, tensor<f32>) -> tensor<7xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0] : (tensor<7xf32>) -> tensor<7x1xf32>
    %cst_16 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<7x1xf32>
    %115 = stablehlo.divide %113, %114 : tensor<7x1xf32>
    %cst_17 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<7x1xf32>
    %117 = stablehlo.add %115, %116 : tensor<7x1xf32>
    %118 = stablehlo.rsqrt %117 : tensor<7x1xf32>
    %119 = stablehlo.broadcast_in_dim %118, dims = [0, 1] : (tensor<7x1xf32>) -> tensor<7x16xf32>
    %120 = stablehlo.multiply %110, %119 : tensor<7x16xf32>
    %121 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<7x16xf32>
    %123 = stablehlo.multiply %120, %122 : tensor<7x16xf32>
    %124 = stablehlo.dot_general %123, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x24xf32>) -> tensor<7x24xf32>
    %125 = call @silu(%124) : (tensor<7x24xf32>) -> tensor<7x24xf32>
    %126 = stablehlo.dot_general %123, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x16xf32>, tensor<16x24xf32>) -> tensor<7x24xf32>
    %127 = stablehlo.multiply %125, %126 : tensor<7x24xf32>
    %128 = stablehlo.dot_general %127, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<7x24xf32>, tensor<24x16xf32>) -> tensor<7x16xf32>
    %129 = stablehlo.add %128, %110 : tensor<7x16xf32>
    return %129 : tensor<7x16xf32>
  }
  func.func private @tril(%arg0: tensor<7x7xi1>) -> tensor<7x7xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<7x7xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x7xi32>
    %2 = stablehlo.add %0, %1 : tensor<7x7xi32>
    %3 = stablehlo.iota dim = 1 : tensor<7x7xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<7x7xi1>, tensor<7x7xi1>
    return %6 : tensor<7x7xi1>
  }
  func.func private @_where(%arg0: tensor<7x7xi1>, %arg1: tensor<2x7x7xf32>, %arg2: tensor<f32>) -> tensor<2x7x7xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<7x7xi1>) -> tensor<2x7x7xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x7x7xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x7x7xi1>, tensor<2x7x7xf32>
    return %3 : tensor<2x7x7xf32>
  }
  func.func private @silu(%arg0: tensor<7x24xf32>) -> tensor<7x24xf32> {
    %0 = stablehlo.negate %arg0 : tensor<7x24xf32>
    %1 = stablehlo.exponential %0 : tensor<7x24xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<7x24xf32>
    %3 = stablehlo.add %2, %1 : tensor<7x24xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<7x24xf32>
    %5 = stablehlo.divide %4, %3 : tensor<7x24xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<7x24xf32>
    return %6 : tensor<7x24xf32>
  }
}
