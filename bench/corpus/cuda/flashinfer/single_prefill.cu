// FlashInfer's single prefill for sm_80 and later: fp16, heads of 64, causal.
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>
namespace flashinfer {
template cudaError_t SinglePrefillWithKVCacheDispatched<64, 64, PosEncodingMode::kNone, false, MaskMode::kCausal,
                                                        DefaultAttention<false, false, false, false>,
                                                        SinglePrefillParams<half, half, half>>(
    SinglePrefillParams<half, half, half>, half*, cudaStream_t);
}
