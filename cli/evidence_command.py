"""ptxmma evidence: which claims have which witnesses, what is stale, what differs."""

from __future__ import annotations

import argparse

from .options import add_scheduler

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "pattern", nargs="?", help="a row, a layout or a mnemonic, a part of one, or a pattern with *"
    )
    parser.add_argument("--prove", action="store_true", help="ask the solvers now (with a pattern)")
    parser.add_argument("--record", nargs="+", metavar="RELEASE", help="ask these assemblers, and record")
    parser.add_argument("--again", nargs="+", metavar="RELEASE", help="ask them, and compare with the record")
    parser.add_argument("--universes", action="store_true", help="also the whole universes of statements")
    parser.add_argument(
        "--arithmetic", action="store_true", help="only what products and sums keep on a chip"
    )
    parser.add_argument(
        "--peers", action="store_true", help="who agrees with each layout and field, and what rests on one"
    )
    parser.add_argument("--cases", action="store_true", help="also the cases of today's conformance suite")
    add_scheduler(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Recompute every verdict; exit code 1 for a stale claim or a disagreement that is not registered."""
    from .evidence_answers import answer

    return answer(args)
