"""What `ptxmma check` reports: findings with a tier, a place, a reason and, for an ERROR, its witness."""

from __future__ import annotations

from dataclasses import dataclass

from ..spec.errors import Place

__all__ = ["ERROR", "INFO", "LIKELY", "STRICT", "TIERS", "Finding", "Moment"]

ERROR, LIKELY, STRICT, INFO = "error", "likely", "strict", "info"
TIERS = {
    ERROR: "undefined under every reading of the text, with a witness; or no legal statement",
    LIKELY: "undefined unless something holds that the PTX does not show",
    STRICT: "undefined under the strictest reading of the text only",
    INFO: "worth knowing; nothing is wrong",
}


@dataclass(frozen=True)
class Moment:
    """One step of a witness: a place in the PTX, the statement, and what it does."""

    place: Place
    statement: str
    says: str


@dataclass(frozen=True)
class Finding:
    """One finding about a file. Suppressions name its `rule`; `more` counts equal findings that are not
    shown; `statement` is the text at its place, without comments.
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

    def __repr__(self) -> str:
        return f"Finding({self.rule} at {self.place})"

    @property
    def order(self) -> tuple[str, int, int, str]:
        return self.place.file, self.place.line, self.place.column, self.rule
