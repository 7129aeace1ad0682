"""Since when targets are taken: the dates of specs.yaml against the settings that assemblers took.

A record lists every setting that its assembler took. All others of its targets, up to its newest version,
it was asked about and refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..spec.gates import Isa
from ..spec.nodes import Version
from .assembler_record import Record
from .contradictions import ContradictionRegister

__all__ = ["TargetFault", "target_faults"]


@dataclass(frozen=True)
class TargetFault:
    """A target that an assembler takes earlier or later than specs.yaml says."""

    release: str
    target: str
    version: Version
    taken: bool
    since: Version | None

    def __str__(self) -> str:
        """What it does, and what specs.yaml says."""
        does = "takes" if self.taken else "refuses"
        says = f"says since {self.since}" if self.since else "does not have it"
        return f"ptxas {self.release} {does} .target {self.target} under {self.version}; specs.yaml {says}"


def target_faults(
    isa: Isa, records: Sequence[Record], register: ContradictionRegister
) -> Iterator[TargetFault]:
    """The first fault of each target and assembler, but for what is registered as a contradiction."""
    targets = isa.index.targets
    for record in records:
        taken: dict[str, set[Version]] = {}
        for version, target in record.settings:
            taken.setdefault(target, set()).add(Version.of(version))
        newest = max((max(versions) for versions in taken.values()), default=None)
        for target, versions in taken.items():
            since = targets[target].since if target in targets else None
            claimed = {one for one in isa.versions if since and newest and since <= one <= newest}
            for one in sorted(claimed ^ versions):
                early = one in versions and register.takes_early(record.release, one, target, since)
                if not early:
                    yield TargetFault(record.release, target, one, one in versions, since)
                    break
