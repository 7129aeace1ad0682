// FlashInfer's latent attention for sm_90a.
#include <flashinfer/attention/mla_hopper.cuh>
#include <flashinfer/attention/mla_params.cuh>
namespace flashinfer {
using Params = MLAParams<half, half, half, int32_t>;
template cudaError_t mla::BatchMLAPageAttentionHopper<MaskMode::kNone, 512, 64, Params>(Params, uint32_t, uint32_t, cudaStream_t);
}
