// FlashAttention-2, backward, for sm_80.
#include "flash_bwd_launch_template.h"
namespace FLASH_NAMESPACE {
using Wide = Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::half_t>;
using Narrow = Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>;
template __global__ void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Wide, false, false, false, false, true, true, false>(const Flash_bwd_params);
template __global__ void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Narrow, false, true, false, false, false, true, false>(const Flash_bwd_params);
}
