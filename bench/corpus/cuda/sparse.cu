// Structured sparsity: wgmma.mma_async.sp and mma.sp with metadata from memory.
#include "tensor.cuh"

extern "C" __global__ void sparse_f16(const uint4* a, const uint4* b, const uint32_t* metadata, float* c, int steps) {
    __shared__ alignas(1024) uint4 tile_a[512], tile_b[1024];
    float d[32];
    zero(d);
    for (int step = 0; step < steps; step++) {
        for (int i = threadIdx.x; i < 512; i += 128) tile_a[(i & ~7) | ((i ^ (i >> 3)) & 7)] = a[step * 512 + i];
        for (int i = threadIdx.x; i < 1024; i += 128) tile_b[(i & ~7) | ((i ^ (i >> 3)) & 7)] = b[step * 1024 + i];
        proxy_fence();
        __syncthreads();
        uint32_t e[4];
        for (int k = 0; k < 4; k++) e[k] = metadata[(step * 4 + k) * 128 + threadIdx.x];
        wgmma_fence();
        for (int k = 0; k < 4; k++)
            wgmma_sp_f16_n64(d, descriptor(tile_a) + 2 * k, descriptor(tile_b + (k / 2) * 512) + 4 * (k & 1), e[k], 1);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
    store<64>(c, d, 64);
}

extern "C" __global__ void sparse_s8(const uint4* a, const uint4* b, const uint32_t* metadata, int* c) {
    __shared__ alignas(1024) uint4 tile_a[512], tile_b[1024];
    int d[32];
    for (int i = threadIdx.x; i < 512; i += 128) tile_a[(i & ~7) | ((i ^ (i >> 3)) & 7)] = a[i];
    for (int i = threadIdx.x; i < 1024; i += 128) tile_b[(i & ~7) | ((i ^ (i >> 3)) & 7)] = b[i];
    uint32_t e = metadata[threadIdx.x], f = metadata[128 + threadIdx.x];
    proxy_fence();
    __syncthreads();
    wgmma_fence();
    wgmma_sp_s8_n64(d, descriptor(tile_a), descriptor(tile_b), e, 0);
    wgmma_sp_s8_n64(d, descriptor(tile_a) + 2, descriptor(tile_b) + 4, f, 1);
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < 32; i++) c[i * 128 + threadIdx.x] = d[i];
}

extern "C" __global__ void sparse_mma(const uint32_t* a, const uint32_t* b, const uint32_t* metadata, float* c, int steps) {
    float d[4] = {0, 0, 0, 0};
    int lane = threadIdx.x % 32;
    for (int step = 0; step < steps; step++) {
        const uint32_t *x = a + step * 128 + lane * 4, *y = b + step * 128 + lane * 4;
        asm volatile(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, "
            "%10, %11}, {%0, %1, %2, %3}, %12, 0x0;\n"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]),
              "r"(metadata[step * 32 + lane]));
    }
    for (int i = 0; i < 4; i++) c[i * 32 + lane] = d[i];
}
