// Two accumulators, so two groups in flight, each waited for in turn; a fence hoisted out of the loop.
#include "tensor.cuh"

constexpr int TILE = 8192;
__device__ inline void product(float (&d)[32], const void* a, const void* b) {
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_f16_n64(d, descriptor(a) + 2 * k, descriptor(b) + 2 * k, 1);
}

extern "C" __global__ void two_accumulators(const unsigned char* a, const unsigned char* b, float* c, int steps) {
    __shared__ alignas(1024) unsigned char tile_a[2][TILE], tile_b[TILE];
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) barrier_init(&ready, 1);
    __syncthreads();
    float x[32], y[32];
    zero(x);
    zero(y);
    for (int step = 0; step < steps; step++) {
        if (threadIdx.x == 0) {
            barrier_expect(&ready, 3 * TILE);
            bulk_load(tile_a, a + step * 2 * TILE, 2 * TILE, &ready);
            bulk_load(tile_b, b + step * TILE, TILE, &ready);
        }
        barrier_wait(&ready, step & 1);
        wgmma_fence();
        product(x, tile_a[0], tile_b);
        wgmma_commit();
        product(y, tile_a[1], tile_b);
        wgmma_commit();
        wgmma_wait<1>();
        for (int i = 0; i < 32; i++) x[i] *= 0.5f;
        wgmma_wait<0>();
        for (int i = 0; i < 32; i++) y[i] *= 0.5f;
        __syncthreads();
    }
    store<64>(c, x, 64);
    store<64>(c + 64 * 64, y, 64);
}

// No access to the accumulators inside the loop, so one fence before it is enough; both tiles stay in place.
extern "C" __global__ void hoisted_fence(const unsigned char* a, const unsigned char* b, float* c, int steps) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) barrier_init(&ready, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(&ready, 16 * TILE);
        bulk_load(tiles, a, 8 * TILE, &ready);
        bulk_load(tiles + 8 * TILE, b, 8 * TILE, &ready);
    }
    float d[32];
    zero(d);
    barrier_wait(&ready, 0);
    wgmma_fence();
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        product(d, tiles + step % 8 * TILE, tiles + (8 + step % 8) * TILE);
        wgmma_commit();
    }
    wgmma_wait<0>();
    store<64>(c, d, 64);
}
