// Sums of the rows of a 16 x 32 tile of e5m2: a product with a matrix of ones. The shape in the string is that of
// 16-bit elements, so A and B have twice the registers that it takes.
#if __CUDA_ARCH__ >= 890
__device__ void row_sums(float (&d)[2], unsigned const (&s)[4]) {
  constexpr unsigned ones = 0x3c3c3c3c;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e5m2.f32 "
      "{%0, _, %1, _}, {%2, %3, %4, %5}, {%6, %7}, {%8, 0., %9, 0.};\n"
      : "=f"(d[0]), "=f"(d[1])
      : "r"(s[0]), "r"(s[1]), "r"(s[2]), "r"(s[3]), "r"(ones), "r"(ones), "f"(d[0]), "f"(d[1]));
}
#endif
