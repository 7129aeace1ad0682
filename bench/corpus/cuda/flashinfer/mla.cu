// FlashInfer's latent attention for sm_80 and later.
#include <flashinfer/attention/mla.cuh>
#include <flashinfer/attention/mla_params.cuh>
namespace flashinfer {
using Params = MLAParams<half, half, half, int32_t>;
template cudaError_t mla::BatchMLAPagedAttention<MaskMode::kNone, 512, 64, Params>(Params, uint32_t, uint32_t, cudaStream_t);
}
