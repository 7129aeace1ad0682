"""What a person means by a name: any case, parts of mnemonics, words left out, near misses."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable

from .nodes import nearest
from .variants import Family, Variant

__all__ = ["clean", "instructions_like", "like", "matching", "nearby"]

_WILDCARDS = frozenset("*?[")


def clean(text: str) -> str:
    """A mnemonic or pattern as it is compared: in lower case, without a semicolon behind it."""
    return text.strip().rstrip(";").rstrip().lower()


def like(pattern: str, *words: str) -> bool:
    """Whether a pattern matches one of the words: with wildcards all of it, else a part; in any case."""
    wanted = pattern.lower()
    if _WILDCARDS.intersection(wanted):
        return any(fnmatch.fnmatchcase(word.lower(), wanted) for word in words)
    return any(wanted in word.lower() for word in words)


def matching(families: Collection[Family], pattern: str | None) -> list[Variant]:
    """The variants that a pattern means, in the order of the specification; None means all.

    The name of an instruction means that instruction. Any other text is the beginning of mnemonics, else
    a part of them; with wildcards all of it. Where that finds nothing, the pattern's words (between dots)
    may stand apart.
    """
    listed = [variant for family in families for variant in family.listed()]
    if pattern is None:
        return listed
    wanted = clean(pattern)
    named = [(variant, variant.mnemonic.lower()) for variant in listed]
    found = (
        [variant for variant in listed if variant.instruction.instruction == wanted]
        or [variant for variant, name in named if f"{name}.".startswith(f"{wanted}.")]
        or [variant for variant, name in named if like(wanted, name)]
    )
    if found or "." not in wanted:
        return found
    words = wanted.split(".")
    for word in words:
        if not _WILDCARDS.intersection(word):
            named = [(variant, name) for variant, name in named if word in name]
    return [variant for variant, name in named if _in_order(words, name.split("."))]


def instructions_like(families: Iterable[Family], mnemonic: str) -> list[str]:
    """The instructions whose names have the first words of a mnemonic, as many as possible, in order."""
    names = [family.instruction.instruction for family in families]
    words = clean(mnemonic).split(".")
    for count in range(len(words), 0, -1):
        found = [name for name in names if _in_order(words[:count], name.split("."))]
        if found:
            return found
    return []


def nearby(families: Collection[Family], wanted: str) -> str | None:
    """A pattern near `wanted` that matches something; None where nothing is near.

    Each unknown word is replaced by the nearest, else the whole by the nearest instruction.
    """
    known = {
        word
        for family in families
        for variant in family.listed()
        for word in variant.mnemonic.lower().split(".")
    }
    words = [word if word in known else nearest(word, sorted(known)) for word in clean(wanted).split(".")]
    guess = ".".join(word for word in words if word)
    if None not in words and matching(families, guess):
        return guess
    return nearest(clean(wanted), [family.instruction.instruction for family in families])


def _in_order(wanted: Iterable[str], words: Iterable[str]) -> bool:
    """Whether words match `wanted` one after another, others between them left out."""
    left = iter(words)
    return all(any(fnmatch.fnmatchcase(word, one) for word in left) for one in wanted)
