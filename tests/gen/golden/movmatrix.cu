#include "kernel.h"

#include "config.h"
#ifdef PTXMMA_STAND_IN
#include "types.h"
#endif

// movmatrix.sync.aligned.m8n8.trans.b16 (plain)
// row movmatrix/m8n8.b16, PTX ISA 9.7.14.5.17
namespace kernels {
struct value__movmatrix_sync_aligned_m8n8_trans_b16 : ptxmma::Steps {
  static constexpr unsigned threads = 32, words = 21, a_bytes = 256, b_bytes = 0, c_bytes = 0, d_bytes = 384, meta_bytes = 0;
  struct Registers {
    uint32_t d[1];
    uint32_t a[1];
  };
  static PTXMMA_DEVICE void load(const ptxmma::Job& job, unsigned t, Registers& r) {
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = 8 * (i / 2) + t / 4, col = 2 * (t % 4) + i % 2;
      ptxmma::put<16>(r.a, i, ptxmma::get<uint32_t>(job.a, row * 8 + col));
    }
  }
#ifdef PTXMMA_STAND_IN
  static void stand_in(ptxmma::Block<value__movmatrix_sync_aligned_m8n8_trans_b16>& all) {
    ptxmma::Tile a(8, 8, 1);
    for (unsigned product = 0; product < a.products; ++product)
      for (unsigned row = 0; row < a.rows; ++row)
        for (unsigned col = 0; col < a.cols; ++col) {
          const unsigned t = 4 * row + col / 2, i = col % 2;
          a(row, col, product) = ptxmma::take<16>(all[t].a, i);
        }
    ptxmma::Tile d(8, 8, 1);
    for (size_t i = 0; i < d.elements.size(); ++i) {
      d.elements[i] = a.elements[i];
    }
    for (auto& r : all.registers) std::memset(r.d, 0, sizeof r.d);
    for (unsigned product = 0; product < d.products; ++product)
      for (unsigned row = 0; row < d.rows; ++row)
        for (unsigned col = 0; col < d.cols; ++col) {
          const unsigned t = 4 * col + row / 2, i = row % 2;
          ptxmma::put<16>(all[t].d, i, d(row, col, product));
        }
  }
#else
  static PTXMMA_DEVICE void execute(const ptxmma::Job& job, Registers& r) {
    (void)job;
    asm volatile(
        "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
        : "=r"(r.d[0])
        : "r"(r.a[0])
        : "memory");
  }
#endif
  static PTXMMA_DEVICE void store(const ptxmma::Job& job, unsigned t, const Registers& r) {
    PTXMMA_UNROLL
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = 8 * (i / 2) + 2 * (t % 4) + i % 2, col = t / 4;
      ptxmma::set<uint32_t>(job.d, row * 8 + col, ptxmma::take<16>(r.d, i));
    }
  }
};
}  // namespace kernels
PTXMMA_ENTRY(value__movmatrix_sync_aligned_m8n8_trans_b16)
