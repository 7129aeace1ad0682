"""Matrix products in Triton: plain, persistent, split, grouped, gathered, mixed, with tensor descriptors.

PYTHONPATH=TRITON python bench/corpus/triton/matmul.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from source import Kernel, write


@triton.jit
def matmul(
    a,
    b,
    c,
    m,
    n,
    k,
    stride_a,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    TRANSPOSED: tl.constexpr,
    D: tl.constexpr,
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    at_a = a + row[:, None] * stride_a + depth[None, :]
    if TRANSPOSED:
        at_b = b + column[None, :] * stride_b + depth[:, None]
    else:
        at_b = b + depth[:, None] * stride_b + column[None, :]
    d = tl.zeros((M, N), dtype=D)
    for step in range(0, tl.cdiv(k, K)):
        x = tl.load(at_a, mask=depth[None, :] < k - step * K, other=0.0)
        y = tl.load(at_b, mask=depth[:, None] < k - step * K, other=0.0)
        d = tl.dot(x, y, d, out_dtype=D)
        at_a += K
        at_b += K if TRANSPOSED else K * stride_b
    at_c = c + row[:, None] * stride_c + column[None, :]
    tl.store(at_c, d.to(c.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def matmul_mixed(
    a, b, scale, c, k, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    at_a = a + row[:, None] * stride_a + depth[None, :]
    at_b = b + depth[:, None] * stride_b + column[None, :]
    d = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        x = tl.load(at_a).to(b.dtype.element_ty)
        d = tl.dot(x, tl.load(at_b), d)
        at_a += K
        at_b += K * stride_b
    d *= tl.load(scale + row)[:, None]
    tl.store(c + row[:, None] * stride_c + column[None, :], d.to(c.dtype.element_ty))


@triton.jit
def matmul_computed(
    a, b, c, k, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    d = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        x = tl.load(a + row[:, None] * stride_a + step * K + depth[None, :]).to(tl.float32)
        x = x * tl.sigmoid(x)
        y = tl.load(b + (step * K + depth[:, None]) * stride_b + column[None, :])
        d = tl.dot(x.to(b.dtype.element_ty), y, d)
    tl.store(c + row[:, None] * stride_c + column[None, :], d.to(c.dtype.element_ty))


@triton.jit
def matmul_persistent(
    a,
    b,
    c,
    m,
    n,
    k,
    stride_a,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    tiles_n = tl.cdiv(n, N)
    for tile in range(tl.program_id(0), tl.cdiv(m, M) * tiles_n, PROGRAMS):
        row = tile // tiles_n * M + tl.arange(0, M)
        column = tile % tiles_n * N + tl.arange(0, N)
        depth = tl.arange(0, K)
        d = tl.zeros((M, N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, K)):
            x = tl.load(a + row[:, None] * stride_a + step * K + depth[None, :])
            y = tl.load(b + (step * K + depth[:, None]) * stride_b + column[None, :])
            d = tl.dot(x, y, d)
        tl.store(c + row[:, None] * stride_c + column[None, :], d.to(c.dtype.element_ty))


@triton.jit
def matmul_split(
    a,
    b,
    c,
    k,
    stride_a,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    SPLIT: tl.constexpr,
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.program_id(2) * K + tl.arange(0, K)
    at_a = a + row[:, None] * stride_a + depth[None, :]
    at_b = b + depth[:, None] * stride_b + column[None, :]
    d = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, K * SPLIT)):
        d = tl.dot(tl.load(at_a), tl.load(at_b), d)
        at_a += K * SPLIT
        at_b += K * SPLIT * stride_b
    tl.atomic_add(c + row[:, None] * stride_c + column[None, :], d)


@triton.jit
def matmul_gathered(
    a,
    b,
    c,
    rows,
    expert,
    k,
    stride_a,
    stride_e,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
):
    row = tl.load(rows + tl.program_id(0) * M + tl.arange(0, M))
    column = tl.program_id(1) * N + tl.arange(0, N)
    which = tl.load(expert + tl.program_id(0))
    if which == -1:
        return
    depth = tl.arange(0, K)
    at_a = a + row[:, None] * stride_a + depth[None, :]
    at_b = b + which * stride_e + depth[:, None] * stride_b + column[None, :]
    d = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, K)):
        d = tl.dot(tl.load(at_a), tl.load(at_b), d)
        at_a += K
        at_b += K * stride_b
    tl.store(c + row[:, None] * stride_c + column[None, :], d.to(c.dtype.element_ty))


@triton.jit
def matmul_block_scaled(
    a,
    b,
    scale_a,
    scale_b,
    c,
    k,
    stride_a,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    at_a = a + row[:, None] * stride_a + depth[None, :]
    at_b = b + column[None, :] * stride_b + depth[:, None]
    steps = tl.cdiv(k, K)
    d = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, steps):
        left, right = (
            tl.load(scale_a + row * steps + step),
            tl.load(scale_b + tl.program_id(1) * steps + step),
        )
        d += tl.dot(tl.load(at_a), tl.load(at_b)) * left[:, None] * right
        at_a += K
        at_b += K
    tl.store(c + row[:, None] * stride_c + column[None, :], d.to(c.dtype.element_ty))


@triton.jit
def chained(x, up, down, c, hidden, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, depth, width = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    left = tl.load(x + row[:, None] * stride + depth[None, :])
    d = tl.zeros((M, K), dtype=tl.float32)
    for start in range(0, hidden, N):
        h = tl.dot(left, tl.load(up + (start + width[None, :]) * stride + depth[:, None]))
        h = tl.maximum(h, 0).to(x.dtype.element_ty)
        d = tl.dot(h, tl.load(down + (start + width[:, None]) * stride + depth[None, :]), d)
    tl.store(c + row[:, None] * stride + depth[None, :], d.to(c.dtype.element_ty))


@triton.jit
def gated(x, gate, up, c, k, stride_x, stride_w, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    g, u = tl.zeros((M, N), dtype=tl.float32), tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        left = tl.load(x + row[:, None] * stride_x + step * K + depth[None, :])
        at = (step * K + depth[:, None]) * stride_w + column[None, :]
        g = tl.dot(left, tl.load(gate + at), g)
        u = tl.dot(left, tl.load(up + at), u)
    tl.store(c + row[:, None] * stride_c + column[None, :], (g * tl.sigmoid(g) * u).to(c.dtype.element_ty))


@triton.jit
def convolution(
    image,
    kernel,
    out,
    h,
    w,
    channels,
    filters,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    SIZE: tl.constexpr,
):
    pixel, filt = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    y, x, depth = pixel // w, pixel % w, tl.arange(0, K)
    d = tl.zeros((M, N), dtype=tl.float32)
    for i in range(0, SIZE * SIZE):
        yy, xx = y + i // SIZE - SIZE // 2, x + i % SIZE - SIZE // 2
        inside = (yy >= 0) & (yy < h) & (xx >= 0) & (xx < w)
        for start in range(0, channels, K):
            at = image + (yy * w + xx)[:, None] * channels + start + depth[None, :]
            left = tl.load(at, mask=inside[:, None], other=0)
            right = tl.load(kernel + (i * channels + start + depth[:, None]) * filters + filt[None, :])
            d = tl.dot(left, right, d)
    tl.store(out + pixel[:, None] * filters + filt[None, :], d.to(out.dtype.element_ty))


@triton.jit
def matmul_descriptor(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [N, K])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    d = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        d = tl.dot(left.load([row, step * K]), right.load([column, step * K]).T, d)
    out.store([row, column], d.to(c.dtype.element_ty))


@triton.jit
def matmul_host_descriptor(
    left,
    right,
    out,
    m,
    n,
    k,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PROGRAMS: tl.constexpr,
    WARP_SPECIALISED: tl.constexpr,
):
    tiles_n = tl.cdiv(n, N)
    for tile in tl.range(
        tl.program_id(0), tl.cdiv(m, M) * tiles_n, PROGRAMS, warp_specialize=WARP_SPECIALISED
    ):
        row, column = tile // tiles_n * M, tile % tiles_n * N
        d = tl.zeros((M, N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, K)):
            d = tl.dot(left.load([row, step * K]), right.load([column, step * K]).T, d)
        out.store([row, column], d.to(tl.float16))


@triton.jit
def matmul_old_descriptor(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    d = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K)):
        x = tl._experimental_descriptor_load(a, [row, step * K], [M, K], tl.float16)
        y = tl._experimental_descriptor_load(b, [column, step * K], [N, K], tl.float16)
        d = tl.dot(x, y.T, d)
    tl._experimental_descriptor_store(c, d.to(tl.float16), [row, column])


SIZES = {
    "m": "i32:16",
    "n": "i32:16",
    "k": "i32:16",
    "stride_a": "i32:16",
    "stride_b": "i32:16",
    "stride_c": "i32:16",
    "stride_e": "i32:16",
    "stride_x": "i32:16",
    "stride_w": "i32:16",
    "stride": "i32:16",
    "hidden": "i32:16",
    "h": "i32",
    "w": "i32",
    "channels": "i32:16",
    "filters": "i32:16",
}
BIG = {"M": 128, "N": 128, "K": 64}
PLAIN = {"TRANSPOSED": False, "D": tl.float32}


def sized(function: object, **types: str) -> dict[str, str]:
    """The types of a function's sizes and strides beside the given ones."""
    return {name: SIZES[name] for name in function.arg_names if name in SIZES} | types  # type: ignore[attr-defined]


