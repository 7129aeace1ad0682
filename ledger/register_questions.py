"""What an entry of the register holds about peers: questions that two parties answer differently, and the
recorded observations that it explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ..spec.errors import Place, SpecError

if TYPE_CHECKING:  # it needs numpy, and `contradictions` does not
    from .peer_verdicts import PeerVerdict

__all__ = ["ExplainedPeer", "MinimalQuestion", "check_questions", "explained_verdicts", "needless_peers"]


@dataclass(frozen=True)
class MinimalQuestion:
    """A minimal case that is not a statement: fields of a descriptor, a place of a layout, a condition."""

    asks: str
    """What is asked, with numbers.
    Noticed by: readers.
    Example: `the step of N at M = 128`. Refuses: `null` (text must stand)."""
    answers: Mapping[str, str]
    """What each party answers: by a name, as the parties have it, the answer. Two of them differ.
    Noticed by: tests.
    Example: `{"9.7.18.4.1": "8", CuTe DSL 4.8.1: "16"}`.
    Refuses: `{CuTe DSL 4.8.1: 16}` (two answers that differ)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class ExplainedPeer:
    """Recorded observations of a peer that differ from the specification, and that an entry explains."""

    package: str
    """The peer's package, as its record has it.
    Noticed by: observations, tests.
    Example: `tensor-layouts`. Refuses: `[triton]` (one package)."""
    part: str
    """The layout or descriptor that they are about.
    Noticed by: observations, tests.
    Example: `layout mma.m16n8k32.b.4b`. Refuses: `null` (text must stand)."""
    function: str
    """The function that was asked, with its parameters.
    Noticed by: observations, tests.
    Example: `SM80_16x8x32_S32S4S4S32_TN.b_layout`. Refuses: `null` (text must stand)."""
    place: Place = field(default=Place("", 0, 0), compare=False)

    def explains(self, verdict: PeerVerdict) -> bool:
        """Whether a verdict is about this observation, and differs."""
        about = verdict.peer.package, verdict.part, verdict.function
        return about == (self.package, self.part, self.function) and verdict.state == "differs"


class _Entry(Protocol):
    @property
    def peers(self) -> Sequence[ExplainedPeer]: ...


def check_questions(questions: Iterable[MinimalQuestion]) -> None:
    """Raise SpecError at a question that everybody answers alike."""
    for question in questions:
        if len(set(question.answers.values())) < 2:
            raise SpecError(
                f"{question.asks!r} has one answer", question.place, "two answers at least that differ"
            )


def explained_verdicts(
    entries: Mapping[str, _Entry], verdicts: Iterable[PeerVerdict]
) -> tuple[PeerVerdict, ...]:
    """The verdicts, those that differ with the id of the entry that explains them."""
    listed = [(name, one) for name, entry in entries.items() for one in entry.peers]
    return tuple(
        replace(verdict, entry=next((name for name, one in listed if one.explains(verdict)), ""))
        if verdict.state == "differs"
        else verdict
        for verdict in verdicts
    )


def needless_peers(
    entries: Mapping[str, _Entry], verdicts: Sequence[PeerVerdict]
) -> Iterator[tuple[Place, str]]:
    """Where an entry explains an observation that is not recorded, or that does not differ."""
    for name, entry in entries.items():
        for one in entry.peers:
            if not any(one.explains(verdict) for verdict in verdicts):
                what = f"{name} explains {one.part} of {one.package} ({one.function}), which does not differ"
                yield one.place, what
