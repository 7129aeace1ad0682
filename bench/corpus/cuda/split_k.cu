// Split K with atomic adds, a runtime number of groups, and the first product peeled from the loop.
#include "tensor.cuh"

constexpr int STAGES = 5, BYTES = 64 * 128 + 64 * 128;

extern "C" __global__ void split_k(const unsigned char* a, const unsigned char* b, float* c, int total) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES];
    int begin = total * blockIdx.z / gridDim.z, end = total * (blockIdx.z + 1) / gridDim.z;
    if (begin == end) return;
    if (threadIdx.x == 0)
        for (auto& x : full) barrier_init(&x, 1);
    __syncthreads();
    auto load = [&](int step) {
        int s = (step - begin) % STAGES;
        barrier_expect(&full[s], BYTES);
        bulk_load(memory + s * BYTES, a + step * 8192, 8192, &full[s]);
        bulk_load(memory + s * BYTES + 8192, b + step * 8192, 8192, &full[s]);
    };
    if (threadIdx.x == 0)
        for (int step = begin; step < end && step < begin + STAGES - 2; step++) load(step);
    float d[32];
    barrier_wait(&full[0], 0);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_f16_n64(d, descriptor(memory) + 2 * k, descriptor(memory + 8192) + 2 * k, k > 0);
    wgmma_commit();
    for (int step = begin + 1; step < end; step++) {
        int s = (step - begin) % STAGES;
        while (!barrier_try(&full[s], (step - begin) / STAGES & 1)) {}
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++)
            wgmma_f16_n64(d, descriptor(memory + s * BYTES) + 2 * k, descriptor(memory + s * BYTES + 8192) + 2 * k, 1);
        wgmma_commit();
        wgmma_wait<2>();
        __syncthreads();
        if (threadIdx.x == 0 && step + STAGES - 3 < end) load(step + STAGES - 3);
    }
    wgmma_wait<0>();
    for (int i = 0; i < 32; i++) atomicAdd(&c[i * 128 + threadIdx.x], d[i]);
}
