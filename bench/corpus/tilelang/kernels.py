"""Kernels in TileLang, lowered to CUDA without a GPU, and compiled to PTX for sm_90a, sm_80 and sm_100a.

python kernels.py FOLDER NVCC_OPTION…, with TileLang and the folder of stand_in.py on PYTHONPATH.
TileLang imports torch for its runtime only, so a stand-in of torch is enough here.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stand_in  # isort: skip

stand_in.install("torch", "torch_c_dlpack_ext")

import tilelang  # noqa: E402
import tilelang.language as T  # noqa: E402
from tilelang.engine.lower import lower  # noqa: E402

TEMPLATES = Path(tilelang.__file__).parent / "src"
CUTLASS = Path(tilelang.__file__).parent / "3rdparty" / "cutlass" / "include"


def matmul(
    bm: int = 128,
    bn: int = 128,
    bk: int = 64,
    stages: int = 3,
    threads: int = 128,
    dtype: str = "float16",
    acc: str = "float32",
    ta: bool = False,
    tb: bool = False,
    size: int = 1024,
) -> Any:
    """C = A B, with a pipeline of some stages."""
    out = "int32" if acc == "int32" else "float16"

    @T.prim_func
    def main(
        A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), out)
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bk, bm) if ta else (bm, bk), dtype)
            b = T.alloc_shared((bn, bk) if tb else (bk, bn), dtype)
            c = T.alloc_fragment((bm, bn), acc)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                if ta:
                    T.copy(A[k * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, k * bk], a)
                if tb:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_A=ta, transpose_B=tb)
            T.copy(c, C[by * bm, bx * bn])

    return main


def matmul_register(bm: int = 128, bn: int = 128, bk: int = 64, stages: int = 2, threads: int = 128) -> Any:
    """A is scaled in registers before it is multiplied."""
    size = 1024

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            x = T.alloc_fragment((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                T.copy(a, x)
                for i, j in T.Parallel(bm, bk):
                    x[i, j] = x[i, j] * T.float16(0.5)
                T.gemm(x, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


def matmul_dequantised(
    bm: int = 128, bn: int = 128, bk: int = 64, stages: int = 2, threads: int = 128
) -> Any:
    """B comes as int8, is converted in registers, and goes back to shared memory."""
    size = 1024

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "int8"),
        C: T.Tensor((size, size), "float16"),
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "float16")
            q = T.alloc_shared((bn, bk), "int8")
            x = T.alloc_fragment((bn, bk), "int8")
            y = T.alloc_fragment((bn, bk), "float16")
            b = T.alloc_shared((bn, bk), "float16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[bx * bn, k * bk], q)
                T.copy(q, x)
                for i, j in T.Parallel(bn, bk):
                    y[i, j] = T.Cast("float16", x[i, j])
                T.copy(y, b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * bm, bx * bn])

    return main


def split_k(bm: int = 128, bn: int = 128, bk: int = 32, stages: int = 2, threads: int = 128) -> Any:
    """Parts of k in blocks of their own, added in global memory through shared memory."""
    size, parts = 1024, 4

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), parts, threads=threads) as (bx, by, bz):
            a = T.alloc_shared((bm, bk), "float16")
            b = T.alloc_shared((bk, bn), "float16")
            d = T.alloc_shared((bm, bn), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.Pipelined(size // parts // bk, num_stages=stages):
                T.copy(A[by * bm, bz * (size // parts) + k * bk], a)
                T.copy(B[bz * (size // parts) + k * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, d)
            for i, j in T.Parallel(bm, bn):
                T.atomic_add(C[by * bm + i, bx * bn + j], d[i, j])

    return main


def through_shared(bm: int = 128, bn: int = 128, bk: int = 64, stages: int = 2, threads: int = 128) -> Any:
    """The result goes through shared memory (a TMA store where the chip has one)."""
    size = 1024

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "bfloat16"),
        B: T.Tensor((size, size), "bfloat16"),
        C: T.Tensor((size, size), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(size, bn), T.ceildiv(size, bm), threads=threads) as (bx, by):
            a = T.alloc_shared((bm, bk), "bfloat16")
            b = T.alloc_shared((bk, bn), "bfloat16")
            d = T.alloc_shared((bm, bn), "bfloat16")
            c = T.alloc_fragment((bm, bn), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, d)
            T.copy(d, C[by * bm, bx * bn])

    return main


def attention(bm: int = 64, bn: int = 64, dim: int = 64, stages: int = 1, threads: int = 128) -> Any:
    """Flash attention, forward, without a mask."""
    length = 1024

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        O: T.Tensor((length, dim), "float16"),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(length, bm), threads=threads) as bx:
            q = T.alloc_shared((bm, dim), "float16")
            k_ = T.alloc_shared((bn, dim), "float16")
            v = T.alloc_shared((bn, dim), "float16")
            s = T.alloc_fragment((bm, bn), "float32")
            p = T.alloc_fragment((bm, bn), "float16")
            o = T.alloc_fragment((bm, dim), "float32")
            top = T.alloc_fragment((bm,), "float32")
            before = T.alloc_fragment((bm,), "float32")
            factor = T.alloc_fragment((bm,), "float32")
            part = T.alloc_fragment((bm,), "float32")
            total = T.alloc_fragment((bm,), "float32")
            T.copy(Q[bx * bm, 0], q)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(length, bn), num_stages=stages):
                T.copy(K[k * bn, 0], k_)
                T.clear(s)
                T.gemm(q, k_, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(V[k * bn, 0], v)
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for i in T.Parallel(bm):
                    factor[i] = T.exp2(before[i] - top[i])
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2(s[i, j] - top[i])
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(bm):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(s, p)
                for i, j in T.Parallel(bm, dim):
                    o[i, j] = o[i, j] * factor[i]
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, dim):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, O[bx * bm, 0])

    return main


def linear_attention(chunk: int = 64, dim: int = 64, stages: int = 2, threads: int = 128) -> Any:
    """A state that each chunk reads and updates; it goes through shared memory."""
    length = 1024

    @T.prim_func
    def main(
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        O: T.Tensor((length, dim), "float16"),  # noqa: E741
    ):
        with T.Kernel(1, threads=threads) as _:
            q = T.alloc_shared((chunk, dim), "float16")
            k_ = T.alloc_shared((chunk, dim), "float16")
            v = T.alloc_shared((chunk, dim), "float16")
            state = T.alloc_shared((dim, dim), "float16")
            h = T.alloc_fragment((dim, dim), "float32")
            o = T.alloc_fragment((chunk, dim), "float32")
            T.clear(h)
            for i in T.Pipelined(length // chunk, num_stages=stages):
                T.copy(Q[i * chunk, 0], q)
                T.copy(K[i * chunk, 0], k_)
                T.copy(V[i * chunk, 0], v)
                T.copy(h, state)
                T.clear(o)
                T.gemm(q, state, o)
                T.gemm(k_, v, h, transpose_A=True)
                T.copy(o, O[i * chunk, 0])

    return main


def tensor_memory(
    bm: int = 128,
    bn: int = 128,
    bk: int = 64,
    stages: int = 2,
    dtype: str = "float16",
    acc: str = "float32",
    ta: bool = False,
    tb: bool = True,
    pair: bool = False,
) -> Any:
    """The accumulator is in tensor memory; a pair of blocks may share the product."""
    size = 1024

    @T.prim_func
    def main(
        A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), acc)
    ):
        with T.Kernel(
            T.ceildiv(size, bm), T.ceildiv(size, bn), threads=128, cluster_dims=(2, 1, 1) if pair else None
        ) as (by, bx):
            a = T.alloc_shared((bk, bm) if ta else (bm, bk), dtype)
            half = bn // 2 if pair else bn
            b = T.alloc_shared((half, bk) if tb else (bk, half), dtype)
            d = T.alloc_tmem((bm, bn), acc)
            bar = T.alloc_cluster_barrier([1]) if pair else T.alloc_barrier(1)
            c = T.alloc_fragment((bm, bn), acc)
            for k in T.Pipelined(T.ceildiv(size, bk), num_stages=stages):
                if ta:
                    T.copy(A[k * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, k * bk], a)
                if tb:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                T.tcgen05_gemm(a, b, d, ta, tb, mbar=bar, clear_accum=k == 0, use_2cta=pair)
                T.mbarrier_wait_parity(bar, k % 2)
            T.copy(d, c)
            T.copy(c, C[by * bm, bx * bn])

    return main


def scores_in_tensor_memory(dtype: str = "bfloat16") -> Any:
    """The first product goes back to tensor memory, and is A of the second."""
    size = 128

    @T.prim_func
    def main(
        Q: T.Tensor((size, size), dtype),
        K: T.Tensor((size, size), dtype),
        V: T.Tensor((size, size), dtype),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            q, k = T.alloc_shared((size, size), dtype), T.alloc_shared((size, size), dtype)
            v = T.alloc_shared((size, size), dtype)
            s, p = T.alloc_tmem((size, size), "float32"), T.alloc_tmem((size, size), dtype)
            o = T.alloc_tmem((size, size), "float32")
            x, y = T.alloc_fragment((size, size), "float32"), T.alloc_fragment((size, size), dtype)
            first, second = T.alloc_barrier(1), T.alloc_barrier(1)
            T.copy(Q, q)
            T.copy(K, k)
            T.copy(V, v)
            T.tcgen05_gemm(q, k, s, transpose_B=True, mbar=first, clear_accum=True)
            T.mbarrier_wait_parity(first, 0)
            T.copy(s, x)
            for i, j in T.Parallel(size, size):
                y[i, j] = T.Cast(dtype, x[i, j])
            T.copy(y, p)
            T.tcgen05_gemm(p, v, o, mbar=second, clear_accum=True)
            T.mbarrier_wait_parity(second, 0)
            T.copy(o, x)
            T.copy(x, C)

    return main


BLACKWELL: dict[str, Callable[[], Any]] = {
    "tensor_memory": tensor_memory,
    "tensor_memory_n256": lambda: tensor_memory(bn=256),
    "tensor_memory_m64": lambda: tensor_memory(bm=64, bn=64, bk=32),
    "tensor_memory_bf16": lambda: tensor_memory(dtype="bfloat16", ta=True, tb=False),
    "tensor_memory_tf32": lambda: tensor_memory(dtype="float32", bk=32),
    "tensor_memory_e4m3": lambda: tensor_memory(dtype="float8_e4m3fn", bk=128),
    "tensor_memory_e5m2": lambda: tensor_memory(dtype="float8_e5m2", bk=128, bn=64),
    "tensor_memory_s8": lambda: tensor_memory(dtype="int8", acc="int32", bk=128),
    "tensor_memory_fp16_accumulator": lambda: tensor_memory(acc="float16"),
    "tensor_memory_pair": lambda: tensor_memory(pair=True),
    "scores_in_tensor_memory": scores_in_tensor_memory,
    "plain": lambda: matmul(),
}
KERNELS: dict[str, Callable[[], Any]] = {
    "matmul_fp16": lambda: matmul(),
    "matmul_two_stages": lambda: matmul(stages=2, bk=32),
    "matmul_one_stage": lambda: matmul(stages=1),
    "matmul_unpipelined": lambda: matmul(stages=0),
    "matmul_four_stages": lambda: matmul(stages=4, bk=32),
    "matmul_256_threads": lambda: matmul(threads=256),
    "matmul_wide": lambda: matmul(bn=256, threads=256, stages=2),
    "matmul_a_transposed": lambda: matmul(ta=True),
    "matmul_b_transposed": lambda: matmul(tb=True),
    "matmul_bf16": lambda: matmul(dtype="bfloat16"),
    "matmul_tf32": lambda: matmul(dtype="float32", bk=32, tb=True),
    "matmul_s8": lambda: matmul(dtype="int8", acc="int32", tb=True),
    "matmul_e4m3": lambda: matmul(dtype="float8_e4m3fn", tb=True),
    "matmul_fp16_accumulator": lambda: matmul(acc="float16"),
    "matmul_small": lambda: matmul(bm=64, bn=64, bk=32, stages=2),
    "matmul_register": matmul_register,
    "matmul_dequantised": matmul_dequantised,
    "split_k": split_k,
    "through_shared": through_shared,
    "attention": attention,
    "attention_two_stages": lambda: attention(stages=2, bm=128, threads=256),
    "attention_wide": lambda: attention(stages=2, bm=128, bn=128, dim=128, threads=256),
    "linear_attention": linear_attention,
}


def main(folder: Path, options: list[str]) -> None:
    """Write each kernel's PTX for its chips; say which ones do not compile."""
    for arch, kernels in (("sm_90a", KERNELS), ("sm_80", KERNELS), ("sm_100a", BLACKWELL)):
        target = tilelang.tvm.target.Target({"kind": "cuda", "arch": arch})
        for name, kernel in kernels.items():
            to = folder / arch / f"{name}.ptx"
            if to.exists():
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            source = to.with_suffix(".cu")
            try:
                with target:
                    source.write_text(lower(kernel(), target=target).kernel_source)
            except Exception as error:  # TileLang may raise anything for a kernel that it does not support
                print(f"{arch} {name}: {type(error).__name__}: {str(error).strip().splitlines()[-1][:150]}")
                continue
            words = ("nvcc", "-std=c++20", "-O3", "-DNDEBUG", f"-arch={arch}", "-ptx", "-w", *options)
            include = (f"-I{TEMPLATES}", f"-I{CUTLASS}")
            done = subprocess.run(
                (*words, *include, "-o", str(to), str(source)), capture_output=True, text=True
            )
            if done.returncode:
                print(f"{arch} {name}: {done.stderr.strip().splitlines()[0][:200]}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
