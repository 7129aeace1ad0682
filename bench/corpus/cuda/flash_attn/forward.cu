// FlashAttention-2, forward, for sm_80: causal, and over a split cache.
#include "flash_fwd_launch_template.h"
namespace FLASH_NAMESPACE {
template <int D, int M, int N, typename T> using Traits = Flash_fwd_kernel_traits<D, M, N, 4, false, false, T>;
template __global__ void flash_fwd_kernel<Traits<64, 128, 64, cutlass::half_t>, false, true, false, false, false, true, false, false>(
    KERNEL_PARAM_MODIFIER const Flash_fwd_params);
template __global__ void flash_fwd_splitkv_kernel<Traits<64, 64, 64, cutlass::half_t>, false, false, false, false, true, false, true, false>(
    KERNEL_PARAM_MODIFIER const Flash_fwd_params);
}
