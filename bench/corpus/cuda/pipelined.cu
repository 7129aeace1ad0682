// A software pipeline over cp.async stages: one group of wgmma stays in flight across the back edge.
#include "tensor.cuh"

constexpr int STAGES = 4;

__device__ inline void load(uint4* a, uint4* b, const uint4* from_a, const uint4* from_b) {
    for (int i = threadIdx.x; i < 512; i += 128) cp_async(shared(&a[(i & ~7) | ((i ^ (i >> 3)) & 7)]), &from_a[i]);
    for (int i = threadIdx.x; i < 1024; i += 128) cp_async(shared(&b[(i & ~7) | ((i ^ (i >> 3)) & 7)]), &from_b[i]);
    cp_async_commit();
}

template <class Multiply, class D, int N>
__device__ inline void pipeline(const uint4* a, const uint4* b, D (&d)[N], int steps, Multiply multiply) {
    extern __shared__ uint4 stages[];
    auto tile_a = [&](int s) { return stages + s % STAGES * 1536; };
    auto tile_b = [&](int s) { return stages + s % STAGES * 1536 + 512; };
    for (int s = 0; s < STAGES - 2; s++) load(tile_a(s), tile_b(s), a + s * 512, b + s * 1024);
    zero(d);
    for (int step = 0; step < steps; step++) {
        cp_async_wait<STAGES - 3>();
        proxy_fence();
        __syncthreads();
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) multiply(d, descriptor(tile_a(step)) + 2 * k, descriptor(tile_b(step)) + 2 * k);
        wgmma_commit();
        wgmma_wait<1>();
        __syncthreads();  // every warp has done with the stage of the step before
        int next = step + STAGES - 2;
        if (next < steps)
            load(tile_a(next), tile_b(next), a + next * 512, b + next * 1024);
        else
            cp_async_commit();
    }
    wgmma_wait<0>();
}

extern "C" __global__ void pipelined(const uint4* a, const uint4* b, float* c, int steps) {
    float d[64];
    pipeline(a, b, d, steps, [](float (&d)[64], uint64_t a, uint64_t b) { wgmma_f16_n128(d, a, b, 1); });
    store<128>(c, d, 128);
}

extern "C" __global__ void pipelined_bf16(const uint4* a, const uint4* b, float* c, int steps) {
    float d[64];
    pipeline(a, b, d, steps, [](float (&d)[64], uint64_t a, uint64_t b) { wgmma_bf16_n128(d, a, b, 1); });
    store<128>(c, d, 128);
}

extern "C" __global__ void pipelined_half_accumulator(const uint4* a, const uint4* b, uint32_t* c, int steps) {
    uint32_t d[32];
    pipeline(a, b, d, steps, [](uint32_t (&d)[32], uint64_t a, uint64_t b) { wgmma_f16_acc16_n128(d, a, b, 1); });
    for (int i = 0; i < 32; i++) c[i * 128 + threadIdx.x] = d[i];
}

extern "C" __global__ void pipelined_tf32(const uint4* a, const uint4* b, float* c, int steps) {
    float d[32];
    pipeline(a, b, d, steps, [](float (&d)[32], uint64_t a, uint64_t b) { wgmma_tf32_n64(d, a, b, 1); });
    store<64>(c, d, 64);
}

extern "C" __global__ void pipelined_s8(const uint4* a, const uint4* b, int* c, int steps) {
    int d[32];
    pipeline(a, b, d, steps, [](int (&d)[32], uint64_t a, uint64_t b) { wgmma_s8_n64(d, a, b, 1); });
    for (int i = 0; i < 32; i++) c[i * 128 + threadIdx.x] = d[i];
}
