// Kernels of vLLM's Marlin: weights of 4 and 8 bits, of which each warp makes fragments in registers.
#include "kernel.h"
#include "marlin_template.h"

namespace MARLIN_NAMESPACE_NAME {

#define MARLIN(A, B, S, THREADS, M, N, K, M8, STAGES, GROUP)                                                          \
    template __global__ void Marlin<vllm::A.id(), vllm::B.id(), vllm::A.id(), vllm::S.id(), THREADS, M, N, K, M8, \
                                    STAGES, GROUP, false>(MARLIN_KERNEL_PARAMS)

MARLIN(kFloat16, kU4B8, kFloat16, 256, 1, 8, 8, true, 4, 8);
MARLIN(kFloat16, kU4B8, kFloat16, 256, 4, 16, 4, false, 4, -1);
MARLIN(kBFloat16, kU4, kBFloat16, 128, 2, 8, 4, false, 4, 4);
MARLIN(kBFloat16, kU8B128, kBFloat16, 128, 1, 4, 8, false, 4, 8);
MARLIN(kFloat16, kFE4M3fn, kFloat16, 256, 3, 16, 4, false, 4, -1);

}  // namespace MARLIN_NAMESPACE_NAME
