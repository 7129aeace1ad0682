"""ptxmma layout: who holds which matrix element, as a picture, a table or index functions."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..gen.pictures.places import in_places, is_placed
from ..gen.pictures.tables import MapTable, layout_table, table_of
from ..spec.api import find, load
from ..spec.described_products import placed_part
from ..spec.errors import Question
from ..spec.parts import named_operand, placed_parts
from ..spec.variants import OPAQUE
from .options import descriptor_word
from .place_answers import answer_place, place_json, settings
from .streams import coloured

__all__ = ["add"]

_PLACES = ("lane", "column", "cta", "byte")
_QUESTIONS = ("thread", "element", "bit", "matrix", "row", "col", "chunk", *_PLACES)
_ALSO = {"bit": "element", "chunk": "col"}
_PICTURES = ("text", "markdown", "svg")
_FORMATS = ("text", "json", "csv", "markdown", "svg", "cuda", "python", "cute", "triton")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument(
        "mnemonic", help="the variant, as `list` prints it; or the id of a layout of tensor memory"
    )
    parser.add_argument(
        "--operand",
        help="its part (A, D, metadata, scale-a …) or its name as `show` prints it; or several: A,B,D",
    )
    parser.add_argument("--a-source", choices=("register", "descriptor"), help="where A comes from")
    parser.add_argument("--selector", type=int, metavar="S", help="sparsity selector (metadata)")
    parser.add_argument("--thread-id", type=int, metavar="T", help="thread selector (scale factors)")
    parser.add_argument("--byte-id", type=int, metavar="B", help="byte selector (scale factors)")
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.add_argument(
        "--thread", type=int, metavar="T", help="with --element: what it holds; alone: only its cells"
    )
    parser.add_argument("--element", type=int, metavar="I", help="with --thread: which of its elements")
    parser.add_argument("--bit", type=int, metavar="B", help="for metadata, in place of --element")
    parser.add_argument("--row", type=int, metavar="R", help="with --col: who holds it")
    parser.add_argument("--col", type=int, metavar="C", help="with --row: the column")
    parser.add_argument("--chunk", type=int, metavar="C", help="for metadata, in place of --col")
    parser.add_argument("--matrix", type=int, metavar="J", help="with --row: who supplies its address")
    parser.add_argument(
        "--lane", type=int, metavar="L", help="with --column: what a place of tensor memory holds"
    )
    parser.add_argument("--column", type=int, metavar="C", help="with --lane: the column of 32 bits")
    parser.add_argument("--cta", type=int, metavar="C", help="with --lane: of which CTA of a pair")
    parser.add_argument("--byte", type=int, metavar="B", help="with --lane: which byte of the column")
    parser.add_argument(
        "--with",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that the mnemonic leaves open: n=64 (may be repeated)",
    )
    parser.add_argument(
        "--idesc",
        metavar="WORD",
        help="the instruction descriptor of a product in tensor memory, decimal or 0x…: it says m, n and k",
    )
    parser.add_argument("--rows", metavar="A..B", help="only these rows of the picture")
    parser.add_argument("--cols", metavar="A..B", help="only these columns of the picture")
    parser.add_argument(
        "--view",
        choices=("matrix", "registers"),
        default="matrix",
        help="a row a matrix row, or a row a thread",
    )
    parser.add_argument("--latex", action="store_true", help="print the formula")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the map, or answer one question about it."""
    tables = list(_tables(args))
    _refuse_what_does_nothing(args, len(tables))
    if len(tables) > 1:
        print(_figure(args, tables))
        return 0
    table = tables[0]
    if args.latex:
        if args.format != "text" or any(getattr(args, name) is not None for name in _QUESTIONS):
            raise Question("--latex prints the formula of the whole map, in no other format")
        print(_latex(table))
        return 0
    if in_places(table.layout) and not _picked(args, table):
        numbers = {name: getattr(args, name) for name in _QUESTIONS if getattr(args, name) is not None}
        if numbers:
            answer_place(table, numbers, args.format)
            return 0
    asked = None if _picked(args, table) else _asked(args, table)
    if asked is not None:
        return _answer(args, table, asked)
    print(_render(args, table))
    return 0


