// Producer warps that gather rows and store them through the generic proxy for a consumer warpgroup.
#include "tensor.cuh"

constexpr int STAGES = 3, BYTES = 64 * 128 + 64 * 128;

extern "C" __global__ __launch_bounds__(256) void gather_producer(const uint4* table, const int* rows, const uint4* b, float* c,
                                                                  int steps) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            barrier_init(&full[s], 128);
            barrier_init(&empty[s], 128);
        }
    __syncthreads();
    if (threadIdx.x >= 128) {
        int lane = threadIdx.x - 128;
        for (int step = 0; step < steps; step++) {
            int s = step % STAGES;
            barrier_wait(&empty[s], step / STAGES & 1 ^ 1);
            uint4* to = (uint4*)(memory + s * BYTES);
            for (int i = lane; i < 512; i += 128) {
                int at = (i & ~7) | ((i ^ (i >> 3)) & 7);
                to[at] = table[rows[i / 8] * steps * 8 + step * 8 + i % 8];
                to[512 + at] = b[step * 512 + i];
            }
            proxy_fence();
            barrier_arrive(&full[s]);
        }
    } else {
        float d[32];
        zero(d);
        for (int step = 0; step < steps; step++) {
            int s = step % STAGES;
            barrier_wait(&full[s], step / STAGES & 1);
            wgmma_fence();
#pragma unroll
            for (int k = 0; k < 4; k++)
                wgmma_f16_n64(d, descriptor(memory + s * BYTES) + 2 * k, descriptor(memory + s * BYTES + 8192) + 2 * k, 1);
            wgmma_commit();
            wgmma_wait<1>();
            if (step > 0) barrier_arrive(&empty[(step - 1) % STAGES]);
        }
        wgmma_wait<0>();
        store<64>(c, d, 64);
    }
}
