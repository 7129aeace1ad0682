// Does a block keep its shared memory until its bulk stores have read it, though no thread waits for them?
//
// nvcc -arch=sm_90a -O3 -o block_ends bench/block_ends.cu && ./block_ends
//
// Every block fills its shared memory, starts bulk stores of it, and ends. Another block follows on the same
// multiprocessor at once, and fills the same memory with its own words. A word of a block that was read too late
// is wrong. The last row shows that the test can fail: there the block itself writes over what it stores.
#include <cstdint>
#include <cstdio>

constexpr uint32_t kWords = 49152, kStores = 8;
enum Variant { kWaited, kCommitted, kNeither, kOverwritten };
const char *const kNames[] = {"wait for the reads", "commit, no wait", "no commit, no wait", "written over by the block"};

__device__ __host__ uint32_t word(uint32_t block, uint32_t place) { return block * 2654435761u + place; }

__global__ void store(uint32_t *out, int variant) {
    extern __shared__ __align__(128) uint32_t tile[];
    for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) tile[i] = word(blockIdx.x, i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t from = static_cast<uint32_t>(__cvta_generic_to_shared(tile)), bytes = kWords / kStores * 4;
        for (uint32_t part = 0; part < kStores; part++)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                             out + size_t(blockIdx.x) * kWords + part * (kWords / kStores)),
                         "r"(from + part * bytes), "r"(bytes)
                         : "memory");
        if (variant != kNeither) asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (variant == kWaited) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    if (variant == kOverwritten) {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) ((volatile uint32_t *)tile)[i] = 0xdead;
    }
}

__global__ void compare(const uint32_t *out, size_t count, unsigned long long *wrong) {
    unsigned long long mine = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x)
        mine += out[i] != word(i / kWords, i % kWords);
    if (mine) atomicAdd(wrong, mine);
}

int main() {
    const size_t blocks = 132 * 150, count = blocks * kWords;
    uint32_t *out;
    unsigned long long *wrong, found;
    cudaMalloc(&out, count * 4);
    cudaMalloc(&wrong, 8);
    cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, kWords * 4);
    for (int variant = kWaited; variant <= kOverwritten; variant++) {
        unsigned long long total = 0;
        const int rounds = variant == kOverwritten ? 2 : 40;
        for (int round = 0; round < rounds; round++) {
            cudaMemset(out, 0, count * 4);
            cudaMemset(wrong, 0, 8);
            store<<<blocks, 1024, kWords * 4>>>(out, variant);
            compare<<<4096, 256>>>(out, count, wrong);
            cudaMemcpy(&found, wrong, 8, cudaMemcpyDeviceToHost);
            total += found;
        }
        printf("%s: %llu of %zu words are wrong (%s)\n", kNames[variant], total, count * rounds,
               cudaGetErrorString(cudaGetLastError()));
    }
}
