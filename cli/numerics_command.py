"""ptxmma numerics: what the sums of a chip keep, round and lose, for every set of types."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..spec.api import load
from ..spec.quantities import counted
from ..spec.selection import summing

if TYPE_CHECKING:
    from ..gen.arithmetic.type_sets import Growth, TypeSet

__all__ = ["add"]

_SHOWN = 4  # products that are named where they do not follow each other, and sums of a chain
_PATTERN = 4096  # integers from here on are shown in hexadecimal
_NOTES = (
    "k: which products are added at once; `then`: a sum to which the one before is added",
    "1 is lost at: the least n, in C, of which n + 1 * 1 is not more than n",
    "error: how far a sum is at most from the exact sum of its terms, if it is not too large for its type;"
    " e: the greatest exponent of its terms, -floor at least; u11: one unit of its 11th significant digit,"
    " and no less than one of the last place of its type, or of the window; u11/2: half of it",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("pattern", nargs="?", help="a mnemonic, a part of one, or a pattern with *")
    parser.add_argument(
        "--target", default="sm_90a", metavar="TARGET", help="the chip (default: %(default)s)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from ..gen.arithmetic.type_sets import growths_of, type_sets

    target = load().isa.target(args.target)
    found = list(type_sets(load(), summing(load(), args.pattern, target), target))
    growths = growths_of(load(), (one.arithmetic for one in found))
    records = [_record(one, growth) for one, growth in zip(found, growths, strict=True)]
    models = {block.step.model: block.model for one in found for block in one.arithmetic.blocks}
    if args.format == "json":
        described = {name: {"what": model.what, "integers": model.integers} for name, model in models.items()}
        print(json.dumps({"target": target, "models": described, "sums": records}, indent=1))
        return 0
    print(f"sums on {target}: {counted(len(records), 'set')} of types")
    for row in dict.fromkeys(record["row"] for record in records):
        print()
        _print_row([record for record in records if record["row"] == row])
    for name, model in models.items():
        print(f"\n{name}: {model.what}")
        for integer, what in model.integers.items():
            print(f"  {integer}: {what}")
    print("", *_NOTES, sep="\n")
    return 0


def _record(one: TypeSet, growth: Growth) -> dict[str, Any]:
    """A type set as the JSON output has it."""
    from ..gen.arithmetic.element_codes import number_text
    from ..gen.arithmetic.type_sets import addend_names
    from ..spec.sum_bounds import bound_of

    arithmetic = one.arithmetic
    steps: dict[str, dict[str, Any]] = {}
    for block in arithmetic.blocks:
        bound = bound_of(load(), arithmetic, block)
        step = steps.setdefault(
            block.step.id,
            {
                "step": block.step.id,
                "model": block.step.model,
                "integers": dict(block.integers),
                "type": block.result,
                "adds": list(addend_names(arithmetic, block)),
                "products": [],
                "bounds": [],
            },
        )
        step["products"].append(list(block.products))
        if bound is not None:
            step["bounds"].append(asdict(bound) | {"cut": str(bound.cut), "text": bound.text})
    source = arithmetic.row.source
    return {
        "row": arithmetic.row.id,
        "note": source.note or source.section,
        "instruction": one.instruction,
        "mnemonic": one.variant.mnemonic,
        "mnemonics": one.mnemonics,
        "types": dict(arithmetic.types),
        "products": arithmetic.products,
        "steps": list(steps.values()),
        "one_times_one": number_text(growth.first),
        "one_is_lost_at": growth.last,
        "wraps": growth.wraps,
    }


def _print_row(records: Sequence[dict[str, Any]]) -> None:
    """The table of one row of the specification: a line a step of each kind of sum."""
    names = dict.fromkeys(name for record in records for step in record["steps"] for name in step["integers"])
    print(f"{records[0]['row']}: {', '.join(dict.fromkeys(record['instruction'] for record in records))}")
    print(f"{records[0]['note']}")
    lines = [["A x B", "C", "D", "K", "sum", "model", *names, "type", "error", "1 is lost at"]]
    for folded in _folded(records):
        first = folded[0]
        types = first["types"]
        pairs = dict.fromkeys(f"{one['types']['A']} x {one['types']['B']}" for one in folded)
        head = [", ".join(pairs), types["C"], types["D"], str(first["products"])]
        last = _growth(first)
        for step in first["steps"]:
            integers = [_integer(step["integers"].get(name)) for name in names]
            lines.append([*head, _terms(step), step["model"], *integers, step["type"], _error(step), last])
            head, last = [""] * len(head), ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  " + "  ".join(map(str.ljust, line, widths)).rstrip())


def _folded(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Type sets that differ in the instruction and in the types of A and B alone are one line."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        types = record["types"]
        alike = (types["C"], types["D"], record["products"], record["steps"], _growth(record))
        found.setdefault(repr(alike), []).append(record)
    yield from found.values()


def _growth(record: dict[str, Any]) -> str:
    """Where 1 is lost, in words."""
    from ..gen.arithmetic.type_sets import growth_text

    return growth_text(record["one_times_one"], record["one_is_lost_at"], record["wraps"])


def _integer(value: int | None) -> str:
    return "" if value is None else f"{value:#x}" if value >= _PATTERN else str(value)


def _terms(step: dict[str, Any]) -> str:
    """What a step adds: its products and addends, sum after sum."""
    chain = [_range(products) for products in step["products"]]
    if len(chain) > _SHOWN:
        chain = [*chain[:2], "…", chain[-1]]
    first = " + ".join(filter(None, (chain[0], *step["adds"])))
    return ", then ".join((first, *chain[1:]))


def _range(products: Sequence[int]) -> str:
    """The numbers of products."""
    if not products:
        return ""
    if products == list(range(products[0], products[-1] + 1)):
        return f"k {products[0]}" + (f"..{products[-1]}" if len(products) > 1 else "")
    shown = " ".join(map(str, products[:_SHOWN]))
    return f"k {shown}{' …' if len(products) > _SHOWN else ''}"


def _error(step: dict[str, Any]) -> str:
    """The bound of one sum; those of a chain differ in their terms at most."""
    return max(step["bounds"], key=lambda one: Fraction(one["cut"]))["text"] if step["bounds"] else "0"
