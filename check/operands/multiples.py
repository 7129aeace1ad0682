"""Check addresses, sizes and counts of threads that must be multiples of a number, where PTX shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..findings import ERROR, LIKELY, Finding
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import Address
from ..ptx.operation import OBJECT, Operation
from ..ptx.site import Site
from ..ptx.source import PtxModule
from ..values.register_intervals import RegisterIntervals

__all__ = ["has_multiples", "multiple_findings"]

_STATED = 16  # bytes: the text says of no access by a copy that it begins at a multiple of more
_OBJECT_SECTION, _BARRIER_SECTION, _COPY_SECTION = "9.7.13.15.1", "9.7.13.1", "9.7.9.25.4; 9.7.9.25.5"


def has_multiples(operation: Operation) -> bool:
    """Whether an operand of an instruction must be a multiple of a number."""
    action = operation.action
    return action.barrier == "object" or action.begins is not None or action.multiple is not None


def multiple_findings(
    module: PtxModule, code: DecodedFunction, values: RegisterIntervals
) -> Iterator[Finding]:
    """Findings about operands that are known, and no multiples of what they must be; each address once."""
    told: set[_Misplaced] = set()
    for index in range(len(code)):
        if not has_multiples(code.operation(index)):
            continue
        statement = code[index]
        site = Site(module, code.function, index)
        misplaced = [fault for fault in _misplaced(statement, values) if fault not in told]
        told.update(misplaced)
        for fault in (*misplaced, *_miscounted(statement, values)):
            yield Finding(
                "operand-multiple",
                fault.tier,
                site.place,
                code.function.name,
                fault.what,
                fault.section,
            )


class _Misplaced(NamedTuple):
    """An operand that is not a multiple: how sure that is, what it is, and where the text speaks of it."""

    tier: str
    what: str
    section: str


def _misplaced(statement: DecodedStatement, values: RegisterIntervals) -> Iterator[_Misplaced]:
    """Addresses that are surely no multiples."""
    action, scope = statement.operation.action, statement.scope
    if action.barrier == "object":
        yield from _beginning(statement.barrier, scope, values, "the mbarrier", OBJECT, _OBJECT_SECTION)
    if action.begins is not None:
        for address, what in ((statement.address, "the destination"), (statement.source, "the source")):
            yield from _beginning(address, scope, values, what, action.begins, _COPY_SECTION)


def _beginning(
    address: Address | None, scope: int, values: RegisterIntervals, what: str, unit: int, section: str
) -> Iterator[_Misplaced]:
    """An address that is a known number of bytes from an aligned variable, and so no multiple of a unit."""
    value = values.address(address, scope)
    if value.base is None or value.shift or value.low != value.high:
        return
    aligned = values.alignment(value.base, scope)
    if aligned and value.low % min(aligned, unit):
        name = "a variable" if value.base == "extern" else value.base
        said = f"{what} begins at byte {value.low} of {name}; it must begin at a multiple of {unit}"
        yield _Misplaced(ERROR if value.low % min(aligned, unit, _STATED) else LIKELY, said, section)


def _miscounted(statement: DecodedStatement, values: RegisterIntervals) -> Iterator[_Misplaced]:
    """A size or a count that is not a multiple."""
    action = statement.operation.action
    unit = action.multiple
    if unit is None:
        return
    if action.size is not None:
        text, what, section = statement.size if statement.source else None, "bytes", _COPY_SECTION
    else:
        at = statement.count_at
        text, what, section = None if at is None else statement.operands[at], "threads", _BARRIER_SECTION
    number = values.operand(text, statement.scope).constant if text else None
    if number is not None and number % unit:
        yield _Misplaced(ERROR, f"{number} {what} are not a multiple of {unit}", section)
