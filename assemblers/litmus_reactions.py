"""The reaction of a ptxas to litmus tests, read from its words: none, a repair, serialisation, a refusal.

Advisory codes change their meaning between releases, so the text is read. All tests of a .version are asked
about in one process.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..gen.litmus.litmus_ptx import module, version
from ..gen.litmus.litmus_tests import SuiteLitmus
from ..spec.nodes import Version
from .asking import Asking
from .toolchains import Ptxas

__all__ = ["KINDS", "Reaction", "ReactionKind", "react"]

ReactionKind = Literal["accepts", "warns", "repairs", "serialises", "refuses", "dies", "too old"]
KINDS: tuple[ReactionKind, ...] = ("accepts", "warns", "repairs", "serialises", "refuses", "dies", "too old")
_TARGET = "sm_90a"
_LIMIT = 600.0
_PLACED = re.compile(r"ptxas [^,]*, line (\d+); (error|fatal|warning|info)\s*: (.+)")
_OF = re.compile(r"ptxas (error|fatal|warning|info)\s*: (.*in (?:the )?function '(\w+)'.*)")
_WORDS: tuple[tuple[str, ReactionKind], ...] = (("injected", "repairs"), ("serialized", "serialises"))


@dataclass(frozen=True)
class Reaction:
    """What one ptxas does with one test, and its words."""

    test: str
    kind: ReactionKind
    words: tuple[str, ...]


def react(ptxas: Ptxas, tests: Sequence[SuiteLitmus]) -> list[Reaction]:
    """The reaction to every test; a release that does not know its .version is too old."""
    by_version: dict[Version, list[SuiteLitmus]] = defaultdict(list)
    for test in tests:
        by_version[version(test.program)].append(test)
    found = {}
    for needed, alike in by_version.items():
        if needed > ptxas.ptx:
            found.update({test.name: Reaction(test.name, "too old", ()) for test in alike})
        else:
            found.update({reaction.test: reaction for reaction in _ask(ptxas, needed, alike)})
    return [found[test.name] for test in tests]


def _ask(ptxas: Ptxas, needed: Version, tests: Sequence[SuiteLitmus]) -> list[Reaction]:
    """Ask about all in one process; where it dies or refuses something, about each half."""
    text = module([test.kernel for test in tests])
    code, said, _ = Asking(ptxas, needed, _TARGET, _LIMIT).assemble(text)
    words: dict[str, list[str]] = defaultdict(list)
    faults: dict[str, list[str]] = defaultdict(list)
    entries = _entries(text)
    for line in said.splitlines():
        placed, of = _PLACED.match(line), _OF.match(line)
        if placed:
            entry = entries[int(placed[1]) - 1]
            (faults if placed[2] in ("error", "fatal") else words)[entry].append(placed[3].strip())
        elif of:
            words[of[3]].append(of[2].strip())
    if code != 0 and not faults:
        if len(tests) == 1:
            return [Reaction(tests[0].name, "dies", (f"exit code {code}",))]
        half = len(tests) // 2
        return [*_ask(ptxas, needed, tests[:half]), *_ask(ptxas, needed, tests[half:])]
    if faults:
        rest = [test for test in tests if test.entry not in faults]
        refused = [
            Reaction(test.name, "refuses", tuple(faults[test.entry]))
            for test in tests
            if test.entry in faults
        ]
        return refused + (_ask(ptxas, needed, rest) if rest else [])
    return [Reaction(test.name, _kind(words[test.entry]), tuple(words[test.entry])) for test in tests]


def _entries(text: str) -> list[str]:
    """By line, the kernel that it belongs to."""
    entries, current = [], ""
    for line in text.split("\n"):
        found = re.match(r"\.visible \.entry (\w+)\(", line)
        current = found[1] if found else current
        entries.append(current)
    return entries


def _kind(words: Sequence[str]) -> ReactionKind:
    if not words:
        return "accepts"
    for sign, kind in reversed(_WORDS):
        if any(sign in said for said in words):
            return kind
    return "warns"
