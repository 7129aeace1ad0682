"""ptxmma decompress: packed A and metadata words back to the full matrix."""

from __future__ import annotations

import argparse

from ..spec.api import find, load

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("mnemonic", help="the sparse variant")
    parser.add_argument("packed", metavar="PACKED.npy", help="packed A, as `compress` writes it")
    parser.add_argument(
        "metadata",
        metavar="METADATA.npy",
        help="one 32-bit word a thread; of several tiles, (row tiles, column tiles, threads)",
    )
    parser.add_argument("--selector", type=int, default=0, metavar="S", help="sparsity selector")
    parser.add_argument("--matrix", default="matrix.npy", metavar="FILE.npy", help="output: A")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Decompress; raises Question, naming row and chunk, for a code that the text does not allow."""
    from ..gen.sparse_arrays import SparseA
    from .matrices import read, refuse_one_file_twice, write

    sparse = SparseA(load(), find(args.mnemonic), args.selector)
    refuse_one_file_twice(args.packed, args.metadata, args.matrix)
    matrix = sparse.decompress(read(args.packed), read(args.metadata))
    write({args.matrix: matrix})
    print(f"{args.matrix}: {matrix.shape[0]}x{matrix.shape[1]}, selector {args.selector}")
    return 0
