"""What ptxas did with one statement, and a memory of the answers that hold in other settings too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ..spec.errors import Question

__all__ = ["AskedBefore", "SilentAssembler", "StatementOutcome", "mnemonic_of", "qualifiers"]

_WORDS = re.compile(r"[\w.:]*")
# What a later phase says about these depends on the .version.
_VERSIONED = re.compile(r"\.version|PTX ISA")


class SilentAssembler(Question):
    """An assembler that takes nothing under a version and on a target: it does not know one of them.

    `why` is what it says about an empty kernel.
    """

    def __init__(self, asked: str, why: str) -> None:
        self.why = why
        super().__init__(f"{asked}: {why}")


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """The verdict on one statement, and the words of ptxas: why it refuses the statement, or its warnings."""

    verdict: Literal["accepted", "refused", "died"]
    said: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What ptxas said, each sentence once."""
        return "; ".join(dict.fromkeys(self.said))


@dataclass
class AskedBefore:
    """The answers of one ptxas that also hold under another .version, so that nothing is asked twice.

    - `words`: its grammar is the same everywhere; the fault of every qualifier that it cannot read (None
      where it can).
    - `late`: a later phase refuses a statement for a target whatever the .version, unless its words name a
      version.
    - `apart`: the statements that a later phase ever refused or died of; each is asked about on its own.
    - `deadly`: the statements that it is known to die of; each is asked about in a process of its own.
    - `assembled`: what it assembled for a target it assembles again whenever the first phase finds no fault.
    """

    words: dict[str, str | None] = field(default_factory=dict)
    late: dict[tuple[str, str], StatementOutcome] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    deadly: frozenset[str] = frozenset()
    assembled: dict[tuple[str, str], StatementOutcome] = field(default_factory=dict)
    _unread: dict[str, str] = field(default_factory=dict)

    def unreadable(self, statement: str) -> str | None:
        """The fault of the first qualifier that is known to be unreadable."""
        mnemonic = mnemonic_of(statement)
        if mnemonic not in self._unread:
            faults = ((word, self.words.get(word)) for word in qualifiers(mnemonic))
            first = next(((word, fault) for word, fault in faults if fault), None)
            self._unread[mnemonic] = f".{first[0]} cannot be read: {first[1]}" if first else ""
        return self._unread[mnemonic] or None

    def learn(self, word: str, fault: str | None) -> None:
        """Remember whether a qualifier can be read."""
        self.words[word] = fault
        self._unread.clear()

    def for_every_target(self) -> AskedBefore:
        """The answers that hold for every target."""
        return AskedBefore(self.words, apart=self.apart)

    def add(self, other: AskedBefore) -> None:
        """Add the answers that another remembers."""
        self.words |= other.words
        self.late |= other.late
        self.assembled |= other.assembled
        self.apart |= other.apart
        self._unread.clear()

    def refused_late(self, target: str, statement: str, outcome: StatementOutcome) -> None:
        """Remember what a later phase did."""
        self.apart.add(statement)
        if outcome.verdict == "refused" and not _VERSIONED.search(outcome.words):
            self.late[target, statement] = outcome


def qualifiers(statement: str) -> list[str]:
    """The words of a mnemonic behind its first; none in a directive."""
    if statement.startswith("."):
        return []
    return mnemonic_of(statement).split(".")[1:]


def mnemonic_of(statement: str) -> str:
    """The text up to the first sign that no qualifier has: operands may stand behind it without a blank."""
    found = _WORDS.match(statement)
    return found[0] if found else ""
