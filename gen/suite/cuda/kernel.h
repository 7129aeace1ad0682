// What the kernels have in common. nvcc makes device code of it; with PTXMMA_STAND_IN defined any C++17 compiler
// makes plain functions: the threads of a block run one after another up to the instruction, the instruction is
// replaced by stand_in.h, then they run on.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef PTXMMA_STAND_IN
#define PTXMMA_DEVICE
#define PTXMMA_UNROLL
#else
#define PTXMMA_DEVICE __device__ __forceinline__
#define PTXMMA_UNROLL _Pragma("unroll")
#endif

namespace ptxmma {

// The buffers of one job. Matrices are row-major, one element a 32-bit word, or a 64-bit word.
struct Job {
  const void *a, *b, *c;
  void *d, *meta;
  const uint32_t* config;
  unsigned char* shared;  // the first byte of shared memory, and its address there
  unsigned base;
};

template <typename Word>
PTXMMA_DEVICE Word get(const void* matrix, unsigned index) {
  return static_cast<const Word*>(matrix)[index];
}

template <typename Word>
PTXMMA_DEVICE void set(void* matrix, unsigned index, Word value) {
  static_cast<Word*>(matrix)[index] = value;
}

// Element i of so many bits, put into registers that are zero, or taken from them: low elements come first.
template <unsigned bits>
PTXMMA_DEVICE void put(uint32_t* registers, unsigned i, uint32_t value) {
  if (bits < 32) value &= (1u << bits % 32) - 1;
  registers[i * bits / 32] |= value << i * bits % 32;
}

template <unsigned bits>
PTXMMA_DEVICE uint32_t take(const uint32_t* registers, unsigned i) {
  const uint32_t word = registers[i * bits / 32] >> i * bits % 32;
  return bits < 32 ? word & ((1u << bits % 32) - 1) : word;
}

template <unsigned bits>
PTXMMA_DEVICE void put(uint64_t* registers, unsigned i, uint64_t value) {
  registers[i] = value;
}

template <unsigned bits>
PTXMMA_DEVICE uint64_t take(const uint64_t* registers, unsigned i) {
  return registers[i];
}

// A word or a part of one, in shared memory by its address there, or behind a pointer.
template <typename Word>
PTXMMA_DEVICE Word& shared(const Job& job, unsigned address) {
  return *reinterpret_cast<Word*>(job.shared + (address - job.base));
}

template <typename Word>
PTXMMA_DEVICE Word& memory(unsigned char* first, unsigned byte) {
  return *reinterpret_cast<Word*>(first + byte);
}

// Steps of a kernel that not every kernel has; a barrier stands between any two.
struct Steps {
  static PTXMMA_DEVICE void fill(const Job&, unsigned) {}
  static PTXMMA_DEVICE void check(const Job&, unsigned) {}
};

// Fill shared memory with a word, so that what is not written is not right by chance.
PTXMMA_DEVICE void fill_shared(const Job& job, unsigned t, unsigned threads, unsigned bytes, uint32_t filler) {
  for (unsigned at = 4 * t; at < bytes; at += 4 * threads) shared<uint32_t>(job, job.base + at) = filler;
}

template <typename Kernel>
PTXMMA_DEVICE Job job_of(const void* a, const void* b, const void* c, void* d, void* meta, const uint32_t* config,
                         unsigned job) {
  const auto byte = [](const void* first, size_t offset) {
    return const_cast<unsigned char*>(static_cast<const unsigned char*>(first)) + offset;
  };
  const size_t number = job;
  return {byte(a, number * Kernel::a_bytes), byte(b, number * Kernel::b_bytes), byte(c, number * Kernel::c_bytes),
          byte(d, number * Kernel::d_bytes), byte(meta, number * Kernel::meta_bytes), config + number * Kernel::words,
          nullptr, 0};
}

}  // namespace ptxmma

#ifdef PTXMMA_STAND_IN
#include "stand_in.h"
#else
namespace ptxmma {

extern __shared__ __align__(1024) unsigned char shared_memory[];

template <typename Kernel>
PTXMMA_DEVICE void run(const void* a, const void* b, const void* c, void* d, void* meta, const uint32_t* config) {
  Job job = job_of<Kernel>(a, b, c, d, meta, config, blockIdx.x);
  job.shared = shared_memory;
  job.base = static_cast<unsigned>(__cvta_generic_to_shared(shared_memory));
  const unsigned t = threadIdx.x;
  typename Kernel::Registers r{};
  Kernel::fill(job, t);
  __syncthreads();
  Kernel::load(job, t, r);
  __syncthreads();
  Kernel::execute(job, r);
  __syncthreads();
  Kernel::store(job, t, r);
  __syncthreads();
  Kernel::check(job, t);
}

}  // namespace ptxmma

#define PTXMMA_ENTRY(name)                                                                                \
  extern "C" __global__ void __launch_bounds__(kernels::name::threads)                                    \
      name(const void* a, const void* b, const void* c, void* d, void* meta, const uint32_t* config) {    \
    ptxmma::run<kernels::name>(a, b, c, d, meta, config);                                                 \
  }
#endif
