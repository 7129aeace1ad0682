// Every statement of tensor memory that the headers of CUTLASS know: one kernel an atom, so that none mixes
// cta_groups. The kernels are for reading and are never run.
#include <cute/arch/copy_sm100.hpp>
#include <cute/arch/mma_sm100_umma.hpp>
#include <cutlass/numeric_types.h>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

using namespace cute;
using namespace cute::SM100::TMEM::LOAD;
using namespace cute::SM100::TMEM::STORE;
using namespace cute::SM100::TMEM::UTCCP;
constexpr auto K = UMMA::Major::K;
using F16 = cutlass::half_t;
using F32 = float;
using E4M3 = cutlass::float_e4m3_t;
using E2M1 = cutlass::float_e2m1_t;
using S8 = int8_t;
using S32 = int32_t;
using UE8M0 = cutlass::float_ue8m0_t;

template <class T> __device__ T &slot(uint32_t *words, uint64_t *longs, size_t index) {
    if constexpr (sizeof(T) == 8)
        return longs[index];
    else
        return words[index];
}

template <auto F, class... A, size_t... I>
__device__ void call(void (*)(A...), uint32_t *words, uint64_t *longs, cuda::std::index_sequence<I...>) {
    F(slot<cuda::std::remove_cvref_t<A>>(words, longs, I)...);
}

template <auto F, class... A> __device__ void with(void (*pointer)(A...), uint32_t *words, uint64_t *longs) {
    call<F>(pointer, words, longs, cuda::std::make_index_sequence<sizeof...(A)>());
}

template <class Atom> __global__ void multiply(uint32_t *words, uint64_t *longs) {
    with<&Atom::fma>(&Atom::fma, words, longs);
}
template <class Atom> __global__ void move(uint32_t *words, uint64_t *longs) {
    with<&Atom::copy>(&Atom::copy, words, longs);
}

