"""ptxmma run: a conformance suite on a GPU, the GPU measured, its sums held against their model."""

from __future__ import annotations

import argparse

from ..devices.suite_runs import VIAS
from ..spec.errors import Question
from .options import seconds, whole

__all__ = ["add"]

_TARGET = "sm_90a"
_COUNT = 10**7  # sums of each kernel


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("suite", nargs="?", help="a suite's folder, or a pattern as `gen` takes it")
    parser.add_argument(
        "--target", metavar="T", help=f"what it is for (default: the suite's own, or {_TARGET})"
    )
    parser.add_argument("--device", type=int, default=0, metavar="N", help="which GPU (default: %(default)s)")
    parser.add_argument(
        "--via", choices=(*VIAS, "both"), default="both", help="PTX as it is, nvcc's binaries"
    )
    parser.add_argument(
        "--measure", action="store_true", help="also measure the rows' maps, metadata and arithmetic"
    )
    parser.add_argument(
        "--arithmetic",
        action="store_true",
        help="sums of drawn inputs beside spec/arithmetic, in place of a suite",
    )
    parser.add_argument(
        "--count", type=whole, metavar="N", help="how many sums of each kernel (default: 1e7)"
    )
    parser.add_argument(
        "--invalid-codes",
        action="store_true",
        help="with --arithmetic: sparse products, with metadata codes that the text calls invalid",
    )
    parser.add_argument("--seed", type=whole, metavar="S", help="which inputs (default: 1)")
    parser.add_argument(
        "--record",
        action="store_true",
        help="measure it all (or with --arithmetic, the trials), and write it to evidence/",
    )
    parser.add_argument("--limit", type=seconds, default=20.0, metavar="S", help="seconds for one kernel")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build, run, report; exit code 1 when a case fails or something measured differs, 2 without a GPU."""
    if args.arithmetic:
        if args.measure or args.via != "both":
            raise Question("--arithmetic runs no suite: it goes without --measure and --via")
        from .trial_running import run_trials

        args.count, args.seed = args.count or _COUNT, args.seed or 1
        return run_trials(args, _TARGET)
    if args.count or args.seed or args.invalid_codes:
        raise Question("--count, --seed and --invalid-codes go with --arithmetic")
    from .suite_running import run_suite

    return run_suite(args, _TARGET)
