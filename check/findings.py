"""What `ptxmma check` reports: findings with a tier, a place, a reason and, for an ERROR, its witness."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..spec.errors import Place
from ..spec.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from .ptx.source import PtxModule, PtxStatement

__all__ = [
    "ERROR",
    "EVERYWHERE",
    "INFO",
    "LIKELY",
    "READING",
    "TIERS",
    "Finding",
    "Instance",
    "MemoryRange",
    "Moment",
    "Undefined",
    "surest",
]

ERROR, LIKELY, READING, INFO = "error", "likely", "reading", "info"
TIERS = {
    ERROR: "undefined under every reading of the text, with a witness; or no legal statement",
    LIKELY: "undefined unless something holds that the PTX does not show",
    READING: "undefined under some readings of the text, which the finding names, and defined under others",
    INFO: "worth knowing; nothing is wrong",
}
# The readings under which something is undefined: alternatives, each a set of settings that hold together.
Undefined = tuple[tuple[tuple[str, str], ...], ...]
EVERYWHERE: Undefined = ((),)


@dataclass(frozen=True)
class Moment:
    """One step of a witness: a place in the PTX, the statement, and what it does."""

    place: Place
    statement: str
    says: str

    @classmethod
    def of(cls, module: PtxModule, statement: PtxStatement, says: str) -> Moment:
        """What a statement of a file does."""
        return cls(module.place(statement.offset), statement.opcode, says)


@dataclass(frozen=True)
class MemoryRange:
    """Bytes `first` to `last` of a variable of shared memory that a statement accesses, and how that is
    known. what: `written` or `read`.
    """

    what: str
    variable: str
    first: int
    last: int
    place: Place
    known_from: str


@dataclass(frozen=True)
class Instance:
    """Another place of a fault, and the function there."""

    place: Place
    function: str


@dataclass(frozen=True)
class Finding:
    """One finding about a file. Suppressions name its `rule`; `more` counts equal findings that are not
    shown; `statement` is the text at its place, without comments. `readings`: where it holds; if not under
    every reading, its tier is READING, whatever the analysis says of it. `ranges` are the bytes that meet.
    `source` is the line of the source, where the PTX tells it; `code` the statement without numbers that a
    compiler counts; `also` are the other places of the fault.
    """

    rule: str
    tier: str
    place: Place
    function: str
    message: str
    section: str = ""
    right: str = ""
    witness: tuple[Moment, ...] = ()
    schedules: tuple[tuple[str, ...], ...] = ()
    more: int = 0
    statement: str = ""
    readings: Undefined = EVERYWHERE
    ranges: tuple[MemoryRange, ...] = ()
    source: str = ""
    code: str = ""
    also: tuple[Instance, ...] = ()

    def __repr__(self) -> str:
        return f"Finding({self.rule} at {self.place})"

    @property
    def order(self) -> tuple[str, int, int, str]:
        return self.place.file, self.place.line, self.place.column, self.rule


def surest(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; where two analyses find one rule broken at one place, the one that is surer. One that
    holds under every reading is surer than one that does not.
    """
    found: dict[tuple[str, Place], Finding] = {}
    for finding in findings:
        key = finding.rule, finding.place
        known = found.get(key)
        if known is None or _doubt(finding) < _doubt(known):
            found[key] = finding
    return list(found.values())


def _doubt(finding: Finding) -> tuple[int, int]:
    """How unsure a finding is: by the tier that it is reported with, and by what the analysis says."""
    tiers = list(TIERS)
    tier = tiers.index(finding.tier)
    return (tier if finding.readings == EVERYWHERE else max(tier, tiers.index(READING))), tier
