// Two chained GEMMs with a softmax between them: P goes from accumulators to A registers.
#include "tensor.cuh"

__device__ inline float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ inline float row_sum(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

struct State { float top[2] = {-1e30f, -1e30f}, sum[2] = {0, 0}; };

// The online softmax of one block of scores; gives the factor of what was summed before.
__device__ inline void softmax(float (&s)[32], State& state, float (&factor)[2]) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float top = state.top[r], sum = 0;
#pragma unroll
        for (int i = 0; i < 32; i += 4) top = fmaxf(top, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
        top = row_max(top);
        factor[r] = exp2f(state.top[r] - top);
        state.top[r] = top;
#pragma unroll
        for (int i = 0; i < 32; i += 4)
#pragma unroll
            for (int j = 0; j < 2; j++) sum += s[i + 2 * r + j] = exp2f(s[i + 2 * r + j] - top);
        state.sum[r] = state.sum[r] * factor[r] + row_sum(sum);
    }
}
__device__ inline void scale(float (&o)[32], const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < 32; i++) o[i] *= factor[i / 2 % 2];
}
__device__ inline void fragments(uint32_t (&p)[4][4], const float (&s)[32]) {
#pragma unroll
    for (int i = 0; i < 16; i++) p[i / 4][i % 4] = pack(s[2 * i], s[2 * i + 1]);
}
__device__ inline void scores(float (&s)[32], const void* q, const void* k) {
#pragma unroll
    for (int i = 0; i < 4; i++) wgmma_f16_n64(s, descriptor(q) + 2 * i, descriptor(k) + 2 * i, i > 0);
}
__device__ inline void values(float (&o)[32], const uint32_t (&p)[4][4], const void* v) {
#pragma unroll
    for (int i = 0; i < 4; i++) wgmma_f16_a_n64(o, p[i], descriptor(v) + 2 * i, 1);
}

constexpr int TILE = 8192;

// Every group is waited for at once.
extern "C" __global__ void attention(const unsigned char* q, const unsigned char* k, const unsigned char* v, float* out, int blocks) {
    __shared__ alignas(1024) unsigned char tile_q[TILE], tile_k[TILE], tile_v[TILE];
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) barrier_init(&ready, 1);
    __syncthreads();
    float o[32];
    zero(o);
    State state;
    for (int block = 0; block < blocks; block++) {
        if (threadIdx.x == 0) {
            barrier_expect(&ready, block ? 2 * TILE : 3 * TILE);
            if (block == 0) bulk_load(tile_q, q, TILE, &ready);
            bulk_load(tile_k, k + block * TILE, TILE, &ready);
            bulk_load(tile_v, v + block * TILE, TILE, &ready);
        }
        barrier_wait(&ready, block & 1);
        float s[32], factor[2];
        uint32_t p[4][4];
        wgmma_fence();
        scores(s, tile_q, tile_k);
        wgmma_commit();
        wgmma_wait<0>();
        softmax(s, state, factor);
        scale(o, factor);
        fragments(p, s);
        wgmma_fence();
        values(o, p, tile_v);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 32; i++) o[i] /= state.sum[i / 2 % 2];
    store<64>(out, o, 64);
}

// The scores of the next block are computed while the softmax of this one runs: two groups in flight.
extern "C" __global__ void attention_overlapped(const unsigned char* q, const unsigned char* k, const unsigned char* v, float* out,
                                                int blocks) {
    __shared__ alignas(1024) unsigned char tile_q[TILE], tile_k[2][TILE], tile_v[2][TILE];
    __shared__ uint64_t ready_k[2], ready_v[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            barrier_init(&ready_k[i], 1);
            barrier_init(&ready_v[i], 1);
        }
    __syncthreads();
    auto load_k = [&](int block) {
        barrier_expect(&ready_k[block & 1], block ? TILE : 2 * TILE);
        if (block == 0) bulk_load(tile_q, q, TILE, &ready_k[0]);
        bulk_load(tile_k[block & 1], k + block * TILE, TILE, &ready_k[block & 1]);
    };
    auto load_v = [&](int block) {
        barrier_expect(&ready_v[block & 1], TILE);
        bulk_load(tile_v[block & 1], v + block * TILE, TILE, &ready_v[block & 1]);
    };
    if (threadIdx.x == 0) {
        load_k(0);
        load_v(0);
        if (blocks > 1) load_k(1);
    }
    float o[32], s[32], factor[2];
    uint32_t p[4][4];
    zero(o);
    State state;
    barrier_wait(&ready_k[0], 0);
    wgmma_fence();
    scores(s, tile_q, tile_k[0]);
    wgmma_commit();
    wgmma_wait<0>();
    softmax(s, state, factor);
    fragments(p, s);
    for (int block = 1; block < blocks; block++) {
        float next[32];
        if (threadIdx.x == 0) load_v(block);
        barrier_wait(&ready_k[block & 1], block / 2 & 1);
        wgmma_fence();
        scores(next, tile_q, tile_k[block & 1]);
        wgmma_commit();
        barrier_wait(&ready_v[(block - 1) & 1], (block - 1) / 2 & 1);
        values(o, p, tile_v[(block - 1) & 1]);
        wgmma_commit();
        wgmma_wait<1>();
        softmax(next, state, factor);
        wgmma_wait<0>();
        __syncthreads();
        if (threadIdx.x == 0 && block + 1 < blocks) load_k(block + 1);
        scale(o, factor);
        fragments(p, next);
    }
    barrier_wait(&ready_v[(blocks - 1) & 1], (blocks - 1) / 2 & 1);
    wgmma_fence();
    values(o, p, tile_v[(blocks - 1) & 1]);
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 32; i++) o[i] /= state.sum[i / 2 % 2];
    store<64>(out, o, 64);
}
