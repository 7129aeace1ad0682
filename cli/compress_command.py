"""ptxmma compress: a sparse matrix to packed A and metadata words."""

from __future__ import annotations

import argparse
from typing import Any

from ..spec.api import find, load
from ..spec.sparse import compress_row, metadata_words
from .matrices import bits, from_bits, read, words, write

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("compress", help="a sparse matrix to packed A and metadata words")
    parser.add_argument("matrix", metavar="FILE.npy", help="A, m x k, of the right sparsity")
    parser.add_argument("mnemonic", help="the sparse variant")
    parser.add_argument("--selector", type=int, default=0, metavar="S", help="sparsity selector")
    parser.add_argument("--packed", default="packed.npy", metavar="FILE.npy", help="output: packed A")
    parser.add_argument(
        "--metadata", default="metadata.npy", metavar="FILE.npy", help="output: one word a thread"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compress. Every element keeps its bits; only +0 counts as absent (−0.0 is a value)."""
    specification = load()
    variant = find(args.mnemonic)
    sparsity = specification.sparsity_of(variant)
    metadata = specification.layout_of(variant, "metadata")
    parameters = specification.selector_parameters(metadata, args.selector)
    matrix = read(args.matrix, 2)
    specification.check_matrix(variant, matrix.shape[0], [matrix.shape[1]])
    packed, codes = [], []
    for number, row in enumerate(bits(matrix).tolist()):
        stored, row_codes = compress_row(sparsity, row, bool, f"row {number}")
        packed.append(stored)
        codes.append(row_codes)
    threads = metadata_words(sparsity, metadata, parameters, codes)
    write(args.packed, from_bits(packed, matrix.dtype))
    write(args.metadata, words(threads))
    print(
        f"{args.packed}: {len(packed)}x{len(packed[0])}; {args.metadata}: {len(threads)} words, "
        f"one a thread, selector {args.selector}"
    )
    return 0
