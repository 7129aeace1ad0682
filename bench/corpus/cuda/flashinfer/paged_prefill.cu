// FlashInfer's batched prefill over a paged cache for sm_80 and later: bf16, heads of 128, tiles of 64 queries.
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>
namespace flashinfer {
using Params = BatchPrefillPagedParams<nv_bfloat16, nv_bfloat16, nv_bfloat16, int32_t>;
template cudaError_t BatchPrefillWithPagedKVCacheDispatched<true, 64, 128, 128, PosEncodingMode::kNone, false, MaskMode::kCausal,
                                                            DefaultAttention<false, false, false, false>, Params>(
    Params, nv_bfloat16*, float*, bool, cudaStream_t);
}
