// FlashInfer's single prefill for sm_90a: fp16, heads of 128, causal.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
namespace flashinfer {
using Params = SinglePrefillParams<cutlass::half_t, cutlass::half_t, cutlass::half_t>;
template cudaError_t SinglePrefillWithKVCacheDispatched<128, 128, MaskMode::kCausal, false, DefaultAttention<false>, Params>(
    Params&, cudaStream_t);
}
