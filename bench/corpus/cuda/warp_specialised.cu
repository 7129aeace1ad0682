// A producer warpgroup and two consumer warpgroups over full and empty barriers, persistent over tiles.
#include "tensor.cuh"

constexpr int STAGES = 4, BYTES = 128 * 128 + 128 * 128;
struct alignas(64) Map { uint64_t words[16]; };

template <bool EIGHT_BITS>
__device__ inline void kernel(const Map& map_a, const Map& map_b, float* c, int steps, int tiles) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(&full[s], 1);
            barrier_init(&empty[s], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    int group = threadIdx.x / 128, stage = 0, parity = 0;
    auto advance = [&] {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    };
    if (group == 0) {
        registers_down<40>();
        if (threadIdx.x == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int step = 0; step < steps; step++, advance()) {
                    barrier_wait(&empty[stage], parity ^ 1);
                    barrier_expect(&full[stage], BYTES);
                    tensor_load(memory + stage * BYTES, &map_a, &full[stage], step * 64, tile * 128);
                    tensor_load(memory + stage * BYTES + 128 * 128, &map_b, &full[stage], step * 64, 0);
                }
    } else {
        registers_up<232>();
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            float d[64];
            int before = 0;
            for (int step = 0; step < steps; step++, advance()) {
                barrier_wait(&full[stage], parity);
                uint64_t a = descriptor(memory + stage * BYTES + (group - 1) * 64 * 128);
                uint64_t b = descriptor(memory + stage * BYTES + 128 * 128);
                wgmma_fence();
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    if constexpr (EIGHT_BITS)
                        wgmma_e4m3_n128(d, a + 2 * k, b + 2 * k, step + k > 0);
                    else
                        wgmma_bf16_n128(d, a + 2 * k, b + 2 * k, step + k > 0);
                }
                wgmma_commit();
                wgmma_wait<1>();
                if (step > 0 && threadIdx.x % 128 == 0) barrier_arrive(&empty[before]);
                before = stage;
            }
            wgmma_wait<0>();
            if (threadIdx.x % 128 == 0) barrier_arrive(&empty[before]);
            store<128>(c + (tile * 128 + (group - 1) * 64) * 128, d, 128);
        }
    }
}

extern "C" __global__ __launch_bounds__(384, 1) void warp_specialised(const __grid_constant__ Map a, const __grid_constant__ Map b,
                                                                      float* c, int steps, int tiles) {
    kernel<false>(a, b, c, steps, tiles);
}
extern "C" __global__ __launch_bounds__(384, 1) void warp_specialised_e4m3(const __grid_constant__ Map a,
                                                                           const __grid_constant__ Map b, float* c, int steps,
                                                                           int tiles) {
    kernel<true>(a, b, c, steps, tiles);
}
