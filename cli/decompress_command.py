"""ptxmma decompress: packed A and metadata words back to the full matrix."""

from __future__ import annotations

import argparse
from typing import Any

from ..spec.api import find, load
from ..spec.errors import Question
from ..spec.sparse import decompress_row, read_words
from .matrices import bits, from_bits, read, write

__all__ = ["add"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser("decompress", help="packed A and metadata words to the full matrix")
    parser.add_argument("packed", metavar="PACKED.npy", help="packed A, m x k/2")
    parser.add_argument("metadata", metavar="METADATA.npy", help="one 32-bit word a thread")
    parser.add_argument("mnemonic", help="the sparse variant")
    parser.add_argument("--selector", type=int, default=0, metavar="S", help="sparsity selector")
    parser.add_argument("--matrix", default="matrix.npy", metavar="FILE.npy", help="output: A, m x k")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Decompress; raises Question, naming row and chunk, for a code that the text does not allow."""
    specification = load()
    variant = find(args.mnemonic)
    sparsity = specification.sparsity_of(variant)
    metadata = specification.layout_of(variant, "metadata")
    parameters = specification.selector_parameters(metadata, args.selector)
    packed = read(args.packed, 2)
    words = read(args.metadata, 1)
    m, k = int(variant.fields["m"]), int(variant.fields["k"])
    wanted = m, k * sparsity.slots // sparsity.chunk
    if packed.shape != wanted:
        raise Question(f"{args.packed} is {packed.shape}; packed A of {variant.mnemonic} is {wanted}")
    threads = metadata.domain(parameters)["t"]
    if words.shape != (threads,) or words.dtype.kind not in "ui":
        raise Question(f"{args.metadata} must hold {threads} integers, one a thread")
    codes = read_words(sparsity, metadata, parameters, [int(word) for word in words])
    valid = specification.codes_of(variant)
    rows = [
        decompress_row(sparsity, row, codes[number], valid, 0, f"row {number}")
        for number, row in enumerate(bits(packed).tolist())
    ]
    write(args.matrix, from_bits(rows, packed.dtype))
    print(f"{args.matrix}: {m}x{k}")
    return 0
