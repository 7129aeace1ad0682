"""Operands that all threads must give alike, and addresses of rows: aligned, in shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..findings import ERROR, INFO, LIKELY, Finding
from ..ptx.source import NAME, Function, PtxModule, PtxStatement
from ..ptx.uses import operands_of
from ..values.intervals import Values
from ..values.lanes import Threads, ThreadValues

__all__ = ["operand_findings"]

_WARP, _GROUP = 32, 128
_ROWS = 16  # bytes: what the address of a row is a multiple of
_FEW = re.compile(r"\.x[12](?=\.|$)")


def operand_findings(
    module: PtxModule, function: Function, threads: ThreadValues, values: Values, target: str, held: list[int]
) -> Iterator[Finding]:
    """Descriptors and wmma addresses that differ between threads; addresses that no row can have."""
    for index in held:
        statement = function.statements[index]
        opcode, parts = statement.opcode, operands_of(statement)
        if opcode.startswith("wgmma.mma_async"):
            for text in parts[1:3]:
                if not text.startswith("{"):
                    yield from _parted(module, function, statement, threads, text, _GROUP)
        elif opcode.startswith(("wmma.load", "wmma.store")):
            wanted = [*NAME.findall(parts["load" in opcode] if len(parts) > 1 else ""), *parts[2:]]
            for text in wanted:
                yield from _parted(module, function, statement, threads, text, _WARP)
        elif opcode.startswith(("ldmatrix", "stmatrix")) and parts:
            address = parts["ldmatrix" in opcode] if len(parts) > 1 else ""
            yield from _row(module, function, statement, values, address)
            if target.startswith("sm_75") and opcode.startswith("ldmatrix") and _FEW.search(opcode):
                yield Finding(
                    "matrix-lanes",
                    INFO,
                    module.place(statement.offset),
                    function.name,
                    "on sm_75 every lane must supply a valid address, those that supply no row too",
                    "9.7.14.5.15",
                )


def _parted(
    module: PtxModule,
    function: Function,
    statement: PtxStatement,
    threads: ThreadValues,
    text: str,
    size: int,
) -> Iterator[Finding]:
    """An operand that provably differs between the threads of a warp, or the warps of a warpgroup."""
    known = threads.operand(text, statement.scope)
    if not isinstance(known, Threads):
        return
    for first in range(0, len(known.values), size):
        if len(set(known.values[first : first + size])) > 1:
            group = size == _GROUP
            yield Finding(
                "descriptor-divergent" if group else "wmma-divergent",
                LIKELY if known.assumed else ERROR,
                module.place(statement.offset),
                function.name,
                f"{text} is not the same in threads {first} to {first + size - 1}: "
                + (
                    "a descriptor must be, in all warps of the warpgroup"
                    if group
                    else "it must be, in the warp"
                ),
                "9.7.15.6.3" if group else "9.7.14.4.2; 9.7.14.4.3",
                "compute it from what all of these threads have alike",
            )
            return


def _row(
    module: PtxModule, function: Function, statement: PtxStatement, values: Values, address: str
) -> Iterator[Finding]:
    """The address of a row, where it is a number of bytes from a variable."""
    value = values.address(statement, address)
    name = value.base
    variable = (function.variable(name, statement.scope) or module.variables.get(name)) if name else None
    place = module.place(statement.offset)
    section = "9.7.14.5.15; 9.7.14.5.16"
    if variable is not None and variable.space != "shared":
        yield Finding(
            "matrix-space",
            ERROR,
            place,
            function.name,
            f"the address is one of {variable.name} in .{variable.space}; it must lie in shared memory",
            section,
        )
    elif (
        value.low == value.high
        and not value.shift
        and value.low % _ROWS
        and (name is None or (variable is not None and variable.align % _ROWS == 0))
    ):
        where = f" of {variable.name}" if variable else ""
        yield Finding(
            "matrix-alignment",
            ERROR,
            place,
            function.name,
            f"the row begins at byte {value.low}{where}; the address of a row is a multiple of {_ROWS}",
            section,
        )
