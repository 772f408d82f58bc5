module @jit_image attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x9x9x3xf32>) -> (tensor<1x2x2x5xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<"0x43AA943DDB339CBDA24FBD3E1312783D7D589EBE04C7553EBFBB403FEBFA0B3FC806D0BE0A083BBFF43DB8BE2375C33C5CD2ABBFE15901BED12538BFEF75D8BE80E2A0BEAFFF3ABED55B733ED1151A3F29FB97BD30F7493F3EA2C4BEAAD04F3ECE88053FA3525E3DE6C7DBBE883B08BF274E87BE4B2E023E273915BFFD54F7BD1045BCBD32E09F3ED9D0FD3D4619523E2046C1BEC44199BDEBBEE73E4BBB5C3F8C173ABFAEC25F3F32EC463F50F5E63E12591C3EE09739BE767F573F5FDD903F6F24853FE15F423F2349533E6D9732BF348828BB620EC23E076C3EBF4B99693E67237E3EA7C0CD3EBE032FBFFB99C3BE000381BE10E62CBF6E8A803FC69792BE327D423EACDE18BE390A6A3FCC26433F9D38BB3E5AD7A2BF3A14F63C9419CA3E1F63143FC7A7B6BEEEA5863F722943BFC68CC3BEB3330A3FE602E83C7EFA933F59E8DE3D9E2CBBBED3375FBEF24521BFE0D73CBF0C5ABA3E68CBAB3E84563F3F6210DFBE24A7793FD1E729BE3EB3683FAADD7FBE4C69D9BEBEAC133E5373183F3F61BE3D9315ADBE093C46BFA4254FBF4098943EFF47123F9D43C2BDFDCA1EBF7F09013F8F3E3DBF0AC9D2BE3093B73E8D49A6BF9E6C643E5AEFABBEBA36813D600533BD96FBEE3D1533CD3E382DE0BE0506523FC0A2D63E0269F93E392B2C3F4FD0E83E3283F93E0BC4323D2BE152BFDBAD9FBD9A78E3BE9B4852BF8CCC183EAB10A8BEF23418BF45281ABFA2B01E3E9C0C543E2076433F859F03BC"> : tensor<3x3x3x5xf32>
    %cst_0 = stablehlo.constant dense<[0.465924919, 0.627111911, 0.514369726, -1.05779612, 0.549484074]> : tensor<5xf32>
    %cst_1 = stablehlo.constant dense<[0.151882678, 0.189516306, 0.16601795, 0.171174213, 0.142846376]> : tensor<5xf32>
    %cst_2 = stablehlo.constant dense<[-0.160510913, -0.850437164, -0.0487081483, -0.35943982, 0.483063757]> : tensor<5xf32>
    %cst_3 = stablehlo.constant dense<[-0.129140303, 0.0373313129, -0.379955322, -0.228357315, -0.00515774218]> : tensor<5xf32>
    %cst_4 = stablehlo.constant dense<[[[[-0.857581734, 0.173600629, -0.0612408444, -0.684575677, -1.38462043]], [[0.296210796, -0.171810225, -0.306000501, -0.136343941, 1.04874289]], [[-0.0287526026, 0.050009653, -0.858561933, 0.951091647, 0.529711962]]], [[[0.615995109, 0.0275238641, 0.529230893, 0.214166254, 0.354024887]], [[-0.0878686458, -0.850949585, 0.59400934, -1.11714947, -0.138527498]], [[-0.118081115, -0.602095604, 0.3539868, -0.115660407, -0.252226055]]], [[[0.300130755, -0.275153041, 0.801927983, 0.202912688, -0.273856282]], [[-1.12252188, -0.755031645, 0.627482057, -0.029216269, -0.163462326]], [[0.94873178, -0.740537882, -0.338129699, -0.272848636, 3.385220e-01]]]]> : tensor<3x3x1x5xf32>
    %0 = stablehlo.convolution(%arg0, %cst) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x9x9x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x5x5x5xf32>
    %1 = stablehlo.abs %cst_0 : tensor<5xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %3 = stablehlo.add %1, %2 : tensor<5xf32>
    %4 = stablehlo.rsqrt %3 : tensor<5xf32>
    %5 = stablehlo.multiply %4, %cst_1 : tensor<5xf32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [3] : (tensor<5xf32>) -> tensor<1x1x1x5xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<1x1x1x5xf32>) -> tensor<1x5x5x5xf32>
    %8 = stablehlo.subtract %0, %7 : tensor<1x5x5x5xf32>
    %9 = stablehlo.broadcast_in_dim %5, dims = [3] : (tensor<5xf32>) -> tensor<1x1x1x5xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x1x5xf32>) -> tensor<1x5x5x5xf32>
    %11 = stablehlo.multiply %8, %10 : tensor<1x5x5x5xf32>
    %12 = stablehlo.broadcast_in_dim %cst_3, dims = [3] : (tensor<5xf32>) -> tensor<1x1x1x5xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x5xf32>) -> tensor<1x5x5x5xf32>
    %14 = stablehlo.add %11, %13 : tensor<1x5x5x5xf32>
    %15 = call @relu(%14) : (tensor<1x5x5x5xf32>) -> tensor<1x5x5x5xf32>
    %16 = stablehlo.convolution(%15, %cst_4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 5 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x5x5x5xf32>, tensor<3x3x1x5xf32>) -> tensor<1x5x5x5xf32>
    %17 = stablehlo.add %15, %16 : tensor<1x5x5x5xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<f32>
    %19 = "stablehlo.reduce_window"(%17, %18) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %20 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<1x5x5x5xf32>, tensor<f32>) -> tensor<1x2x2x5xf32>
    return %19 : tensor<1x2x2x5xf32>
  }
  func.func private @relu(%arg0: tensor<1x5x5x5xf32>) -> tensor<1x5x5x5xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x5x5x5xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x5x5x5xf32>
    return %1 : tensor<1x5x5x5xf32>
  }
}
