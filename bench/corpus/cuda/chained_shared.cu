// Two GEMMs chained through shared memory: the first one's result is stored by threads, then read by the async proxy.
#include "tensor.cuh"

constexpr int TILE = 8192;

extern "C" __global__ void chained_shared(const unsigned char* x, const unsigned char* up, const unsigned char* down, float* c,
                                          int steps) {
    __shared__ alignas(1024) unsigned char tile_x[TILE], tile_up[TILE], tile_down[TILE], hidden[TILE];
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) barrier_init(&ready, 1);
    __syncthreads();
    float o[32];
    zero(o);
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 16, half = threadIdx.x % 32 / 16;
    for (int step = 0; step < steps; step++) {
        if (threadIdx.x == 0) {
            barrier_expect(&ready, step ? 2 * TILE : 3 * TILE);
            if (step == 0) bulk_load(tile_x, x, TILE, &ready);
            bulk_load(tile_up, up + step * TILE, TILE, &ready);
            bulk_load(tile_down, down + step * TILE, TILE, &ready);
        }
        barrier_wait(&ready, step & 1);
        float h[32];
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) wgmma_f16_n64(h, descriptor(tile_x) + 2 * k, descriptor(tile_up) + 2 * k, k > 0);
        wgmma_commit();
        wgmma_wait<0>();
#pragma unroll
        for (int i = 0; i < 32; i++) h[i] = fmaxf(h[i], 0);
#pragma unroll
        for (int i = 0; i < 4; i++)
            stmatrix(shared(hidden) + row * 128 + ((i * 2 + half) ^ (row & 7)) * 16, pack(h[8 * i], h[8 * i + 1]),
                     pack(h[8 * i + 2], h[8 * i + 3]), pack(h[8 * i + 4], h[8 * i + 5]), pack(h[8 * i + 6], h[8 * i + 7]));
        proxy_fence();
        __syncthreads();
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) wgmma_f16_n64(o, descriptor(hidden) + 2 * k, descriptor(tile_down) + 2 * k, 1);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
    store<64>(c, o, 64);
}
