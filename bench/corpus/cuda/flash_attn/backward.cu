// FlashAttention-2, backward, for sm_80.
#include "flash_bwd_launch_template.h"
namespace FLASH_NAMESPACE {
using Traits = Flash_bwd_kernel_traits<64, 64, 64, 4, 2, 2, 2, false, false, cutlass::half_t>;
template __global__ void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Traits, false, true, false, false, false, true, false>(
    KERNEL_PARAM_MODIFIER const Flash_bwd_params);
}
