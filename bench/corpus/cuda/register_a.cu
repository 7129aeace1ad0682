// A in registers: loaded by ldmatrix, or from global memory with a conversion from bytes (mixed input types).
#include "tensor.cuh"

extern "C" __global__ void register_a(const uint4* a, const uint4* b, float* c, int steps) {
    __shared__ alignas(1024) uint4 tile_a[512], tile_b[512];
    float d[32];
    zero(d);
    for (int step = 0; step < steps; step++) {
        for (int i = threadIdx.x; i < 512; i += 128) {
            int to = (i & ~7) | ((i ^ (i >> 3)) & 7);
            tile_a[to] = a[step * 512 + i];
            tile_b[to] = b[step * 512 + i];
        }
        proxy_fence();
        __syncthreads();
        uint32_t r[4][4];
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 16, half = threadIdx.x % 32 / 16;
#pragma unroll
        for (int k = 0; k < 4; k++)
            ldmatrix(r[k], shared(tile_a) + row * 128 + ((k * 2 + half) ^ (row & 7)) * 16);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) wgmma_f16_a_n64(d, r[k], descriptor(tile_b) + 2 * k, 1);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
    store<64>(c, d, 64);
}

// int8 weights widened to bf16 in registers, as in weight-only quantised matmuls.
extern "C" __global__ void mixed_input(const char4* a, const uint4* b, float* c, int steps) {
    __shared__ alignas(1024) uint4 tile_b[2][1024];
    float d[64];
    zero(d);
    int at = threadIdx.x;
    for (int i = threadIdx.x; i < 1024; i += 128) cp_async(shared(&tile_b[0][(i & ~7) | ((i ^ (i >> 3)) & 7)]), &b[i]);
    cp_async_commit();
    for (int step = 0; step < steps; step++) {
        uint32_t r[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                char4 bytes = a[at + (step * 8 + k * 2 + j) * 128];
                __nv_bfloat162 low = __floats2bfloat162_rn(bytes.x, bytes.y), high = __floats2bfloat162_rn(bytes.z, bytes.w);
                r[k][j * 2] = *(uint32_t*)&low;
                r[k][j * 2 + 1] = *(uint32_t*)&high;
            }
        cp_async_wait<0>();
        proxy_fence();
        __syncthreads();
        if (step + 1 < steps)
            for (int i = threadIdx.x; i < 1024; i += 128)
                cp_async(shared(&tile_b[(step + 1) & 1][(i & ~7) | ((i ^ (i >> 3)) & 7)]), &b[(step + 1) * 1024 + i]);
        cp_async_commit();
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) wgmma_bf16_a_n128(d, r[k], descriptor(tile_b[step & 1]) + 2 * k, 1);
        wgmma_commit();
        wgmma_wait<0>();
    }
    store<128>(c, d, 128);
}

// The next step's fragments are fetched while this step's group is in flight; B stays in place.
template <bool BF16, class D>
__device__ inline void prefetched(const uint4* a, const uint4* b, D& d, int steps) {
    __shared__ alignas(1024) uint4 tile_b[1024];
    for (int i = threadIdx.x; i < 1024; i += 128) tile_b[(i & ~7) | ((i ^ (i >> 3)) & 7)] = b[i];
    proxy_fence();
    __syncthreads();
    uint32_t r[4][4];
    zero(d);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint4 x = a[k * 128 + threadIdx.x];
        r[k][0] = x.x, r[k][1] = x.y, r[k][2] = x.z, r[k][3] = x.w;
    }
#pragma unroll 1
    for (int step = 1; step <= steps; step++) {
        uint4 next[4];
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if constexpr (BF16)
                wgmma_bf16_a_n128(d, r[k], descriptor(tile_b) + 2 * k, 1);
            else
                wgmma_f16_a_n128(d, r[k], descriptor(tile_b) + 2 * k, 1);
        }
        wgmma_commit();
#pragma unroll
        for (int k = 0; k < 4; k++) next[k] = a[(step * 4 + k) * 128 + threadIdx.x];
        wgmma_wait<0>();
#pragma unroll
        for (int k = 0; k < 4; k++) r[k][0] = next[k].x, r[k][1] = next[k].y, r[k][2] = next[k].z, r[k][3] = next[k].w;
    }
}

extern "C" __global__ void register_a_prefetched(const uint4* a, const uint4* b, float* c, int steps) {
    float d[64];
    prefetched<false>(a, b, d, steps);
    store<128>(c, d, 128);
}

extern "C" __global__ void register_a_prefetched_bf16(const uint4* a, const uint4* b, float* c, int steps) {
    float d[64];
    prefetched<true>(a, b, d, steps);
    store<128>(c, d, 128);
}
