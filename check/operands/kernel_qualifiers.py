"""Qualifiers that all instructions of a kernel must spell alike, where the specification says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..findings import ERROR, Finding, Moment
from ..ptx.decode import DecodedFunction
from ..ptx.site import Site
from ..ptx.source import PtxModule

__all__ = ["qualifier_findings"]


def qualifier_findings(module: PtxModule, code: DecodedFunction) -> Iterator[Finding]:
    """By qualifier: the first statement of a function that spells it unlike the first one that has it."""
    if not any(one.instruction is not None and one.instruction.uniform for one in code.used):
        return
    spelled: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for index in range(len(code)):
        variant = code.operation(index).variant
        if variant is not None:
            for field in variant.row.family.instruction.uniform:
                spelled[field].append((str(variant.fields[field]), index))
    for statements in spelled.values():
        (first, at), *rest = statements
        others = [(word, index) for word, index in rest if word != first]
        if others:
            yield _finding(module, code, (first, at), others[0], len(others) - 1)


def _finding(
    module: PtxModule, code: DecodedFunction, first: tuple[str, int], other: tuple[str, int], more: int
) -> Finding:
    one, two = (Site(module, code.function, index) for _, index in (first, other))
    instruction = code.operation(other[1]).instruction
    return Finding(
        "qualifier-mixed",
        ERROR,
        two.place,
        code.function.name,
        f"{two.statement.opcode} has .{other[0]}, and line {one.place.line} has .{first[0]}",
        instruction.source.section if instruction else "",
        "the same qualifier in all instructions of a kernel that have it",
        tuple(
            Moment(site.place, site.statement.opcode, f"has .{word}")
            for site, word in ((one, first[0]), (two, other[0]))
        ),
        more=more,
    )
