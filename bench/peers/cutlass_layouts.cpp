// Prints what CUTLASS's layouts map every coordinate to: a line a layout, its name and then the numbers, the
// last coordinate fastest. cutlass_layouts.py says what the coordinates and the numbers are.
#include <cstdio>

#include <cute/tensor.hpp>
#include <cute/atom/copy_traits_sm100.hpp>
#include <cute/atom/mma_traits_sm100.hpp>
#include <cute/atom/mma_traits_sm120.hpp>
#include <cute/atom/mma_traits_sm120_sparse.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/atom/mma_traits_sm90_gmma_sparse.hpp>

using namespace cute;

template <class F>
void table(char const* name, int a, int b, int c, F const& at) {
  std::printf("%s", name);
  for (int i = 0; i < a; ++i)
    for (int j = 0; j < b; ++j)
      for (int k = 0; k < c; ++k) std::printf(" %lld", (long long)at(i, j, k));
  std::printf("\n");
}

// Scale factors: (copy, row, factor) to an address in elements of 8 bits.
template <int MN, int VS, int NSF, bool A>
void scale(char const* name) {
  auto t = UMMA::tmem_sf_frg<uint8_t, VS, 1, A>::make(Shape<Shape<Int<MN>, Shape<Int<VS>, Int<NSF>>>, _1, _1>{});
  auto at = [&](int copy, int row, int factor) {
    return t.layout()(make_coord(make_coord(make_coord(row, copy), make_coord(0, factor)), 0, 0));
  };
  table(name, 4, MN, NSF, at);
}

// The same in two halves: (copy, row, factor).
template <int MN, int VS, int NSF>
void scale_halves(char const* name) {
  constexpr auto mode = UMMA::TmemAllocMode::ScaleFactorDuplicated2by2;
  auto t = UMMA::tmem_sf_frg<uint8_t, VS, 2, false, mode>::make(
      Shape<Shape<Int<MN>, Shape<Int<VS>, Int<NSF>>>, _1, _1>{});
  auto at = [&](int copy, int row, int factor) {
    auto place = make_coord(row % (MN / 2), row / (MN / 2), copy);
    return t.layout()(make_coord(make_coord(place, make_coord(0, factor)), 0, 0));
  };
  table(name, 2, MN, NSF, at);
}

// Metadata in tensor memory: (copy, row, k) to an address in units of the bits of one k.
template <class T, int K>
void metadata(char const* name) {
  auto t = UMMA::tmem_e_frg<T>::make(Shape<Shape<_128, Int<K>>, _1, _1>{});
  table(name, 1, 128, K, [&](int, int row, int k) { return t.layout()(make_coord(make_coord(row, k), 0, 0)); });
}

template <class T, int M, int K>
void metadata_ws(char const* name) {
  auto t = UMMA::tmem_e_frg_ws<T>::make(Shape<Shape<Int<M>, Int<K>>, _1, _1>{});
  auto at = [&](int copy, int row, int k) {
    if constexpr (sizeof_bits_v<T> == 8) {
      return t.layout()(make_coord(make_coord(row, make_coord(k, copy)), 0, 0));
    } else {
      return t.layout()(make_coord(make_coord(row, k, copy), 0, 0));
    }
  };
  table(name, 128 / M, M, K, at);
}

// A copy into tensor memory: value to its address in bits, and the same line with _from: to its source.
template <class Op, int Values>
void copied(char const* name, char const* from) {
  using Traits = Copy_Traits<Op>;
  auto to = composition(typename Traits::ValID{}, typename Traits::DstLayout{});
  table(name, 1, 1, Values, [&](int, int, int v) { return to(0, v); });
  table(from, 1, 1, Values, [&](int, int, int v) { return typename Traits::SrcLayout{}(0, v); });
}

// A fragment: (thread, value) to row + rows * k.
template <class L>
void fragment(char const* name, int threads, int values) {
  table(name, 1, threads, values, [&](int, int t, int v) { return L{}(t, v); });
}

// A matrix of shared memory, tiled by an atom: (x, k) to an element, without the swizzle.
template <class Atom, int X, int K>
void tiled(char const* name) {
  auto atom = Atom{}.layout_b();
  auto whole = tile_to_shape(atom, Shape<Int<X>, Int<K>>{});
  table(name, 1, X, K, [&](int, int x, int k) { return whole(x, k); });
}