def product(
    name: str, a: str, b: str, c: str, *, warps: int = 4, stages: int = 3, **constants: object
) -> Kernel:
    """One configuration of the plain product."""
    types = sized(matmul, a=f"*{a}", b=f"*{b}", c=f"*{c}")
    return Kernel(
        f"matmul_{name}", matmul, types, BIG | PLAIN | constants, {"num_warps": warps, "num_stages": stages}
    )


def other(
    function: object,
    types: dict[str, str],
    *,
    suffix: str = "",
    warps: int = 4,
    stages: int = 3,
    since: tuple[int, int] = (3, 0),
    **constants: object,
) -> Kernel:
    """One configuration of another kernel."""
    name = function.__name__ + suffix  # type: ignore[attr-defined]
    options = {"num_warps": warps, "num_stages": stages}
    return Kernel(name, function, sized(function, **types), BIG | constants, options, since)


HALF = {"a": "*fp16", "b": "*fp16", "c": "*fp16"}
DESCRIPTORS = {
    "left": "tensordesc<fp16[128, 64]>",
    "right": "tensordesc<fp16[128, 64]>",
    "out": "tensordesc<fp16[128, 128]>",
}
KERNELS = (
    product("fp16", "fp16", "fp16", "fp16"),
    product("fp16_n256", "fp16", "fp16", "fp16", N=256, warps=8, stages=4),
    product("fp16_one_stage", "fp16", "fp16", "fp16", stages=1),
    product("fp16_accumulator", "fp16", "fp16", "fp16", D=tl.float16),
    product("bf16", "bf16", "bf16", "bf16", warps=8),
    product("bf16_transposed", "bf16", "bf16", "bf16", TRANSPOSED=True, stages=4),
    product("tf32", "fp32", "fp32", "fp32", TRANSPOSED=True, K=32),
    product("e4m3", "fp8e4nv", "fp8e4nv", "fp16", TRANSPOSED=True, K=128),
    product("e5m2", "fp8e5", "fp8e5", "fp32", TRANSPOSED=True, K=128),
    product("s8", "i8", "i8", "i32", TRANSPOSED=True, K=128, D=tl.int32),
    product("small", "fp16", "fp16", "fp32", M=32, N=32, K=32),
    product("m64_n16", "bf16", "bf16", "fp32", M=64, N=16, K=64),
    product("f64", "fp64", "fp64", "fp64", M=32, N=32, K=16, D=tl.float64),
    other(matmul_mixed, {"a": "*i8", "b": "*bf16", "scale": "*fp32", "c": "*bf16"}),
    other(
        matmul_mixed, {"a": "*fp8e5", "b": "*fp16", "scale": "*fp32", "c": "*fp16"}, suffix="_e5m2", warps=8
    ),
    other(matmul_computed, HALF),
    other(matmul_computed, {"a": "*fp16", "b": "*bf16", "c": "*bf16"}, suffix="_four_stages", stages=4, N=64),
    other(matmul_persistent, HALF, PROGRAMS=132),
    other(matmul_persistent, HALF, suffix="_n256", PROGRAMS=132, N=256, warps=8, stages=4),
    other(matmul_split, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, SPLIT=4),
    other(matmul_gathered, HALF | {"rows": "*i32", "expert": "*i32"}),
    other(
        matmul_block_scaled,
        {"a": "*fp8e4nv", "b": "*fp8e4nv", "scale_a": "*fp32", "scale_b": "*fp32", "c": "*bf16"},
        K=128,
    ),
    other(chained, {"x": "*fp16", "up": "*fp16", "down": "*fp16", "c": "*fp16"}, N=64, K=128),
    other(gated, {"x": "*bf16", "gate": "*bf16", "up": "*bf16", "c": "*bf16"}, warps=8),
    other(convolution, {"image": "*fp16", "kernel": "*fp16", "out": "*fp16"}, SIZE=3),
    other(matmul_descriptor, HALF, since=(3, 4)),
    other(matmul_descriptor, HALF, suffix="_n256", since=(3, 4), N=256, warps=8, stages=4),
    other(matmul_host_descriptor, DESCRIPTORS, since=(3, 4), PROGRAMS=132, WARP_SPECIALISED=False),
    other(
        matmul_host_descriptor,
        DESCRIPTORS,
        suffix="_specialised",
        since=(3, 4),
        PROGRAMS=132,
        WARP_SPECIALISED=True,
        warps=8,
    ),
    other(matmul_old_descriptor, {"a": "*i8", "b": "*i8", "c": "*i8"}),
)

if __name__ == "__main__":
    write(KERNELS, Path(sys.argv[1]))
