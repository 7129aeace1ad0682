"""How many statements of the specification a source has, by what was thought of them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["InlineCounts", "total"]


class InlineCounts(NamedTuple):
    """asm statements, and the statements of the specification in them: legal, illegal, with holes (legal for
    some filling), not judged, and left out, which is what the asked version and target do not compile.
    """

    asm: int = 0
    legal: int = 0
    illegal: int = 0
    holed: int = 0
    unjudged: int = 0
    left_out: int = 0

    @property
    def statements(self) -> int:
        """How many statements of the specification were read."""
        return self.legal + self.illegal + self.holed + self.unjudged + self.left_out

    def __str__(self) -> str:
        plural = "s" * (self.asm != 1)
        return (
            f"{self.asm} asm statement{plural}, {self.statements} of the specification in them: "
            f"{self.legal} legal, {self.illegal} illegal, {self.holed} with holes, "
            f"{self.unjudged} not judged, {self.left_out} not compiled"
        )


def total(counts: list[InlineCounts]) -> InlineCounts:
    """The sums."""
    return InlineCounts(*(sum(column) for column in zip(*counts, strict=True))) if counts else InlineCounts()
