"""ptxmma compress: a sparse matrix to packed A and metadata words."""

from __future__ import annotations

import argparse

from ..spec.api import find, load

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("mnemonic", help="the sparse variant")
    parser.add_argument("matrix", metavar="FILE.npy", help="A, any multiple of m x k, of the right sparsity")
    parser.add_argument("--selector", type=int, default=0, metavar="S", help="sparsity selector")
    parser.add_argument("--packed", default="packed.npy", metavar="FILE.npy", help="output: packed A")
    parser.add_argument(
        "--metadata",
        default="metadata.npy",
        metavar="FILE.npy",
        help="output: one word a thread; of several tiles, (row tiles, column tiles, threads)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compress. Every element keeps its bits; only +0 counts as absent (−0.0 is a value)."""
    from ..gen.sparse_arrays import SparseA
    from .matrices import read, refuse_one_file_twice, write

    sparse = SparseA(load(), find(args.mnemonic), args.selector)
    refuse_one_file_twice(args.matrix, args.packed, args.metadata)
    packed, words = sparse.compress(read(args.matrix))
    down, across, threads = words.shape
    one = down == across == 1
    write({args.packed: packed, args.metadata: words.reshape(threads) if one else words})
    tiles = "" if one else f" for each of {down}x{across} tiles"
    print(
        f"{args.packed}: {packed.shape[0]}x{packed.shape[1]}; {args.metadata}: {threads} words{tiles}, "
        f"one a thread, selector {args.selector}"
    )
    return 0
