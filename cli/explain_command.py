"""ptxmma explain: one element of D step by step, as a chip computes it."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

from ..spec.api import find, load

if TYPE_CHECKING:
    from ..gen.arithmetic.explanations import ExplainedTerm, Explanation

__all__ = ["add"]

_ELEMENTS = (
    "elements, separated by commas: numbers (1.5, -0, inf, nan), patterns (0x3c00), VALUE*COUNT for several"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("mnemonic", help="the variant")
    parser.add_argument(
        "--a", required=True, metavar="LIST", help=f"the row of A: {_ELEMENTS}; the rest is 0"
    )
    parser.add_argument("--b", required=True, metavar="LIST", help="a column of B, likewise")
    parser.add_argument("--c", default="0", metavar="VALUE", help="the element of C (default: 0)")
    parser.add_argument("--scale-a", type=int, default=1, metavar="S", help="-1 negates the elements of A")
    parser.add_argument("--scale-b", type=int, default=1, metavar="S", help="-1 negates the elements of B")
    parser.add_argument(
        "--target", default="sm_90a", metavar="TARGET", help="the chip (default: %(default)s)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)
    parser._negative_number_matcher = re.compile(r"-(\d|\.|inf)")  # a list may begin with a minus


def run(args: argparse.Namespace) -> int:
    """Explain one element of D."""
    from ..gen.arithmetic.explained_elements import explained_element

    variant = find(args.mnemonic)
    written = {"--a": args.a, "--b": args.b, "--c": args.c}
    found = explained_element(load(), variant, args.target, written, (args.scale_a, args.scale_b))
    if args.format == "json":
        record = {"mnemonic": variant.mnemonic, "target": args.target, **_as_json(found.explanation)}
        print(json.dumps(record, indent=1))
    else:
        print(found)
    return 0


def _as_json(found: Explanation) -> dict[str, Any]:
    from ..gen.arithmetic.element_codes import number_text

    def term(one: ExplainedTerm) -> dict[str, Any]:
        return {
            "term": one.name,
            "codes": [code for _, code in one.codes],
            "exact": number_text(one.exact),
            "kept": None if one.kept is None else number_text(one.kept),
        }

    return {
        "row": found.arithmetic.row.id,
        "sums": [
            {
                "model": block.steps.block.step.model,
                "integers": dict(block.steps.block.integers),
                "terms": [term(one) for one in block.terms],
                "top": block.top,
                "quantum": block.quantum,
                "sum": None if block.total is None else number_text(block.total),
                "type": block.steps.block.result,
                "code": block.steps.code,
            }
            for block in found.blocks
        ],
        "code": found.code,
        "value": number_text(found.value),
        "exact": None if found.exact is None else number_text(found.exact),
    }
