"""What a module of theorems/ declares: its theorems, and the parts of the specification they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..spec.specification import Specification
from ..spec.variants import RowView
from .smt.obligations import Obligation

__all__ = ["Enumeration", "ProofPart", "Theorem", "TheoremGroup"]


@dataclass(frozen=True)
class Theorem:
    """A claim about every subject of one kind: its name ("layout.injective"), and what it states.

    An `enumerated` one is about finitely many things, each of which is tried; no solver proves it. Where its
    questions are `small`, solvers are asked many of them at once (smt/joint.py). `formula` is the statement
    in the notation of the specification; `fails` is what is found where it is false. Both are for readers.
    """

    name: str
    statement: str
    enumerated: bool = False
    small: bool = False
    formula: str = ""
    fails: str = ""


@dataclass(frozen=True)
class Enumeration:
    """A claim about finitely many things, tried one by one; `faults` says for which it does not hold.

    It holds where there are no faults, and is then called enumerated, not proven.
    """

    theorem: str
    subject: str
    part: str
    faults: Callable[[], Iterable[str]]

    @property
    def digest(self) -> str:
        """Empty: no text is asked about."""
        return ""


@dataclass(frozen=True)
class ProofPart:
    """A part of the specification ("layout wgmma.d"), and the function that makes its obligations.

    Their SMT-LIB texts are made later, when they are asked for. `title` says in a phrase what the part is.
    """

    name: str
    obligations: Callable[[], Iterable[Obligation]]
    title: str = ""


def _nothing(specification: Specification, row: RowView) -> Iterable[str]:
    return ()


def _none(specification: Specification) -> Iterable[Enumeration]:
    return ()


@dataclass(frozen=True)
class TheoremGroup:
    """The theorems of one module, found in it under the name GROUP.

    `place` orders the groups, in `prove --list` and in proofs. `parts` gives every part of a specification
    that the theorems are about. `behind` names the parts that a row rests on. `enumerations` gives the claims
    that are enumerated.
    """

    place: int
    theorems: tuple[Theorem, ...]
    parts: Callable[[Specification], Iterator[ProofPart]]
    behind: Callable[[Specification, RowView], Iterable[str]] = _nothing
    enumerations: Callable[[Specification], Iterable[Enumeration]] = _none

    @property
    def name(self) -> str:
        """The first word of the names of its theorems."""
        return self.theorems[0].name.partition(".")[0]
