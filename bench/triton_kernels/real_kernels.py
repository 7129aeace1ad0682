"""The Triton kernel of real_products.py, in a file of its own: Triton reads its source."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["product"]

_COLUMNS = 64


@triton.jit
def multiply(  # type: ignore[no-untyped-def]
    a, b, d, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, half: tl.constexpr
):
    """D = A B^T, a tile a program: A (M, K) and B (N, K) and D (M, N) lie row by row."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    along = tl.arange(0, depth)
    kind: tl.constexpr = tl.float16 if half else tl.float32
    total = tl.zeros((rows, columns), dtype=kind)
    for start in range(0, k, depth):
        left = tl.load(a + row[:, None] * k + (start + along)[None, :])
        right = tl.load(b + column[None, :] * k + (start + along)[:, None])
        total = tl.dot(left, right, total, input_precision="tf32", out_dtype=kind)
    width = tl.num_programs(1) * columns
    tl.store(d + row[:, None] * width + column[None, :], total)


def product(a: Any, b: Any, d: Any, rows: int) -> None:
    """D = A B^T on the GPU, in tiles of so many rows."""
    import torch

    depth = 128 // a.element_size()
    grid = a.shape[0] // rows, b.shape[0] // _COLUMNS
    multiply[grid](a, b, d, a.shape[1], rows, _COLUMNS, depth, d.dtype == torch.float16)
    torch.cuda.synchronize()