#define MULTIPLY(...) template __global__ void multiply<__VA_ARGS__>(uint32_t *, uint64_t *);
#define MOVE(...) template __global__ void move<__VA_ARGS__>(uint32_t *, uint64_t *);
#define BOTH(NAME) MOVE(SM100_TMEM_LOAD_##NAME) MOVE(SM100_TMEM_STORE_##NAME)
#define PACKED(NAME) BOTH(NAME) BOTH(NAME##_16b)
#define UP_TO_32(SHAPE) \
    PACKED(SHAPE##1x) PACKED(SHAPE##2x) PACKED(SHAPE##4x) PACKED(SHAPE##8x) PACKED(SHAPE##16x) PACKED(SHAPE##32x)
#define UP_TO_128(SHAPE) UP_TO_32(SHAPE) PACKED(SHAPE##64x) PACKED(SHAPE##128x)

UP_TO_32(16dp256b)
UP_TO_32(16dp128b) PACKED(16dp128b64x)
UP_TO_128(16dp64b)
UP_TO_128(32dp32b)

#define COPIED(SHAPE) MOVE(SM100_UTCCP_##SHAPE##_1cta) MOVE(SM100_UTCCP_##SHAPE##_2cta)
COPIED(128dp256bit)
COPIED(128dp128bit)
COPIED(4dp256bit)
COPIED(4x32dp128bit)
COPIED(2x64dp128bitlw0213)
COPIED(2x64dp128bitlw0123)

#define ATOM(NAME, ...) MULTIPLY(SM100_MMA_##NAME<__VA_ARGS__>)
ATOM(TF32_SS, F32, F32, F32, 128, 128, K, K)
ATOM(TF32_TS, F32, F32, F32, 128, 128, K, K)
ATOM(TF32_SS_SPARSE, F32, F32, F32, 128, 128, K, K)
ATOM(TF32_2x1SM_SS, F32, F32, F32, 256, 128, K, K)
ATOM(TF32_2x1SM_TS, F32, F32, F32, 256, 128, K, K)
ATOM(TF32_2x1SM_SS_SPARSE, F32, F32, F32, 256, 128, K, K)
ATOM(F16BF16_SS, F16, F16, F32, 128, 128, K, K)
ATOM(F16BF16_TS, F16, F16, F32, 128, 128, K, K)
ATOM(F16BF16_SS_SCALED, F16, F16, F32, 128, 128, K, K, 3)
ATOM(F16BF16_TS_SCALED, F16, F16, F32, 128, 128, K, K, 3)
ATOM(F16BF16_SS_SPARSE, F16, F16, F32, 128, 128, K, K)
ATOM(F16BF16_2x1SM_SS, F16, F16, F32, 256, 128, K, K)
ATOM(F16BF16_2x1SM_TS, F16, F16, F32, 256, 128, K, K)
ATOM(F16BF16_2x1SM_SS_SCALED, F16, F16, F32, 256, 128, K, K, 3)
ATOM(F16BF16_2x1SM_TS_SCALED, F16, F16, F32, 256, 128, K, K, 3)
ATOM(F16BF16_2x1SM_SS_SPARSE, F16, F16, F32, 256, 128, K, K)
ATOM(S8_SS, S8, S8, S32, 128, 128, K, K)
ATOM(S8_TS, S8, S8, S32, 128, 128, K, K)
ATOM(S8_SS_SPARSE, S8, S8, S32, 128, 128, K, K)
ATOM(S8_2x1SM_SS, S8, S8, S32, 256, 128, K, K)
ATOM(S8_2x1SM_TS, S8, S8, S32, 256, 128, K, K)
ATOM(S8_2x1SM_SS_SPARSE, S8, S8, S32, 256, 128, K, K)
ATOM(F8F6F4_TS, E4M3, E4M3, F32, 128, 128, K, K)
ATOM(F8F6F4_SS_SPARSE, E4M3, E4M3, F32, 128, 128, K, K)
ATOM(F8F6F4_2x1SM_TS, E4M3, E4M3, F32, 256, 128, K, K)
ATOM(F8F6F4_2x1SM_SS_SPARSE, E4M3, E4M3, F32, 256, 128, K, K)
MULTIPLY(SM100_MMA_F8F6F4_SS)
MULTIPLY(SM100_MMA_F8F6F4_2x1SM_SS)
ATOM(MXF8F6F4_SS, E4M3, E4M3, F32, UE8M0, 128, 128, K, K)
ATOM(MXF8F6F4_SS_SPARSE, E4M3, E4M3, F32, UE8M0, 128, 128, K, K)
ATOM(MXF8F6F4_2x1SM_SS, E4M3, E4M3, F32, UE8M0, 256, 128, K, K)
ATOM(MXF8F6F4_2x1SM_SS_SPARSE, E4M3, E4M3, F32, UE8M0, 256, 128, K, K)
ATOM(MXF4_SS, E2M1, E2M1, F32, UE8M0, 128, 128, 16, K, K)
ATOM(MXF4_SS, E2M1, E2M1, F32, UE8M0, 128, 128, 32, K, K)
ATOM(MXF4_2x1SM_SS, E2M1, E2M1, F32, UE8M0, 256, 128, 16, K, K)
ATOM(MXF4_2x1SM_SS, E2M1, E2M1, F32, UE8M0, 256, 128, 32, K, K)
ATOM(MXF4NVF4_SS_SPARSE, E2M1, E2M1, F32, UE8M0, 128, 128, 32, K, K)
ATOM(MXF4NVF4_SS_SPARSE, E2M1, E2M1, F32, UE8M0, 128, 128, 64, K, K)
ATOM(MXF4NVF4_2x1SM_SS_SPARSE, E2M1, E2M1, F32, UE8M0, 256, 128, 32, K, K)
ATOM(MXF4NVF4_2x1SM_SS_SPARSE, E2M1, E2M1, F32, UE8M0, 256, 128, 64, K, K)
