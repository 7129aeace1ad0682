// A cluster of two CTAs that share B by a multicast copy; remote arrivals free the stages.
#include "tensor.cuh"

constexpr int STAGES = 3, BYTES = 64 * 128 + 64 * 128;
struct alignas(64) Map { uint64_t words[16]; };

__device__ inline void multicast_load(void* to, const void* map, uint64_t* barrier, int x, int y, uint16_t mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], "
        "%3;\n" ::"r"(shared(to)),
        "l"(map), "r"(shared(barrier)), "h"(mask), "r"(x), "r"(y)
        : "memory");
}
__device__ inline void remote_arrive(uint64_t* barrier, int rank) {
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, "
        "[remote];\n}\n" ::"r"(shared(barrier)),
        "r"(rank)
        : "memory");
}

extern "C" __global__ __cluster_dims__(2, 1, 1) __launch_bounds__(256) void multicast(const __grid_constant__ Map map_a,
                                                                                    const __grid_constant__ Map map_b, float* c,
                                                                                    int steps) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(&full[s], 1);
            barrier_init(&empty[s], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" ::: "memory");
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int step = 0; step < steps; step++) {
                int s = step % STAGES;
                barrier_wait(&empty[s], step / STAGES & 1 ^ 1);
                barrier_expect(&full[s], BYTES);
                tensor_load(memory + s * BYTES, &map_a, &full[s], step * 64, blockIdx.x * 64);
                multicast_load(memory + s * BYTES + 8192 + rank * 4096, &map_b, &full[s], step * 64, blockIdx.y * 64 + rank * 32, 3);
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
            wgmma_wait<0>();
            if (threadIdx.x < 2) remote_arrive(&empty[s], threadIdx.x);
        }
        store<64>(c, d, 64);
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" ::: "memory");
}