def _tables(args: argparse.Namespace) -> Iterator[MapTable]:
    """The map of each operand that is named, at the selectors that are given and that it has."""
    if args.mnemonic in load().layouts:
        if not is_placed(load().layouts[args.mnemonic]):
            raise Question(
                f"{args.mnemonic} is a layout without lanes and columns; name a mnemonic, with --operand"
            )
        for option in ("operand", "idesc"):
            if getattr(args, option) is not None:
                raise Question(f"{args.mnemonic} is a layout; --{option} goes with a mnemonic")
        yield layout_table(load(), args.mnemonic, settings(args.settings))
        return
    variant = find(args.mnemonic)
    if args.operand is None:
        known = (name for name, identifier in variant.layouts.items() if identifier != OPAQUE)
        has = ", ".join((*known, *placed_parts(load().layouts, variant)))
        raise Question(
            f"name an operand of {variant.mnemonic} with --operand: {has}"
            if has
            else f"no operand of {variant.mnemonic} has a layout"
        )
    selectors = {"s": args.selector, "thread_id": args.thread_id, "byte_id": args.byte_id}
    given = {name: value for name, value in selectors.items() if value is not None}
    given |= settings(args.settings)
    word = None if args.idesc is None else descriptor_word(args.idesc)
    operands = args.operand.split(",")
    for name in operands:
        part = placed_part(load(), variant, named_operand(variant, name))
        if part is not None or word is not None:
            yield table_of(load(), variant, name, args.a_source, given, word)
            continue
        layout = load().layout_of(variant, name).layout
        own = {key: value for key, value in given.items() if key in layout.params or len(operands) == 1}
        yield table_of(load(), variant, name, args.a_source, own)


def _refuse_what_does_nothing(args: argparse.Namespace, operands: int) -> None:
    """Raise Question for an option that has no part in the answer, rather than to pass over it."""
    asked = [name for name in _QUESTIONS if getattr(args, name) is not None]
    if operands > 1 and asked not in ([], ["thread"]):
        raise Question(f"--{asked[0]} asks about one operand; name one with --operand")
    pictured = args.format in _PICTURES and not args.latex and asked in ([], ["thread"])
    cut = [name for name in ("rows", "cols") if getattr(args, name) is not None]
    if args.view != "matrix":
        cut.append("view")
    if cut and not pictured:
        raise Question(f"--{cut[0]} is for the picture of an operand, as {', '.join(_PICTURES)}")


def _picked(args: argparse.Namespace, table: MapTable) -> bool:
    """Whether --thread picks out one thread's cells of a picture, rather than asking one question.

    A thread alone is a whole question where it has nothing to number: the rows that it addresses.
    """
    asked = [name for name in _QUESTIONS if getattr(args, name) is not None]
    return asked == ["thread"] and len(table.layout.inputs) > 1 and args.format in ("text", "svg")


def _latex(table: MapTable) -> str:
    from ..formal.latex import latex, symbol

    lines = [rf"{symbol(name)} &= {latex(tree)} \\" for name, tree in table.forward.items()]
    lines += [rf"{symbol(name)} &= {latex(tree)} \\" for name, tree in table.backward.items()]
    return "\n".join((r"\begin{aligned}", *lines, r"\end{aligned}"))


def _render(args: argparse.Namespace, table: MapTable) -> str:
    match args.format:
        case "json":
            if in_places(table.layout):
                return json.dumps(place_json(table, table.layout.points(table.parameters)))
            return json.dumps(as_json(table, table.entries))
        case "csv":
            from ..gen.pictures.exports import as_csv

            return as_csv(table)
        case "cuda" | "python":
            from ..gen.pictures import functions

            return functions.cuda(table) if args.format == "cuda" else functions.python(table)
        case "cute":
            from ..gen.pictures.cute import cute

            return cute(table)
        case "triton":
            from ..gen.pictures.linear_layout import linear_layout

            points = f"equal to the specification at all {len(table.entries)} points"
            return f"{linear_layout(table)}\n// (register, lane, warp) -> (row, column), {points}"
    return _picture(args, table)


def _picture(args: argparse.Namespace, table: MapTable) -> str:
    """The map as a grid, or the part that was asked for."""
    from ..gen.pictures.grid import grid_of, lanes_of

    placed = in_places(table.layout)
    if placed and args.view == "registers":
        raise Question(f"{table.title} is drawn as lanes and columns")
    if placed and args.thread is not None and "t" not in table.layout.inputs:
        raise Question(f"{table.title} has no thread; ask by --lane and --column")
    if args.thread is not None and not 0 <= args.thread < table.threads:
        raise Question(
            f"there is no thread {args.thread} in {table.title}; it has thread 0..{table.threads - 1}"
        )
    if placed:
        from ..gen.pictures.places import place_grid

        whole = place_grid(table)
    else:
        whole = lanes_of(table) if args.view == "registers" else grid_of(table)
    cut = (_range("--rows", args.rows), _range("--cols", args.cols))
    grid = whole.cut(*cut)
    if args.format == "markdown":
        from ..gen.pictures.exports import markdown

        return markdown(grid)
    if args.format == "svg":
        from ..gen.pictures.svg import svg

        return svg(grid, args.thread)
    from ..gen.pictures.text import text

    width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 120
    drawn = text(grid, width, coloured(), args.thread, cut != (None, None))
    if not placed:
        return drawn
    from .witness_lines import layout_line

    return f"{drawn}\n\n{layout_line(table.layout)}"


