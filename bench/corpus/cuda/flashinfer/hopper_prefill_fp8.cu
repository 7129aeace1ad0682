// FlashInfer's single prefill of e4m3 for sm_90a: heads of 128.
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/quantization/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
namespace flashinfer {
struct Fp8Params : SinglePrefillParams<cutlass::float_e4m3_t, cutlass::float_e4m3_t, cutlass::half_t> {
  struct AdditionalParams {
    float *maybe_scale_q, *maybe_scale_k, *maybe_scale_v;
    float scale_q_scalar, scale_k_scalar, scale_v_scalar, sm_scale;
  } additional_params;
};
template cudaError_t SingleFP8PrefillWithKVCacheDispatched<128, MaskMode::kNone, false, DefaultFP8Attention, Fp8Params>(
    Fp8Params&, cudaStream_t);
}
