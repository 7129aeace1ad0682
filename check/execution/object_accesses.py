"""Accesses of the bytes of an mbarrier by instructions that are not mbarrier operations.

"Performing any non-mbarrier or mbarrier.init operations on an initialized mbarrier object results in
undefined behavior" (9.7.13.15). What mbarrier.inval has ended is memory again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..findings import ERROR, LIKELY, Finding, Moment
from ..memory.byte_regions import ByteRegion
from ..rules import rules
from ..walks.kernel_walks import KernelWalks
from .object_bytes import ObjectAccess

__all__ = ["object_findings"]


def object_findings(walked: KernelWalks, found: Mapping[int, ObjectAccess]) -> Iterator[Finding]:
    """Findings about some accesses, by their statements: one for all of what one statement initialises, since
    it lies where something else does.
    """
    by_init: dict[tuple[int, bool], list[int]] = {}
    for index, one in sorted(found.items()):
        by_init.setdefault((one.init, one.doubtful), []).append(index)
    for first, *others in by_init.values():
        yield _finding(walked, first, found[first], len(others))


def _finding(walked: KernelWalks, index: int, one: ObjectAccess, more: int) -> Finding:
    function, rule = walked.code.function, rules()["barrier-accessed"]
    region = walked.steps.in_variable(ByteRegion("shared", one.address, one.address + 1))
    where = f"the mbarrier at byte {region.low} of {region.variable}"
    init, access = function.statements[one.init], function.statements[index]
    return Finding(
        rule.name,
        LIKELY if one.doubtful or not function.exact else ERROR,
        walked.module.place(access.offset),
        function.name,
        f"{rule.title}: this accesses bytes of {where}, which is valid",
        rule.section,
        rule.mend,
        (
            Moment.of(walked.module, init, "initialises the mbarrier"),
            Moment.of(walked.module, access, "accesses its bytes"),
        ),
        more=more,
    )
