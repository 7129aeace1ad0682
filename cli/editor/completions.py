"""The qualifiers with which a mnemonic can go on, under a version and on a target, as it stands so far."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import cache

from ...spec.api import load
from ...spec.errors import Question
from ...spec.selection import select

__all__ = ["completions"]

_MOST = 200
_NUMBER = re.compile(r"(\d+)")


def completions(written: str, ptx: str | None, target: str | None) -> list[str]:
    """The next words of mnemonics that begin with what is written, up to its last point; each legal there.

    Where the qualifiers stand in another order than the text's, those that are still missing. A version or
    target that is not known is left out of the question.
    """
    begun, _, part = written.rpartition(".")
    found = _next(begun, *_known(ptx, target))
    return sorted((word for word in found if word.startswith(part)), key=_by_numbers)[:_MOST]


def _by_numbers(word: str) -> list[tuple[int, str]]:
    """The order of a person: m64n8k16 before m64n16k16."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(word)]


def _known(ptx: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The version and the target, if the specification knows them."""
    isa = load().isa
    try:
        ptx = str(isa.version(ptx)) if ptx else None
    except Question:
        ptx = None
    try:
        target = isa.target(target) if target else None
    except Question:
        target = None
    return ptx, target


def _next(begun: str, ptx: str | None, target: str | None) -> list[str]:
    mnemonics = _mnemonics(ptx, target)
    if not begun:
        return list(dict.fromkeys(name.split(".")[0] for name in mnemonics))
    start = begun + "."
    words: dict[str, None] = {}
    for name in mnemonics[bisect_left(mnemonics, start) :]:
        if not name.startswith(start):
            break
        words[name[len(start) :].split(".")[0]] = None
    return list(words) or _missing(begun, mnemonics)


def _missing(begun: str, mnemonics: list[str]) -> list[str]:
    """What other qualifiers stand in the mnemonics that have all of those that are written."""
    given = Counter(begun.split("."))
    words: dict[str, None] = {}
    for name in mnemonics:
        parts = Counter(name.split("."))
        if given <= parts and name.split(".")[0] == begun.split(".")[0]:
            words.update(dict.fromkeys((parts - given).elements()))
    return sorted(words)


@cache
def _mnemonics(ptx: str | None, target: str | None) -> list[str]:
    """All mnemonics that are legal there, sorted."""
    return sorted(variant.mnemonic for variant in select(load(), None, ptx, target))
