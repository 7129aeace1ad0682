// Bulk tensor copies into a ring of stages; one warpgroup issues them and multiplies; the tile goes out by TMA.
#include "tensor.cuh"

constexpr int STAGES = 4, BYTES = 64 * 128 + 256 * 128;
struct alignas(64) Map { uint64_t words[16]; };

extern "C" __global__ __launch_bounds__(128) void tensor_map(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b,
                                                             const __grid_constant__ Map map_c, int steps) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES];
    auto tile_a = [&](int s) { return memory + s % STAGES * BYTES; };
    auto tile_b = [&](int s) { return memory + s % STAGES * BYTES + 64 * 128; };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) barrier_init(&full[s], 1);
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    auto load = [&](int s) {
        barrier_expect(&full[s % STAGES], BYTES);
        tensor_load(tile_a(s), &map_a, &full[s % STAGES], s * 64, blockIdx.y * 64);
        tensor_load(tile_b(s), &map_b, &full[s % STAGES], s * 64, blockIdx.x * 256);
    };
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES - 1; s++) load(s);
    float d[128];
    for (int step = 0; step < steps; step++) {
        barrier_wait(&full[step % STAGES], step / STAGES & 1);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++)
            wgmma_f16_n256(d, descriptor(tile_a(step)) + 2 * k, descriptor(tile_b(step)) + 2 * k, step + k > 0);
        wgmma_commit();
        wgmma_wait<1>();
        __syncthreads();
        if (threadIdx.x == 0 && step + STAGES - 1 < steps) load(step + STAGES - 1);
    }
    wgmma_wait<0>();
    __syncthreads();
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 16;
#pragma unroll
    for (int i = 0; i < 128; i += 8)
        stmatrix(shared(memory) + row * 512 + i * 4 + threadIdx.x % 32 / 16 * 16, pack(d[i], d[i + 1]), pack(d[i + 2], d[i + 3]),
                 pack(d[i + 4], d[i + 5]), pack(d[i + 6], d[i + 7]));
    proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        tensor_store(&map_c, memory, blockIdx.x * 256, blockIdx.y * 64);
        tensor_store_wait<0>();
    }
}
