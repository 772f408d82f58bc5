# Bytes, multiplied and summed in 32 bits: exact. The weight is packed ahead as byte instructions want it.
target x86.avx512_vnni

spec int8_matmul(M = 24, K = 40, N = 36) {
  input  a: u8[M, K]
  weight b: s8[K, N]
  output c: s32[M, N]
  c = matmul(a, b)
}
