// FlashAttention-2, forward, for sm_80: plain, causal, a split cache.
#include "flash_fwd_launch_template.h"
namespace FLASH_NAMESPACE {
template <int D, int M, int N, typename T> using Traits = Flash_fwd_kernel_traits<D, M, N, 4, false, false, T>;
template __global__ void flash_fwd_kernel<Traits<64, 128, 128, cutlass::half_t>, false, false, false, false, true, true, false, false>(const Flash_fwd_params);
template __global__ void flash_fwd_kernel<Traits<128, 64, 64, cutlass::bfloat16_t>, false, true, false, false, false, true, false, false>(const Flash_fwd_params);
template __global__ void flash_fwd_splitkv_kernel<Traits<64, 64, 256, cutlass::half_t>, false, false, false, false, true, false, true, false>(const Flash_fwd_params);
template __global__ void flash_fwd_splitkv_kernel<Traits<128, 64, 128, cutlass::half_t>, true, false, false, false, true, false, false, true>(const Flash_fwd_params);
}
