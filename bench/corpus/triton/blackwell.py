"""Products of sm_100a in Triton: block-scaled ones, and Gluon's explicit tensor memory.

PTXMMA_CAPABILITY=100 PYTHONPATH=TRITON python bench/corpus/triton/blackwell.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from source import Kernel, write
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
)


@triton.jit
def scaled(
    a,
    b,
    scale_a,
    scale_b,
    c,
    k,
    stride_a,
    stride_b,
    stride_c,
    stride_s,
    A: tl.constexpr,
    B: tl.constexpr,
    PACK_A: tl.constexpr,
    PACK_B: tl.constexpr,
    BLOCK: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    at_a = a + row[:, None] * stride_a + tl.arange(0, K // PACK_A)[None, :]
    at_b = b + column[None, :] * stride_b + tl.arange(0, K // PACK_B)[:, None]
    block = tl.arange(0, K // BLOCK)
    at_sa = scale_a + row[:, None] * stride_s + block[None, :]
    at_sb = scale_b + column[:, None] * stride_s + block[None, :]
    d = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        d = tl.dot_scaled(tl.load(at_a), tl.load(at_sa), A, tl.load(at_b), tl.load(at_sb), B, d)
        at_a += K // PACK_A
        at_b += K // PACK_B
        at_sa += K // BLOCK
        at_sb += K // BLOCK
    tl.store(c + row[:, None] * stride_c + column[None, :], d.to(tl.float16))


@gluon.jit
def gluon_tensor_memory(
    a,
    b,
    c,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    SHARED: gl.constexpr,
    TENSOR: gl.constexpr,
    VARIANT: gl.constexpr,
):
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    row, column = gl.arange(0, M, gl.SliceLayout(1, flat)), gl.arange(0, K, gl.SliceLayout(0, flat))
    other = gl.arange(0, N, gl.SliceLayout(1, flat))
    left = gl.allocate_shared_memory(a.dtype.element_ty, [M, K], SHARED)
    right = gl.allocate_shared_memory(a.dtype.element_ty, [N, K], SHARED)
    left.store(gl.load(a + row[:, None] * K + column[None, :]))
    right.store(gl.load(b + other[:, None] * K + column[None, :]))
    fence_async_shared()
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    d = allocate_tensor_memory(gl.float32, [M, N], TENSOR)
    tcgen05_mma(left, right.permute((1, 0)), d, use_acc=False)
    tcgen05_commit(bar)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    layout: gl.constexpr = d.get_reg_layout(instr_variant=VARIANT)
    at = (
        gl.arange(0, M, gl.SliceLayout(1, layout))[:, None] * N
        + gl.arange(0, N, gl.SliceLayout(0, layout))[None, :]
    )
    gl.store(c + at, d.load(layout))


PACKED = {"e2m1": 2, "e4m3": 1, "e5m2": 1}
POINTERS = {"e2m1": "*u8", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5"}
STRIDES = dict.fromkeys(("k", "stride_a", "stride_b", "stride_c", "stride_s"), "i32:16")


def block_scaled(a: str, b: str, scale: str, block: int, n: int = 128) -> Kernel:
    """One configuration of the block-scaled product."""
    pointers = {"a": POINTERS[a], "b": POINTERS[b], "scale_a": scale, "scale_b": scale, "c": "*fp16"}
    constants = {"A": a, "B": b, "PACK_A": PACKED[a], "PACK_B": PACKED[b], "BLOCK": block, "M": 128}
    name = f"scaled_{a}_{b}_{block}_n{n}"
    sizes = {"N": n, "K": 128}
    return Kernel(name, scaled, pointers | STRIDES, constants | sizes, {"num_warps": 4, "num_stages": 2})


def tensor_memory(m: int, n: int, variant: str, element: str = "fp16", warps: int = 4) -> Kernel:
    """One configuration of the explicit product."""
    bits = {"fp16": 16, "bf16": 16, "fp8e4nv": 8}[element]
    constants = {
        **{"M": m, "N": n, "K": 64, "VARIANT": variant, "TENSOR": TensorMemoryLayout((m, n), 1)},
        "SHARED": gl.NVMMASharedLayout(swizzle_byte_width=64 * bits // 8, element_bitwidth=bits, rank=2),
    }
    types = {"a": f"*{element}", "b": f"*{element}", "c": "*fp32"}
    name = f"gluon_{element}_m{m}_n{n}_{variant}_{warps}"
    return Kernel(name, gluon_tensor_memory, types, constants, {"num_warps": warps})


KERNELS = (
    *(block_scaled(a, b, "*u8", 32) for a in PACKED for b in ("e4m3", "e2m1")),
    block_scaled("e2m1", "e2m1", "*fp8e4nv", 16),
    block_scaled("e5m2", "e5m2", "*u8", 32, n=256),
    *(tensor_memory(128, 64, variant) for variant in ("32x32b", "16x64b", "16x128b", "16x256b")),
    *(tensor_memory(64, 128, variant) for variant in ("16x64b", "16x128b", "16x256b")),
    tensor_memory(64, 64, "16x32bx2", "bf16"),
    tensor_memory(128, 128, "32x32b", "fp8e4nv", warps=8),
)

if __name__ == "__main__":
    write(KERNELS, Path(sys.argv[1]))
