// One tile, A and B through generic stores: the smallest correct wgmma kernel.
#include "tensor.cuh"

extern "C" __global__ void single_tile(const uint4* a, const uint4* b, float* c) {
    __shared__ alignas(1024) uint4 tile_a[512], tile_b[512];
    for (int i = threadIdx.x; i < 512; i += 128) {
        int to = (i & ~7) | ((i ^ (i >> 3)) & 7);
        tile_a[to] = a[i];
        tile_b[to] = b[i];
    }
    proxy_fence();
    __syncthreads();
    float d[32];
    zero(d);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
        wgmma_f16_n64(d, descriptor(tile_a) + 2 * k, descriptor(tile_b) + 2 * k, k > 0);
    wgmma_commit();
    wgmma_wait<0>();
    store<64>(c, d, 64);
}

// The same with scale-d given as literals, and the accumulators set to the bias.
extern "C" __global__ void single_tile_bias(const uint4* a, const uint4* b, const float* bias, float* c) {
    __shared__ alignas(1024) uint4 tile_a[512], tile_b[512];
    for (int i = threadIdx.x; i < 512; i += 128) {
        int to = (i & ~7) | ((i ^ (i >> 3)) & 7);
        tile_a[to] = a[i];
        tile_b[to] = b[i];
    }
    float d[32];
    for (int i = 0; i < 32; i++) d[i] = bias[i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2];
    proxy_fence();
    __syncthreads();
    wgmma_fence();
    for (int k = 0; k < 4; k++) wgmma_f16_one_n64(d, descriptor(tile_a) + 2 * k, descriptor(tile_b) + 2 * k);
    wgmma_commit();
    wgmma_wait<0>();
    store<64>(c, d, 64);
}
