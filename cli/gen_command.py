"""ptxmma gen: a conformance suite as PTX and CUDA sources with the program that runs it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..spec.api import load
from ..spec.errors import Question
from ..spec.quantities import counted
from ..spec.selection import select, unmatched
from ..spec.writing import write_folder

__all__ = ["add"]

_KINDS = ("ptx", "cuda")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("pattern", nargs="?", help="a mnemonic, a part of one, or a pattern with *")
    parser.add_argument(
        "--target", default="sm_90a", metavar="T", help="the target of the suite (default: %(default)s)"
    )
    parser.add_argument("--ptx", metavar="V", help="only what this PTX ISA version has")
    parser.add_argument("--kind", choices=_KINDS, help="only PTX, or only CUDA (default: both)")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new or empty folder")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the suite and print what it covers."""
    from ..gen.suite.files import emitted, lacking, suite_of

    folder = Path(args.out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Question(f"{folder} is not an empty folder")
    specification = load()
    chosen = [v for v in select(specification, args.pattern, args.ptx, args.target) if emitted(v)]
    known = [variant for variant in select(specification, None, args.ptx, args.target) if emitted(variant)]
    others = [
        variant
        for variant in select(specification, args.pattern, args.ptx, None)
        if emitted(variant) and args.target not in dict(variant.gate.targets)
    ]
    if not chosen and not others:
        raise Question(unmatched(specification, args.pattern, args.ptx))
    suite = suite_of(specification, chosen, known, args.target, others)
    write_folder(folder, suite.files(args.kind))
    width = max((len(covered.group) for covered in suite.coverage), default=0)
    for covered in suite.coverage:
        print(
            f"{covered.group:<{width}}  {counted(covered.mnemonics, 'mnemonic'):>14}  "
            f"{counted(covered.kernels, 'kernel'):>12}  {counted(covered.cases, 'case'):>11}  "
            f"{covered.pairs}/{counted(covered.possible, 'pair')}"
        )
    for row, why in lacking([*chosen, *others], args.target).items():
        print(f"not run: {row}: {why}")
    kernels = sum(len(module.kernels) for module in suite.modules)
    cases = sum(map(len, suite.cases.values()))
    totals = counted(len(chosen), "mnemonic"), counted(kernels, "kernel"), counted(cases, "case")
    print(f"{', '.join(totals)} in {folder}")
    if others:
        count = sum(len(module.kernels) for module in suite.elsewhere)
        print(
            f"not run: {counted(len(others), 'mnemonic')} that {args.target} does not have, "
            f"{counted(count, 'kernel')}"
        )
    return 0
