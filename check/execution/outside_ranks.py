"""Accesses of blocks that a cluster does not have: by their ranks, or by a mapped address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...spec.lazy_dataclass import dataclass
from ..findings import LIKELY, Finding, Moment
from ..rules import rules
from ..walks.kernel_walks import KernelWalks

__all__ = ["OutsideRank", "outside_findings"]


@dataclass(frozen=True)
class OutsideRank:
    """The rank of a block that a warp accesses, and how many blocks the cluster has."""

    warp: int
    rank: int
    blocks: int


def outside_findings(walked: KernelWalks, found: Mapping[int, OutsideRank]) -> Iterator[Finding]:
    """Findings about some accesses, by their statements: one for all."""
    if not found:
        return
    first = min(found)
    one, rule, function = found[first], rules()["cluster-ended"], walked.code.function
    statement = function.statements[first]
    says = f"a thread of warp {one.warp} accesses the block with rank {one.rank}"
    yield Finding(
        rule.name,
        LIKELY,
        walked.module.place(statement.offset),
        function.name,
        f"{rule.title}: {says}, and the last one has rank {one.blocks - 1}",
        rule.section,
        rule.mend,
        (Moment.of(walked.module, statement, says),),
        more=len(found) - 1,
    )