int main() {
  scale<128, 32, 1, true>("scale-a.1X.128");
  scale<128, 32, 2, true>("scale-a.2X.128");
  scale<128, 16, 4, true>("scale-a.4X.128");
  scale<128, 32, 1, false>("scale-b.1X.128");
  scale<256, 32, 1, false>("scale-b.1X.256");
  scale<128, 32, 2, false>("scale-b.2X.128");
  scale<256, 32, 2, false>("scale-b.2X.256");
  scale<128, 16, 4, false>("scale-b.4X.128");
  scale<256, 16, 4, false>("scale-b.4X.256");
  scale_halves<128, 16, 4>("scale-b.4X.B.128");
  scale_halves<256, 16, 4>("scale-b.4X.B.256");

  metadata<uint16_t, 32>("metadata.16b");
  metadata<uint32_t, 16>("metadata.tf32");
  metadata<uint8_t, 64>("metadata.8b");
  metadata_ws<uint16_t, 32, 32>("metadata.16b.ws.32");
  metadata_ws<uint16_t, 64, 32>("metadata.16b.ws.64");
  metadata_ws<uint32_t, 32, 16>("metadata.tf32.ws.32");
  metadata_ws<uint32_t, 64, 16>("metadata.tf32.ws.64");
  metadata_ws<uint8_t, 32, 64>("metadata.8b.ws.32");
  metadata_ws<uint8_t, 64, 64>("metadata.8b.ws.64");

  using namespace SM100::TMEM::UTCCP;
  copied<SM100_UTCCP_128dp256bit_1cta, 32768>("cp.128x256b", "cp.128x256b_from");
  copied<SM100_UTCCP_128dp128bit_1cta, 16384>("cp.128x128b", "cp.128x128b_from");
  copied<SM100_UTCCP_4dp256bit_1cta, 1024>("cp.4x256b", "cp.4x256b_from");
  copied<SM100_UTCCP_4x32dp128bit_1cta, 16384>("cp.32x128b", "cp.32x128b_from");
  copied<SM100_UTCCP_2x64dp128bitlw0213_1cta, 16384>("cp.64x128b.02_13", "cp.64x128b.02_13_from");
  copied<SM100_UTCCP_2x64dp128bitlw0123_1cta, 16384>("cp.64x128b.01_23", "cp.64x128b.01_23_from");

  fragment<SM90::GMMA::ELayout_64x32>("wgmma.metadata.16b", 128, 32);
  fragment<SM90::GMMA::ELayout_64x16>("wgmma.metadata.tf32", 128, 16);
  fragment<SM90::GMMA::ELayout_64x64>("wgmma.metadata.8b", 128, 32);
  using Sparse = MMA_Traits<SM120::SPARSE::SM120_SPARSE_16x8x64_TN<float_e4m3_t, float_e4m3_t, float>>;
  fragment<Sparse::ELayout>("mma.metadata.narrow.all", 32, 32);

  using Wide = MMA_Traits<
      SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 32>>;
  using Narrow = MMA_Traits<
      SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue8m0_t, 32>>;
  fragment<Wide::SFALayout>("mma.scale-a.32", 32, 32);
  fragment<Wide::SFBLayout>("mma.scale-b.32", 32, 32);
  fragment<Narrow::SFALayout>("mma.scale-a.64", 32, 64);
  fragment<Narrow::SFBLayout>("mma.scale-b.64", 32, 64);

  tiled<UMMA::Layout_MN_INTER_Atom<uint16_t>, 256, 32>("smem.mn.16.2");
  tiled<UMMA::Layout_MN_SW32_Atom<uint16_t>, 256, 32>("smem.mn.32.2");
  tiled<UMMA::Layout_MN_SW64_Atom<uint16_t>, 256, 32>("smem.mn.64.2");
  tiled<UMMA::Layout_MN_SW128_Atom<uint16_t>, 256, 32>("smem.mn.128.2");
  tiled<UMMA::Layout_MN_INTER_Atom<uint8_t>, 256, 64>("smem.mn.16.1");
  tiled<UMMA::Layout_MN_SW32_Atom<uint8_t>, 256, 64>("smem.mn.32.1");
  tiled<UMMA::Layout_MN_SW64_Atom<uint8_t>, 256, 64>("smem.mn.64.1");
  tiled<UMMA::Layout_MN_SW128_Atom<uint8_t>, 256, 64>("smem.mn.128.1");
  tiled<UMMA::Layout_MN_SW128_32B_Atom<uint32_t>, 256, 16>("smem.atom32");
  tiled<GMMA::Layout_K_INTER_Atom<uint16_t>, 256, 32>("smem.k.16.2");
  tiled<GMMA::Layout_K_SW32_Atom<uint16_t>, 256, 32>("smem.k.32.2");
  tiled<GMMA::Layout_K_SW64_Atom<uint16_t>, 256, 32>("smem.k.64.2");
  tiled<GMMA::Layout_MN_INTER_Atom<uint16_t>, 256, 32>("smem.wgmma.mn.16.2");
  tiled<GMMA::Layout_MN_SW32_Atom<uint16_t>, 256, 32>("smem.wgmma.mn.32.2");
  tiled<GMMA::Layout_MN_SW64_Atom<uint16_t>, 256, 32>("smem.wgmma.mn.64.2");
  tiled<GMMA::Layout_MN_SW128_Atom<uint16_t>, 256, 32>("smem.wgmma.mn.128.2");
}
