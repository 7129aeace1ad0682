#include "kernel.h"

#include "config.h"
#ifdef PTXMMA_STAND_IN
#include "types.h"
#endif

// mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 (plain)
// row mma/m8n8k16.integer, PTX ISA 9.7.14.5.14
namespace kernels {
struct value__mma_sync_aligned_m8n8k16_row_col_satfinite_s32_s8_u8_s32 : ptxmma::Steps {
  static constexpr unsigned threads = 32, words = 21, a_bytes = 512, b_bytes = 512, c_bytes = 256, d_bytes = 384, meta_bytes = 0;
  struct Registers {
    uint32_t d[2];
    uint32_t a[1];
    uint32_t b[1];
    uint32_t c[2];
  };
  static PTXMMA_DEVICE void load(const ptxmma::Job& job, unsigned t, Registers& r) {
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = t / 4, col = 16 / 4 * (t % 4) + i;
      ptxmma::put<8>(r.a, i, ptxmma::get<uint32_t>(job.a, row * 16 + col));
    }
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = 4 * (t % 4) + i, col = t / 4;
      ptxmma::put<8>(r.b, i, ptxmma::get<uint32_t>(job.b, row * 8 + col));
    }
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = t / 4, col = 2 * (t % 4) + i;
      ptxmma::put<32>(r.c, i, ptxmma::get<uint32_t>(job.c, row * 8 + col));
    }
  }
#ifdef PTXMMA_STAND_IN
  static void stand_in(ptxmma::Block<value__mma_sync_aligned_m8n8k16_row_col_satfinite_s32_s8_u8_s32>& all) {
    ptxmma::Tile a(8, 16, 1);
    for (unsigned product = 0; product < a.products; ++product)
      for (unsigned row = 0; row < a.rows; ++row)
        for (unsigned col = 0; col < a.cols; ++col) {
          const unsigned t = 4 * row + col / 4, i = col % 4;
          a(row, col, product) = ptxmma::take<8>(all[t].a, i);
        }
    ptxmma::Tile b(16, 8, 1);
    for (unsigned product = 0; product < b.products; ++product)
      for (unsigned row = 0; row < b.rows; ++row)
        for (unsigned col = 0; col < b.cols; ++col) {
          const unsigned t = 4 * col + row / 4, i = row % 4;
          b(row, col, product) = ptxmma::take<8>(all[t].b, i);
        }
    ptxmma::Tile c(8, 8, 1);
    for (unsigned product = 0; product < c.products; ++product)
      for (unsigned row = 0; row < c.rows; ++row)
        for (unsigned col = 0; col < c.cols; ++col) {
          const unsigned t = 4 * row + col / 2, i = col % 2;
          c(row, col, product) = ptxmma::take<32>(all[t].c, i);
        }
    ptxmma::Tile d(8, 8, 1);
    ptxmma::Meets meets;
    const ptxmma::Product how{types::s8, types::u8, types::s32, types::s32, ptxmma::Product::MULTIPLY, 1, true, exact::EXACT};
    ptxmma::multiply(a, b, &c, d, how, meets);
    for (auto& r : all.registers) std::memset(r.d, 0, sizeof r.d);
    for (unsigned product = 0; product < d.products; ++product)
      for (unsigned row = 0; row < d.rows; ++row)
        for (unsigned col = 0; col < d.cols; ++col) {
          const unsigned t = 4 * row + col / 2, i = col % 2;
          ptxmma::put<32>(all[t].d, i, d(row, col, product));
        }
  }
#else
  static PTXMMA_DEVICE void execute(const ptxmma::Job& job, Registers& r) {
    (void)job;
    asm volatile(
        "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=r"(r.d[0]), "=r"(r.d[1])
        : "r"(r.a[0]), "r"(r.b[0]), "r"(r.c[0]), "r"(r.c[1])
        : "memory");
  }
#endif
  static PTXMMA_DEVICE void store(const ptxmma::Job& job, unsigned t, const Registers& r) {
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = t / 4, col = 2 * (t % 4) + i;
      ptxmma::set<uint32_t>(job.d, row * 8 + col, ptxmma::take<32>(r.d, i));
    }
  }
};
}  // namespace kernels
PTXMMA_ENTRY(value__mma_sync_aligned_m8n8k16_row_col_satfinite_s32_s8_u8_s32)
