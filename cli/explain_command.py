"""ptxmma explain: one element of D step by step, as a chip computes it."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..spec.api import find, load
from ..spec.arithmetic import arithmetic_of, negated
from ..spec.errors import Question
from ..spec.parts import computes, without_sums
from ..spec.quantities import counted

if TYPE_CHECKING:
    from ..gen.arithmetic.explanations import ExplainedBlock, ExplainedTerm, Explanation

__all__ = ["add"]

_Row = tuple[str, str, str, str]
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
    from ..gen.arithmetic.element_codes import code_of, codes_of
    from ..gen.arithmetic.explanations import explained
    from ..spec.dot_product import ElementCode

    specification, variant = load(), find(args.mnemonic)
    if not computes(variant.instruction):
        raise Question(without_sums(variant))
    arithmetic = arithmetic_of(variant, args.target)
    types, count = arithmetic.types, arithmetic.products
    negates = negated(variant, args.scale_a, args.scale_b)
    a, b = (
        [ElementCode(code, negate) for code in codes_of(specification, types[part], text, count, name)]
        for part, text, name, negate in zip(
            ("A", "B"), (args.a, args.b), ("--a", "--b"), negates, strict=True
        )
    )
    c = code_of(specification, types["C"], args.c, "--c")
    found = explained(specification, arithmetic, a, b, c)
    if args.format == "json":
        print(json.dumps({"mnemonic": variant.mnemonic, "target": args.target, **_as_json(found)}, indent=1))
        return 0
    source = arithmetic.row.source
    print(f"{variant.mnemonic} on {args.target}: {counted(count, 'product')}")
    print(f"row {arithmetic.row.id}: {source.note or source.section}")
    for number, block in enumerate(found.blocks, 1):
        print()
        _print_block(number, block, len(found.blocks))
    print()
    _print_end(found)
    return 0


def _print_block(number: int, block: ExplainedBlock, count: int) -> None:
    from ..gen.arithmetic.element_codes import number_text

    print(f"{f'sum {number}: ' if count > 1 else ''}{block.steps.block.model.what}")
    zeros = [term for term in block.terms if term.name.startswith("k ") and term.exact == 0]
    rows = _folded([_row(term) for term in block.terms if term not in zeros])
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  " + "  ".join([*cells, row[3]]).rstrip())
    if zeros:
        print(f"  {counted(len(zeros), 'product')} {'is' if len(zeros) == 1 else 'are'} 0")
    if block.quantum is not None:
        print(f"  window: the greatest exponent is {block.top}; its last place is 2^{block.quantum}")
    if block.total is not None:
        print(f"  sum: {number_text(block.total)}")
    print(f"  result: {_code(block.steps.block.result, block.steps.code)} = {number_text(block.value)}")


def _folded(rows: Sequence[_Row]) -> list[_Row]:
    """Rows of which neighbours that differ in their name alone are one."""
    found: list[_Row] = []
    firsts: list[str] = []
    for row in rows:
        if found and found[-1][1:] == row[1:] and row[0].startswith("k ") and firsts[-1].startswith("k "):
            found[-1] = (f"{firsts[-1]}..{row[0].removeprefix('k ')}", *row[1:])
        else:
            found.append(row)
            firsts.append(row[0])
    return found


def _row(term: ExplainedTerm) -> _Row:
    """A term's name, its patterns, its value, and what was cut off."""
    from ..gen.arithmetic.element_codes import number_text

    patterns = " x ".join(_code(element, code) for element, code in term.codes)
    value = number_text(term.exact)
    if isinstance(term.exact, Fraction) and term.kept is not None and term.kept != term.exact:
        return term.name, patterns, f"= {value}", f"kept {number_text(term.kept)}"
    return term.name, patterns, f"= {value}", ""


def _code(element: str, code: int) -> str:
    """A bit pattern with the digits of its type."""
    digits = -(-load().index.types[element].bits // 4)
    return f"{code:#0{digits + 2}x}"


def _print_end(found: Explanation) -> None:
    from ..gen.arithmetic.element_codes import number_text

    print(f"D = {_code(found.arithmetic.types['D'], found.code)} = {number_text(found.value)}")
    if found.exact is None:
        return
    if found.exact == found.value:
        print("exact: the same")
    elif isinstance(found.value, Fraction):
        print(f"exact: {number_text(found.exact)}; D - exact = {number_text(found.value - found.exact)}")
    else:
        print(f"exact: {number_text(found.exact)}")


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
