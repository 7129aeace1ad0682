"""ptxmma compute: D = A*B + C of matrices in files, as a chip computes it."""

from __future__ import annotations

import argparse

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("mnemonic", help="the variant")
    parser.add_argument("a", metavar="A.npy", help="A, any multiple of m x k")
    parser.add_argument("b", metavar="B.npy", help="B, any multiple of k x n")
    parser.add_argument("c", metavar="C.npy", nargs="?", help="C (default: 0)")
    parser.add_argument("--metadata", metavar="FILE.npy", help="of packed A, as `ptxmma compress` writes it")
    parser.add_argument("--selector", type=int, metavar="S", help="sparsity selector of the metadata")
    parser.add_argument(
        "--accumulate",
        type=int,
        metavar="N",
        help="add the sum of every N columns to an accumulator",
    )
    parser.add_argument("--scale-a", type=int, default=1, metavar="S", help="-1 negates the elements of A")
    parser.add_argument("--scale-b", type=int, default=1, metavar="S", help="-1 negates the elements of B")
    parser.add_argument(
        "--target", default="sm_90a", metavar="TARGET", help="which chip (default: %(default)s)"
    )
    parser.add_argument("--out", default="D.npy", metavar="FILE.npy", help="output (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compute D and write it."""
    from ..api import matmul
    from .matrices import read, refuse_one_file_twice, write

    inputs = [name for name in (args.a, args.b, args.c, args.metadata) if name is not None]
    for name in dict.fromkeys(inputs):
        refuse_one_file_twice(name, args.out)
    found = matmul(
        args.mnemonic,
        read(args.a),
        read(args.b),
        None if args.c is None else read(args.c),
        metadata=None if args.metadata is None else read(args.metadata),
        selector=args.selector,
        accumulate=args.accumulate,
        target=args.target,
        scale_a=args.scale_a,
        scale_b=args.scale_b,
    )
    write({args.out: found})
    print(f"{args.out}: {found.shape[0]}x{found.shape[1]} {found.dtype}")
    return 0
