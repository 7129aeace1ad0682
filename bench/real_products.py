"""Whole outputs of matrix products on a Hopper GPU, reproduced bit for bit from their inputs.

python bench/real_products.py [--size N] [--k K]    # needs a GPU, torch and triton

Triton's products add along K in one accumulator, in steps of the instruction's K. torch's fp8 product does so
too, or starts again every 128 and adds in f32; its f16 and bf16 products split K, and the table says into how
many parts. The exit code is 1 where an output is not reproduced, 2 without a GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import ptxmma
from ptxmma.cli.main import run_script
from ptxmma.spec.errors import Question

Codes = NDArray[Any]

# What Triton multiplies: the type, a tile's rows, whether accumulators are f16, the step, the instruction.
TRITON = (
    ("float16", 64, False, 16, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"),
    ("bfloat16", 64, False, 16, "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"),
    ("float32", 64, False, 8, "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32"),
    ("float8_e4m3fn", 64, False, 32, "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"),
    ("float16", 64, True, 16, "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16"),
    ("float16", 16, False, 16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
)
LIBRARY = (("float16", TRITON[0][-1]), ("bfloat16", TRITON[1][-1]))
PROMOTED = 128  # products of fp8 that torch adds before it adds in f32
PARTS = 16  # parts of K, at most
TILE = 64  # products along K that a library loads at once


def codes_of(tensor: Any) -> Codes:
    """The bit patterns of a tensor."""
    torch = import_module("torch")

    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
    whole: Codes = tensor.contiguous().view(kinds[tensor.element_size()]).cpu().numpy()
    return whole.view(f"u{whole.itemsize}")


def chain(mnemonic: str, step: int, a: Codes, b: Codes) -> Codes:
    """The product of a (M, K) and of b (N, K) in one accumulator, `step` products at a time."""
    m, n = len(a), len(b)
    c: Codes = np.zeros(m * n, np.uint64)
    for k in range(0, a.shape[1], step):
        rows = np.repeat(a[:, k : k + step], n, axis=0)
        c = ptxmma.dot(mnemonic, rows, np.tile(b[:, k : k + step], (m, 1)), c)
    return c.reshape(m, n)


def added(mnemonic: str, step: int, a: Codes, b: Codes, length: int) -> NDArray[np.float32]:
    """The same in parts of K, which are added in f32."""
    total = np.zeros((len(a), len(b)), np.float32)
    for k in range(0, a.shape[1], length):
        part = chain(mnemonic, step, a[:, k : k + length], b[:, k : k + length])
        total = total + part.astype(np.uint32).view(np.float32)
    return total


def drawn(size: int, k: int, kind: str, scale: float = 1.0) -> Any:
    """A matrix of normally distributed numbers on the GPU."""
    torch = import_module("torch")

    return (torch.randn(size, k, device="cuda") * scale).to(getattr(torch, kind))


def by_triton(size: int, k: int) -> Iterator[tuple[str, str, int]]:
    """Triton's products: the name, the instruction, how many elements differ."""
    torch = import_module("torch")
    product = import_module("triton_kernels.real_kernels").product

    for kind, rows, half, step, mnemonic in TRITON:
        a, b = (drawn(size, k, kind, 0.2 if half else 1.0) for _ in "ab")
        result = torch.zeros(size, size, device="cuda", dtype=torch.float16 if half else torch.float32)
        product(a, b, result, rows)
        wanted = chain(mnemonic, step, codes_of(a), codes_of(b))
        name = f"Triton, {kind}, {rows} rows{', f16 accumulators' if half else ''}"
        yield name, mnemonic, int((wanted != codes_of(result)).sum())


def by_torch(size: int, k: int) -> Iterator[tuple[str, str, int]]:
    """torch's products."""
    torch = import_module("torch")

    mnemonic = "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"
    a, b = (drawn(size, k, "float8_e4m3fn") for _ in "ab")
    one = torch.ones((), device="cuda")
    for fast, length in ((True, k), (False, PROMOTED)):
        result = torch._scaled_mm(
            a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=fast
        )
        wanted = added(mnemonic, 32, codes_of(a), codes_of(b), length).view(np.uint32)
        yield f"torch, fp8, parts of {length}", mnemonic, int((wanted != codes_of(result)).sum())
    for kind, mnemonic in LIBRARY:
        a, b = (drawn(size, k, kind) for _ in "ab")
        result = codes_of(a @ b.t())
        for parts in range(1, PARTS + 1):
            length = -(-k // parts // TILE) * TILE
            whole = torch.from_numpy(added(mnemonic, 16, codes_of(a), codes_of(b), length))
            differ = int((codes_of(whole.to(getattr(torch, kind))) != result).sum())
            if not differ:
                break
        yield f"torch, {kind}, parts of {length}", mnemonic, differ


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", type=int, default=64, metavar="N", help="rows and columns, a multiple of 64"
    )
    parser.add_argument("--k", type=int, default=4096, metavar="K", help="a multiple of 128")
    args = parser.parse_args()
    try:
        torch, _ = import_module("torch"), import_module("triton")
    except ImportError as error:
        raise Question(f"the products need torch and triton: {error}") from None
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        raise Question("there is no GPU of compute capability 9.0")
    torch.manual_seed(0)
    table = Table("product", "instruction", "elements", "differ", title=torch.cuda.get_device_name())
    right = True
    for products in (by_triton, by_torch):
        for name, mnemonic, differ in products(args.size, args.k):
            table.add_row(name, mnemonic, f"{args.size**2:,}", f"{differ:,}")
            right = right and not differ
    Console(width=160).print(table)
    return 0 if right else 1


if __name__ == "__main__":
    run_script(main)