def _figure(args: argparse.Namespace, tables: Sequence[MapTable]) -> str:
    """Several operands: one below the other as text, A, B and D as one figure as SVG."""
    if args.latex or args.format not in ("text", "svg", "markdown"):
        raise Question("several operands are drawn as text, svg or markdown")
    if args.format != "svg":
        return "\n\n".join(_picture(args, table) for table in tables)
    from ..gen.pictures.grid import grid_of
    from ..gen.pictures.svg import product_svg

    by_operand = {table.operand: grid_of(table) for table in tables}
    if set(by_operand) != {"A", "B", "D"}:
        raise Question("as SVG, one operand is drawn, or A,B,D together")
    left, above, result = (by_operand[name] for name in ("A", "B", "D"))
    return product_svg(f"A, B and D of {args.mnemonic}", left, above, result, args.thread)


def _range(option: str, words: str | None) -> range | None:
    """`3` or `0..15`, both ends included; raises Question for anything else."""
    if words is None:
        return None
    first, dots, last = words.partition("..")
    if not (first.isdecimal() and (last.isdecimal() if dots else not last)):
        raise Question(f"{option} {words!r}: a number or a range such as 0..15 is needed")
    return range(int(first), int(last if dots else first) + 1)


def as_json(table: MapTable, entries: list[tuple[int, ...]]) -> dict[str, Any]:
    """The map, or a part of it, as the JSON output has it."""
    rows = [list(entry) for entry in entries]
    if "chunk" in table.layout.outputs:
        return {"selector": table.parameters.get("s", 0), "map": rows}
    if table.packing is None:
        return {"threads": table.threads, "columns": list(table.headings), "map": rows}
    return {
        "rows": table.rows,
        "cols": table.cols,
        **({"products": table.products} if table.products > 1 else {}),
        **({"selectors": table.selected} if table.selected else {}),
        "threads": table.threads,
        "elements": table.elements,
        "map": rows,
    }


def _asked(args: argparse.Namespace, table: MapTable) -> list[tuple[int, ...]] | None:
    """The entries that the question is about; None for the whole map."""
    asked = {name: getattr(args, name) for name in _QUESTIONS if getattr(args, name) is not None}
    if not asked:
        return None
    names = table.headings
    sizes = {**table.layout.domain(table.parameters), **table.layout.shape(table.parameters)}
    sizes = dict(
        zip((*names[: len(table.layout.inputs)], *table.layout.outputs), sizes.values(), strict=True)
    )
    holder = names[: len(table.layout.inputs)]
    place = names[-len(table.layout.outputs) :][:2]
    for wanted in (holder, place):
        flags = [name if name in asked else _ALSO.get(name, name) for name in wanted]
        if set(flags) != set(asked):
            continue
        values = tuple(asked[flag] for flag in flags)
        positions = [names.index(name) for name in wanted]
        found = [e for e in table.entries if tuple(e[p] for p in positions) == values]
        if not found:
            raise Question(_nothing(table, dict(zip(wanted, values, strict=True)), sizes))
        return found
    ways = (" and ".join(f"--{name}" for name in wanted) for wanted in (holder, place))
    raise Question(f"ask by {', or by '.join(ways)}")


def _nothing(table: MapTable, asked: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    """Why a question has no answer."""
    for name, value in asked.items():
        if not 0 <= value < sizes[name]:
            return f"there is no {name} {value} in {table.title}; it has {name} 0..{sizes[name] - 1}"
    shown = ", ".join(f"{name} {value}" for name, value in asked.items())
    return f"{shown} takes no part in {table.title}"


def _answer(args: argparse.Namespace, table: MapTable, found: list[tuple[int, ...]]) -> int:
    if args.format == "json":
        print(json.dumps(as_json(table, found)))
    elif args.format == "text":
        for entry in found:
            print(_sentence(table, entry))
    else:
        raise Question("one question is answered as text or as json")
    return 0


def _sentence(table: MapTable, entry: tuple[int, ...]) -> str:
    if table.packing is None and "chunk" not in table.layout.outputs:
        responsible, *rest = zip(table.headings, entry, strict=True)
        of = " of ".join(f"{name} {value}" for name, value in reversed(rest))
        return f"thread {responsible[1]} supplies the address of {of}"
    if table.packing is None:
        thread, bit, row, chunk, slot, index_bit = entry
        return f"thread {thread} bit {bit}: bit {index_bit} of index {slot} of chunk {chunk} of row {row}"
    thread, element, register, low, row, col, *product = entry
    high = low + table.packing.width - 1
    return (
        f"thread {thread} {table.letter}{element} (register {register}, bits {low}..{high}) "
        f"holds row {row}, column {col}" + "".join(f" of product {number}" for number in product)
    )
