// What flash.h needs of PyTorch: the state of a random generator.
#pragma once
#include <cstdint>
#include <tuple>
namespace at {
struct PhiloxCudaState { uint64_t seed_, offset_; };
namespace cuda::philox {
__host__ __device__ __forceinline__ std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state) { return {state.seed_, state.offset_}; }
}
}
