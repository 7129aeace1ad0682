// FlashInfer's batched prefill over a paged cache for sm_90a: bf16, heads of 64.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
namespace flashinfer {
using Params = BatchPrefillPagedParams<cutlass::bfloat16_t, cutlass::bfloat16_t, cutlass::bfloat16_t, int32_t>;
template cudaError_t BatchPrefillWithPagedKVCacheDispatched<64, 64, MaskMode::kNone, false, true, DefaultAttention<false>, Params>(
    Params&, bool, cudaStream_t);
}
