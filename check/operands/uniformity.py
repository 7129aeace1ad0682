"""Check operands that must be the same in all threads, and addresses of rows: aligned, in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from ..findings import ERROR, INFO, LIKELY, Finding
from ..memory.matrices import described
from ..ptx.decode import DecodedStatement
from ..ptx.operands import NamedOperand, address_of
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..ptx.webs import written_name
from ..rules import rules_of
from ..values.block_threads import WARP, WARPGROUP
from ..values.reaching_threads import ReachingThreads
from ..values.register_intervals import RegisterIntervals
from ..values.register_threads import RegisterThreads

if TYPE_CHECKING:
    from .parted_terms import PartedTerms

__all__ = ["operand_findings"]

_ROWS = 16  # bytes: the address of a row is a multiple of this


def operand_findings(
    module: PtxModule,
    reaching: ReachingThreads,
    values: RegisterIntervals,
    target: str,
    held: list[int],
) -> Iterator[Finding]:
    """Findings about descriptors, addresses and strides that differ between threads, and impossible addresses
    of rows.
    """
    code, threads = reaching.code, reaching.threads
    parting = _Parting(reaching)
    for index in held:
        statement = code[index]
        rules = rules_of(statement.operation.instruction)
        site = Site(module, code.function, index)
        address, stride = statement.part("address"), statement.part("stride")
        if "descriptor-divergent" in rules:
            for operand, _ in described(statement):
                yield from _parted(site, threads, parting, operand.text, WARPGROUP)
        if "wmma-divergent" in rules:
            where = address_of(address.text) if address else None
            for text in (where.base if where else None, stride.text if stride else None):
                if text is not None:
                    yield from _parted(site, threads, parting, text, WARP)
        if "matrix-alignment" in rules and address is not None:
            yield from _row(site, statement, values, address)
            if "matrix-lanes" in rules and target.startswith("sm_75") and (statement.rows or WARP) < WARP:
                yield Finding(
                    "matrix-lanes",
                    INFO,
                    site.place,
                    code.function.name,
                    "on sm_75 every lane must supply a valid address, those that supply no row too",
                    "9.7.14.5.15",
                )


class _Parting:
    """The terms of a function's operands, and who comes where, made when they are asked for."""

    def __init__(self, reaching: ReachingThreads) -> None:
        self.reaching = reaching

    @cached_property
    def terms(self) -> PartedTerms:
        """The terms."""
        from .parted_terms import PartedTerms  # needed only for operands that are not known

        return PartedTerms(self.reaching.code, self.reaching.flow)


def _parted(
    site: Site, threads: RegisterThreads, parting: _Parting, text: str, size: int
) -> Iterator[Finding]:
    """An operand that provably differs between the threads of a warp, or the warps of a warpgroup."""
    known = threads.operand(text, site.statement.scope)
    assumed = known.assumed
    pair = known.first_split(size)
    if pair is not None:
        pair = known.first_split(size, parting.reaching.at(site.index))
        if pair is None:
            return
        where = f"threads {pair} to {pair + size - 1}"
    elif known.is_unknown and (
        parted := parting.terms.parted(text, site.index, size, parting.reaching.at(site.index))
    ):
        assumed = not threads.line
        where = f"threads {parted[0]} and {parted[1]}"
    else:
        return
    group = size == WARPGROUP
    wanted = "a descriptor must be, in all warps of the warpgroup" if group else "it must be, in the warp"
    yield Finding(
        "descriptor-divergent" if group else "wmma-divergent",
        LIKELY if assumed else ERROR,
        site.place,
        site.function.name,
        f"{written_name(text)} is not the same in {where}: {wanted}",
        "9.7.15.6.3" if group else "9.7.14.4.2; 9.7.14.4.3",
        "compute it from what all of these threads have alike",
    )


def _row(
    site: Site, statement: DecodedStatement, values: RegisterIntervals, address: NamedOperand
) -> Iterator[Finding]:
    """A finding about the address of a row that is a known number of bytes from a variable."""
    value = values.address(address_of(address.text), statement.scope)
    name = value.base
    variable = site.variable(name) if name else None
    section = "9.7.14.5.15; 9.7.14.5.16"
    if variable is not None and variable.space != "shared":
        yield Finding(
            "matrix-space",
            ERROR,
            site.place,
            site.function.name,
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
            site.place,
            site.function.name,
            f"the row begins at byte {value.low}{where}; the address of a row is a multiple of {_ROWS}",
            section,
        )
