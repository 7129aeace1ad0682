"""Products in Gluon, Triton's lower level: explicit wgmma, waits, barriers and partitions of warps.

PYTHONPATH=TRITON python bench/corpus/triton/gluon.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from source import Kernel, write
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)


@gluon.jit
def gluon_tile(
    a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr
):
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    row, column = gl.arange(0, M, gl.SliceLayout(1, flat)), gl.arange(0, K, gl.SliceLayout(0, flat))
    other = gl.arange(0, N, gl.SliceLayout(1, flat))
    left = gl.allocate_shared_memory(gl.float16, [M, K], SHARED)
    right = gl.allocate_shared_memory(gl.float16, [N, K], SHARED)
    left.store(gl.load(a + row[:, None] * K + column[None, :]))
    right.store(gl.load(b + other[:, None] * K + column[None, :]))
    fence_async_shared()
    gl.barrier()
    d = gl.zeros([M, N], gl.float32, LAYOUT)
    d = warpgroup_mma(left, right.permute((1, 0)), d, use_acc=False, is_async=True)
    d = warpgroup_mma_wait(0, deps=(d,))
    at = (
        gl.arange(0, M, gl.SliceLayout(1, LAYOUT))[:, None] * N
        + gl.arange(0, N, gl.SliceLayout(0, LAYOUT))[None, :]
    )
    gl.store(c + at, d)


@gluon.jit
def gluon_registers(
    a,
    b,
    c,
    steps,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    LAYOUT: gl.constexpr,
    SHARED: gl.constexpr,
):
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    operand: gl.constexpr = gl.DotOperandLayout(0, LAYOUT, 2)
    row, column = gl.arange(0, M, gl.SliceLayout(1, operand)), gl.arange(0, K, gl.SliceLayout(0, operand))
    other, depth = gl.arange(0, N, gl.SliceLayout(1, flat)), gl.arange(0, K, gl.SliceLayout(0, flat))
    right = gl.allocate_shared_memory(gl.float16, [2, N, K], SHARED)
    d = warpgroup_mma_init(gl.zeros([M, N], gl.float32, LAYOUT))
    for step in range(steps):
        x = gl.load(a + step * M * K + row[:, None] * K + column[None, :])
        right.index(step % 2).store(gl.load(b + step * N * K + other[:, None] * K + depth[None, :]))
        fence_async_shared()
        gl.barrier()
        d = warpgroup_mma_wait(0, deps=(d,))
        d = warpgroup_mma(x, right.index(step % 2).permute((1, 0)), d, is_async=True)
    d = warpgroup_mma_wait(0, deps=(d,))
    at = (
        gl.arange(0, M, gl.SliceLayout(1, LAYOUT))[:, None] * N
        + gl.arange(0, N, gl.SliceLayout(0, LAYOUT))[None, :]
    )
    gl.store(c + at, d)


@gluon.jit
def gluon_pipelined(
    left,
    right,
    out,
    steps,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    STAGES: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    tiles_a = gl.allocate_shared_memory(gl.float16, [STAGES, M, K], left.layout)
    tiles_b = gl.allocate_shared_memory(gl.float16, [STAGES, N, K], right.layout)
    bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(bars.index(i), count=1)
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    for i in gl.static_range(STAGES - 2):
        mbarrier.expect(bars.index(i), left.block_type.nbytes + right.block_type.nbytes)
        tma.async_load(left, [row, i * K], bars.index(i), tiles_a.index(i))
        tma.async_load(right, [column, i * K], bars.index(i), tiles_b.index(i))
    d = warpgroup_mma_init(gl.zeros([M, N], gl.float32, LAYOUT))
    for step in range(steps):
        stage = step % STAGES
        ahead = step + STAGES - 2
        going = ahead < steps
        mbarrier.expect(
            bars.index(ahead % STAGES), left.block_type.nbytes + right.block_type.nbytes, pred=going
        )
        tma.async_load(
            left, [row, ahead * K], bars.index(ahead % STAGES), tiles_a.index(ahead % STAGES), pred=going
        )
        tma.async_load(
            right, [column, ahead * K], bars.index(ahead % STAGES), tiles_b.index(ahead % STAGES), pred=going
        )
        mbarrier.wait(bars.index(stage), step // STAGES & 1)
        d = warpgroup_mma_wait(0, deps=(d,))
        d = warpgroup_mma(tiles_a.index(stage), tiles_b.index(stage).permute((1, 0)), d, is_async=True)
    d = warpgroup_mma_wait(0, deps=(d,))
    tile = gl.allocate_shared_memory(gl.float16, out.block_type.shape, out.layout)
    tile.store(d.to(gl.float16))
    fence_async_shared()
    tma.async_store(out, [row, column], tile)
    tma.store_wait(0)


@gluon.jit
def producer(
    left,
    right,
    tiles_a,
    tiles_b,
    empty,
    full,
    steps,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    STAGES: gl.constexpr,
):
    row, column = gl.program_id(0) * M, gl.program_id(1) * N
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(empty.index(stage), step // STAGES & 1 ^ 1)
        mbarrier.expect(full.index(stage), left.block_type.nbytes + right.block_type.nbytes)
        tma.async_load(left, [row, step * K], full.index(stage), tiles_a.index(stage))
        tma.async_load(right, [column, step * K], full.index(stage), tiles_b.index(stage))


@gluon.jit
def consumer(
    c,
    tiles_a,
    tiles_b,
    empty,
    full,
    steps,
    M: gl.constexpr,
    N: gl.constexpr,
    STAGES: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    d = gl.zeros([M, N], gl.float32, LAYOUT)
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), step // STAGES & 1)
        d = warpgroup_mma(tiles_a.index(stage), tiles_b.index(stage).permute((1, 0)), d, is_async=True)
        d = warpgroup_mma_wait(0, deps=(d,))
        mbarrier.arrive(empty.index(stage), count=1)
    row, column = gl.arange(0, M, gl.SliceLayout(1, LAYOUT)), gl.arange(0, N, gl.SliceLayout(0, LAYOUT))
    gl.store(c + row[:, None] * N + column[None, :], d)


@gluon.jit
def gluon_specialised(
    left,
    right,
    c,
    steps,
    M: gl.constexpr,
    N: gl.constexpr,
    K: gl.constexpr,
    STAGES: gl.constexpr,
    LAYOUT: gl.constexpr,
):
    tiles_a = gl.allocate_shared_memory(gl.float16, [STAGES, M, K], left.layout)
    tiles_b = gl.allocate_shared_memory(gl.float16, [STAGES, N, K], right.layout)
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(empty.index(i), count=1)
        mbarrier.init(full.index(i), count=1)
    gl.warp_specialize(
        [
            (consumer, (c, tiles_a, tiles_b, empty, full, steps, M, N, STAGES, LAYOUT)),
            (producer, (left, right, tiles_a, tiles_b, empty, full, steps, M, N, K, STAGES)),
        ],
        [1],
        [24],
    )


SHARED = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
SIZES = {
    "M": 64,
    "N": 128,
    "K": 64,
    "STAGES": 4,
    "SHARED": SHARED,
    "LAYOUT": gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16]),
}
DESCRIPTORS = {
    "left": f"tensordesc<fp16[64, 64],{SHARED!r}>",
    "right": f"tensordesc<fp16[128, 64],{SHARED!r}>",
    "out": f"tensordesc<fp16[64, 128],{SHARED!r}>",
}
TYPES = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "steps": "i32"} | DESCRIPTORS
KERNELS = tuple(
    Kernel(
        function.__name__,
        function,
        {name: TYPES[name] for name in function.arg_names if name in TYPES},
        SIZES,
        {"num_warps": 4},
    )
    for function in (gluon_tile, gluon_registers, gluon_pipelined, gluon_specialised)
)

if __name__ == "__main__":
    write(KERNELS, Path(sys.argv[1]))
