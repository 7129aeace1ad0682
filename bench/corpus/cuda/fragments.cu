// nvcuda::wmma: a tiled product, one with a fused epilogue, and the other multiplicand types.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;

extern "C" __global__ void wmma_tiled(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ half tile_a[64][24], tile_b[16][72];
    int warp = threadIdx.x / 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d[2];
    for (auto& x : d) wmma::fill_fragment(x, 0);
    for (int step = 0; step < k; step += 16) {
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
            tile_a[i / 16][i % 16] = a[(blockIdx.y * 64 + i / 16) * k + step + i % 16];
            tile_b[i / 64][i % 64] = b[(step + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::load_matrix_sync(x, &tile_a[warp / 2 * 16][0], 24);
        for (int j = 0; j < 2; j++) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
            wmma::load_matrix_sync(y, &tile_b[0][(warp % 2 * 2 + j) * 16], 72);
            wmma::mma_sync(d[j], x, y, d[j]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; j++)
        wmma::store_matrix_sync(c + (blockIdx.y * 64 + warp / 2 * 16) * n + blockIdx.x * 64 + (warp % 2 * 2 + j) * 16, d[j], n,
                                wmma::mem_row_major);
}

extern "C" __global__ void wmma_epilogue(const half* a, const half* b, half* c, float alpha, float beta, int n, int k) {
    wmma::fragment<wmma::accumulator, 32, 8, 16, half> sum, old;
    wmma::fill_fragment(sum, __float2half(0));
    int row = blockIdx.y * 32, column = blockIdx.x * 8;
    for (int step = 0; step < k; step += 16) {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + row * k + step, k);
        wmma::load_matrix_sync(y, b + column * k + step, k);
        wmma::mma_sync(sum, x, y, sum);
    }
    if (beta != 0) {
        wmma::load_matrix_sync(old, c + row * n + column, n, wmma::mem_row_major);
        for (int i = 0; i < sum.num_elements; i++)
            sum.x[i] = __float2half(alpha * __half2float(sum.x[i]) + beta * __half2float(old.x[i]));
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

template <int M, int N, int K, class T, class D, class Memory>
__device__ inline void product(const Memory* a, const Memory* b, D* c, int k) {
    wmma::fragment<wmma::accumulator, M, N, K, D> sum;
    wmma::fill_fragment(sum, 0);
    for (int step = 0; step < k; step += K) {
        wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + step, k);
        wmma::load_matrix_sync(y, b + step, k);
        if constexpr (std::is_same_v<T, wmma::precision::tf32>) {
            for (auto& v : x.x) v = wmma::__float_to_tf32(v);
            for (auto& v : y.x) v = wmma::__float_to_tf32(v);
        }
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}
extern "C" __global__ void wmma_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int k) {
    product<16, 16, 16, __nv_bfloat16>(a, b, c, k);
}
extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* c, int k) {
    product<8, 32, 16, signed char>(a, b, c, k);
}
extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* c, int k) {
    product<16, 16, 8, wmma::precision::tf32>(a, b, c, k);
}
extern "C" __global__ void wmma_f64(const double* a, const double* b, double* c, int k) { product<8, 8, 4, double>(a, b, c, k); }
