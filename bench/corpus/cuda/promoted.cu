// Eight-bit floats with scales: each block's accumulators are scaled and added to a second set in float registers.
#include "tensor.cuh"

constexpr int STAGES = 3, BYTES = 64 * 128 + 128 * 128;

extern "C" __global__ void promoted_e4m3(const unsigned char* a, const unsigned char* b, const float* scale_a, const float* scale_b,
                                         float* c, int steps) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES];
    if (threadIdx.x == 0)
        for (auto& x : full) barrier_init(&x, 1);
    __syncthreads();
    auto load = [&](int s) {
        barrier_expect(&full[s % STAGES], BYTES);
        bulk_load(memory + s % STAGES * BYTES, a + s * 8192, 8192, &full[s % STAGES]);
        bulk_load(memory + s % STAGES * BYTES + 8192, b + s * 16384, 16384, &full[s % STAGES]);
    };
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES - 1 && s < steps; s++) load(s);
    float total[64];
    zero(total);
    for (int step = 0; step < steps; step++) {
        if (threadIdx.x == 0 && step + STAGES - 1 < steps) load(step + STAGES - 1);
        float d[64];
        float top = scale_a[step * 64 + threadIdx.x / 4], bottom = scale_a[step * 64 + threadIdx.x / 4 + 8], right = scale_b[step];
        barrier_wait(&full[step % STAGES], step / STAGES & 1);
        unsigned char* stage = memory + step % STAGES * BYTES;
        for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i])::"memory");
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) wgmma_e4m3_n128(d, descriptor(stage) + 2 * k, descriptor(stage + 8192) + 2 * k, k > 0);
        wgmma_commit();
        for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i])::"memory");
        wgmma_wait<0>();
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 64; i++) total[i] += d[i] * right * (i / 2 % 2 ? bottom : top);
    }
    store<128>(c, total, 128);
}
