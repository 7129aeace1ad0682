// mma.sync with ldmatrix: a cp.async pipeline, and attention in registers.
#include "tensor.cuh"

extern "C" __global__ __launch_bounds__(128) void warp_mma(const half* a, const half* b, half* c, int n, int k) {
    constexpr int STAGES = 3;
    __shared__ alignas(128) half tile_a[STAGES][64][40], tile_b[STAGES][32][72];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    auto load = [&](int step) {
        int s = step % STAGES;
        for (int i = threadIdx.x; i < 256; i += 128) {
            cp_async(shared(&tile_a[s][i / 4][i % 4 * 8]), &a[(blockIdx.y * 64 + i / 4) * k + step * 32 + i % 4 * 8]);
            cp_async(shared(&tile_b[s][i / 8][i % 8 * 8]), &b[(step * 32 + i / 8) * n + blockIdx.x * 64 + i % 8 * 8]);
        }
    };
    float d[8][4];
    for (auto& x : d) zero(x);
    for (int s = 0; s < STAGES - 1; s++) {
        load(s);
        cp_async_commit();
    }
    for (int step = 0; step < k / 32; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < k / 32) load(step + STAGES - 1);
        cp_async_commit();
#pragma unroll
        for (int i = 0; i < 2; i++) {
            uint32_t x[4];
            ldmatrix(x, shared(&tile_a[step % STAGES][warp * 16 + lane % 16][i * 16 + lane / 16 * 8]));
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                uint32_t y[4];
                ldmatrix_trans(y, shared(&tile_b[step % STAGES][i * 16 + lane % 16][j * 8 + lane / 16 * 8]));
                mma_16816(d[j], x, y[0], y[1]);
                mma_16816(d[j + 1], x, y[2], y[3]);
            }
        }
    }
    for (int j = 0; j < 8; j++)
        for (int h = 0; h < 2; h++)
            *(uint32_t*)&c[(blockIdx.y * 64 + warp * 16 + lane / 4 + h * 8) * n + blockIdx.x * 64 + j * 8 + lane % 4 * 2] =
                pack(d[j][2 * h], d[j][2 * h + 1]);
}

extern "C" __global__ void warp_attention(const half* q, const half* k, const half* v, half* out, int length) {
    __shared__ alignas(128) half tile_k[64][72], tile_v[64][72];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint32_t fq[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            fq[i][j] = *(const uint32_t*)&q[(blockIdx.x * 64 + warp * 16 + lane / 4 + j % 2 * 8) * 64 + i * 16 + j / 2 * 8 + lane % 4 * 2];
    float o[8][4], top[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
    for (auto& x : o) zero(x);
    for (int block = 0; block < length; block += 64) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            cp_async(shared(&tile_k[i / 8][i % 8 * 8]), &k[(block + i / 8) * 64 + i % 8 * 8]);
            cp_async(shared(&tile_v[i / 8][i % 8 * 8]), &v[(block + i / 8) * 64 + i % 8 * 8]);
        }
        asm volatile("cp.async.wait_all;\n" ::: "memory");
        __syncthreads();
        float s[8][4];
        for (auto& x : s) zero(x);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 8; j += 2) {
                uint32_t y[4];
                ldmatrix(y, shared(&tile_k[j * 8 + lane % 8 + lane / 16 * 8][i * 16 + lane / 8 % 2 * 8]));
                mma_16816(s[j], fq[i], y[0], y[1]);
                mma_16816(s[j + 1], fq[i], y[2], y[3]);
            }
        for (int h = 0; h < 2; h++) {
            float old = top[h], part = 0;
            for (auto& x : s) top[h] = fmaxf(top[h], fmaxf(x[2 * h], x[2 * h + 1]));
            top[h] = fmaxf(top[h], __shfl_xor_sync(~0u, top[h], 1));
            top[h] = fmaxf(top[h], __shfl_xor_sync(~0u, top[h], 2));
            for (auto& x : s)
                for (int e = 0; e < 2; e++) part += x[2 * h + e] = exp2f(x[2 * h + e] - top[h]);
            part += __shfl_xor_sync(~0u, part, 1);
            part += __shfl_xor_sync(~0u, part, 2);
            float factor = exp2f(old - top[h]);
            sum[h] = sum[h] * factor + part;
            for (auto& x : o)
                for (int e = 0; e < 2; e++) x[2 * h + e] *= factor;
        }
        for (int i = 0; i < 4; i++) {
            uint32_t p[4] = {pack(s[2 * i][0], s[2 * i][1]), pack(s[2 * i][2], s[2 * i][3]), pack(s[2 * i + 1][0], s[2 * i + 1][1]),
                             pack(s[2 * i + 1][2], s[2 * i + 1][3])};
            for (int j = 0; j < 8; j += 2) {
                uint32_t y[4];
                ldmatrix_trans(y, shared(&tile_v[i * 16 + lane % 16][j * 8 + lane / 16 * 8]));
                mma_16816(o[j], p, y[0], y[1]);
                mma_16816(o[j + 1], p, y[2], y[3]);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++)
        for (int h = 0; h < 2; h++)
            *(uint32_t*)&out[(blockIdx.x * 64 + warp * 16 + lane / 4 + h * 8) * 64 + j * 8 + lane % 4 * 2] =
                pack(o[j][2 * h] / sum[h], o[j][2 * h + 1] / sum[h]);
}

// Only the first warp multiplies; its lanes agree, so the branch is uniform within the warp.
extern "C" __global__ void one_warp_mma(const uint32_t* a, const uint32_t* b, float* c) {
    int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    if (warp == 0) {
        float d[4] = {0, 0, 0, 0};
        uint32_t x[4] = {a[lane], a[32 + lane], a[64 + lane], a[96 + lane]};
        mma_16816(d, x, b[lane], b[32 + lane]);
        for (int i = 0; i < 4; i++) c[i * 32 + lane] = d[i];
    }
}
