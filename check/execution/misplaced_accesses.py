"""Threads that access shared memory at an address that is not a multiple of what it must be.

A row of a matrix begins at a multiple of 16 bytes. Any other access begins at a multiple of its own size.
Variables of shared memory are taken to begin at multiples of that. Rows that all begin at one place are
judged without numbers (`operands/uniformity.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ..findings import LIKELY, Finding, Moment
from ..memory.byte_regions import ByteRegion
from ..ptx.decode import DecodedStatement
from ..rules import rules
from ..values.block_threads import WARP
from ..values.lane_numbers import LaneNumbers, by_number
from ..walks.kernel_walks import KernelWalks

__all__ = ["Misplaced", "misplaced", "misplaced_findings", "unit_of"]

_ROW = 16
_SIZES = frozenset((2, 4, 8, 16))
_ROW_SECTION, _ACCESS_SECTION = "9.7.14.5.15; 9.7.14.5.16", "6.4.1"


class Misplaced(NamedTuple):
    """A thread, the address of its access, and what that must be a multiple of."""

    thread: int
    address: int
    unit: int


@lru_cache(maxsize=1 << 12)
def unit_of(statement: DecodedStatement) -> int | None:
    """What the address of an access must be a multiple of; None if that is not looked at."""
    if statement.rows is not None:
        return _ROW
    together = "sync" in statement.operation.words
    return statement.bytes if statement.bytes in _SIZES and not together else None


@lru_cache(maxsize=1 << 12)
def misplaced(
    base: int | LaneNumbers, threads: tuple[int, ...], offset: int, unit: int, rows: int | None
) -> Misplaced | None:
    """The first of some threads whose access does not begin at a multiple of a unit. `rows`: only so many
    threads of a warp give addresses.
    """
    if rows is not None and not isinstance(base, LaneNumbers):
        return None
    found = (
        Misplaced(thread, value + offset, unit)
        for value, some in by_number(base, threads).items()
        if value is not None and (value + offset) % unit
        for thread in some
        if rows is None or thread % WARP < rows
    )
    return min(found, default=None)


def misplaced_findings(walked: KernelWalks, found: Mapping[int, Misplaced]) -> list[Finding]:
    """Findings about the statements of some accesses."""
    findings = []
    function = walked.code.function
    for index, one in sorted(found.items()):
        is_row = walked.code[index].rows is not None
        rule = rules()["matrix-alignment" if is_row else "operand-multiple"]
        region = walked.steps.in_variable(ByteRegion("shared", one.address, one.address + 1))
        what, must = ("the row", "the address of a row is") if is_row else ("an access", "it must be")
        statement = function.statements[index]
        said = f"{what} of thread {one.thread} begins at byte {region.low} of {region.variable}"
        findings.append(
            Finding(
                rule.name,
                LIKELY,
                walked.module.place(statement.offset),
                function.name,
                f"{said}; {must} a multiple of {one.unit}",
                _ROW_SECTION if is_row else _ACCESS_SECTION,
                rule.mend,
                (Moment.of(walked.module, statement, said),),
            )
        )
    return findings
