"""Attention in Triton: forward, backward, decoding, linear, and with 8-bit scores.

PYTHONPATH=TRITON python bench/corpus/triton/attention.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from source import Kernel, write


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    logsum,
    length,
    scale,
    stride,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    base = tl.program_id(1) * stride
    row, column, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + base + row[:, None] * D + depth[None, :])
    top = tl.zeros((M,), dtype=tl.float32) - float("inf")
    total = tl.zeros((M,), dtype=tl.float32)
    o = tl.zeros((M, D), dtype=tl.float32)
    end = (tl.program_id(0) + 1) * M if CAUSAL else length
    for start in range(0, end, N):
        start = tl.multiple_of(start, N)
        key = tl.load(k + base + (start + column[None, :]) * D + depth[:, None])
        s = tl.dot(query, key) * scale
        if CAUSAL:
            s = tl.where(row[:, None] >= start + column[None, :], s, -1.0e30)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        factor = tl.math.exp2(top - new)
        total = total * factor + tl.sum(p, 1)
        o = o * factor[:, None]
        value = tl.load(v + base + (start + column[:, None]) * D + depth[None, :])
        o = tl.dot(p.to(value.dtype), value, o)
        top = new
    o = o / total[:, None]
    tl.store(logsum + tl.program_id(1) * length + row, top + tl.math.log2(total))
    tl.store(out + base + row[:, None] * D + depth[None, :], o.to(out.dtype.element_ty))


@triton.jit
def attention_keys(
    q, k, v, do, logsum, delta, dk, dv, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    column, depth = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)
    key = tl.load(k + column[:, None] * D + depth[None, :])
    value = tl.load(v + column[:, None] * D + depth[None, :])
    sum_k, sum_v = tl.zeros((N, D), dtype=tl.float32), tl.zeros((N, D), dtype=tl.float32)
    for start in range(0, length, M):
        row = start + tl.arange(0, M)
        query_t = tl.load(q + row[None, :] * D + depth[:, None])
        p = tl.math.exp2(tl.dot(key, query_t) * scale - tl.load(logsum + row)[None, :])
        gradient = tl.load(do + row[:, None] * D + depth[None, :])
        sum_v = tl.dot(p.to(gradient.dtype), gradient, sum_v)
        dp = tl.dot(value, tl.trans(gradient))
        ds = p * (dp - tl.load(delta + row)[None, :])
        sum_k = tl.dot(ds.to(query_t.dtype), tl.trans(query_t), sum_k)
    tl.store(dk + column[:, None] * D + depth[None, :], (sum_k * scale).to(dk.dtype.element_ty))
    tl.store(dv + column[:, None] * D + depth[None, :], sum_v.to(dv.dtype.element_ty))


@triton.jit
def attention_queries(
    q, k, v, do, logsum, delta, dq, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    row, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    query = tl.load(q + row[:, None] * D + depth[None, :])
    gradient = tl.load(do + row[:, None] * D + depth[None, :])
    largest, mean = tl.load(logsum + row), tl.load(delta + row)
    total = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, length, N):
        column = start + tl.arange(0, N)
        key_t = tl.load(k + column[None, :] * D + depth[:, None])
        value_t = tl.load(v + column[None, :] * D + depth[:, None])
        p = tl.math.exp2(tl.dot(query, key_t) * scale - largest[:, None])
        ds = p * (tl.dot(gradient, value_t) - mean[:, None])
        total = tl.dot(ds.to(key_t.dtype), tl.trans(key_t), total)
    tl.store(dq + row[:, None] * D + depth[None, :], (total * scale).to(dq.dtype.element_ty))


@triton.jit
def attention_paged(q, k, v, pages, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    row, column, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + tl.program_id(0) * M * D + row[:, None] * D + depth[None, :])
    top = tl.zeros((M,), dtype=tl.float32) - float("inf")
    total = tl.zeros((M,), dtype=tl.float32)
    o = tl.zeros((M, D), dtype=tl.float32)
    for block in range(0, tl.cdiv(length, N)):
        page = tl.load(pages + tl.program_id(0) * 128 + block)
        at = (page * N + column) * D
        inside = block * N + column < length
        key = tl.load(k + at[None, :] + depth[:, None], mask=inside[None, :], other=0)
        s = tl.where(inside[None, :], tl.dot(query, key) * scale, -1.0e30)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        factor = tl.math.exp2(top - new)
        total = total * factor + tl.sum(p, 1)
        value = tl.load(v + at[:, None] + depth[None, :], mask=inside[:, None], other=0)
        o = tl.dot(p.to(value.dtype), value, o * factor[:, None])
        top = new
    tl.store(
        out + tl.program_id(0) * M * D + row[:, None] * D + depth[None, :],
        (o / total[:, None]).to(out.dtype.element_ty),
    )


@triton.jit
def attention_s8(q, k, v, scale_q, scale_k, out, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    row, column, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + row[:, None] * D + depth[None, :])
    left = tl.load(scale_q + tl.program_id(0))
    top = tl.zeros((M,), dtype=tl.float32) - float("inf")
    total = tl.zeros((M,), dtype=tl.float32)
    o = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, length, N):
        key = tl.load(k + (start + column[None, :]) * D + depth[:, None])
        s = tl.dot(query, key, out_dtype=tl.int32).to(tl.float32) * (left * tl.load(scale_k + start // N))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        factor = tl.math.exp2(top - new)
        total = total * factor + tl.sum(p, 1)
        value = tl.load(v + (start + column[:, None]) * D + depth[None, :])
        o = tl.dot(p.to(tl.float16), value, o * factor[:, None])
        top = new
    tl.store(out + row[:, None] * D + depth[None, :], (o / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def linear_attention(q, k, v, out, length, C: tl.constexpr, D: tl.constexpr):
    row, depth = tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros((D, D), dtype=tl.float32)
    mask = row[:, None] >= row[None, :]
    for start in range(0, length, C):
        at = (start + row[:, None]) * D + depth[None, :]
        query, key, value = tl.load(q + at), tl.load(k + at), tl.load(v + at)
        s = tl.where(mask, tl.dot(query, tl.trans(key)), 0)
        o = tl.dot(s.to(value.dtype), value)
        o = tl.dot(query, state.to(query.dtype), o)
        state = tl.dot(tl.trans(key), value, state)
        tl.store(out + at, o.to(out.dtype.element_ty))


@triton.jit
def attention_descriptor(
    q,
    k,
    v,
    out,
    length,
    scale,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
    WARP_SPECIALISED: tl.constexpr,
):
    query = q.load([tl.program_id(0) * M, 0])
    top = tl.zeros((M,), dtype=tl.float32) - float("inf")
    total = tl.zeros((M,), dtype=tl.float32)
    o = tl.zeros((M, D), dtype=tl.float32)
    for start in tl.range(0, length, N, warp_specialize=WARP_SPECIALISED):
        key = k.load([start, 0])
        s = tl.dot(query, key.T) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        factor = tl.math.exp2(top - new)
        total = total * factor + tl.sum(p, 1)
        value = v.load([start, 0])
        o = tl.dot(p.to(tl.float16), value, o * factor[:, None])
        top = new
    out.store([tl.program_id(0) * M, 0], (o / total[:, None]).to(tl.float16))


HALF = dict.fromkeys(("q", "k", "v", "out", "do", "dq", "dk", "dv"), "*fp16")
SCALARS = {
    "logsum": "*fp32",
    "delta": "*fp32",
    "scale_q": "*fp32",
    "scale_k": "*fp32",
    "pages": "*i32",
    "length": "i32:16",
    "stride": "i32:16",
    "scale": "fp32",
}
TILE = {"M": 128, "N": 64, "D": 64}


def kernel(
    function: object,
    *,
    suffix: str = "",
    kind: str = "fp16",
    types: dict[str, str] | None = None,
    warps: int = 4,
    stages: int = 3,
    since: tuple[int, int] = (3, 0),
    **constants: object,
) -> Kernel:
    """One configuration of one kernel."""
    names = function.arg_names  # type: ignore[attr-defined]
    known = {name: text.replace("fp16", kind) for name, text in HALF.items()} | SCALARS | (types or {})
    return Kernel(
        function.__name__ + suffix,  # type: ignore[attr-defined]
        function,
        {name: known[name] for name in names if name in known},
        TILE | constants,
        {"num_warps": warps, "num_stages": stages},
        since,
    )


DESCRIPTORS = {
    "q": "tensordesc<fp16[128, 64]>",
    "k": "tensordesc<fp16[64, 64]>",
    "v": "tensordesc<fp16[64, 64]>",
    "out": "tensordesc<fp16[128, 64]>",
}
KERNELS = (
    kernel(attention, CAUSAL=False),
    kernel(attention, suffix="_causal", kind="bf16", CAUSAL=True, N=128, D=128, warps=8),
    kernel(attention, suffix="_four_stages", CAUSAL=False, stages=4, M=64),
    kernel(attention_keys, stages=2),
    kernel(attention_keys, suffix="_bf16", kind="bf16", stages=2, M=64, N=128, D=128, warps=8),
    kernel(attention_queries),
    kernel(attention_paged, M=64),
    kernel(attention_paged, suffix="_m16", M=16, N=32),
    kernel(attention_s8, types={"q": "*i8", "k": "*i8"}),
    kernel(linear_attention, C=64, stages=2),
    kernel(linear_attention, suffix="_bf16", kind="bf16", C=64, D=128, stages=2, warps=8),
    kernel(attention_descriptor, types=DESCRIPTORS, since=(3, 4), WARP_SPECIALISED=False),
    kernel(
        attention_descriptor,
        suffix="_specialised",
        types=DESCRIPTORS,
        since=(3, 4),
        warps=8,
        WARP_SPECIALISED=True,
    ),
)

if __name__ == "__main__":
    write(KERNELS, Path(sys.argv[1]))
