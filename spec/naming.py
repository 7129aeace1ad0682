"""What a person means by a name: any case, parts of mnemonics, words left out, near misses."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from .lazy_dataclass import dataclass
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
    known = _names_of(tuple(families))
    if pattern is None:
        return list(known.listed)
    wanted = clean(pattern)
    found = known.of(wanted) or known.beginning(wanted) or known.holding(wanted)
    if found or "." not in wanted:
        return found
    return known.with_words(wanted.split("."))


@dataclass(frozen=True)
class _NameIndex:
    """All variants of some families, and their names in lower case."""

    listed: tuple[Variant, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(variant.mnemonic.lower() for variant in self.listed)

    @cached_property
    def _by_instruction(self) -> Mapping[str, list[Variant]]:
        found: dict[str, list[Variant]] = {}
        for variant in self.listed:
            found.setdefault(variant.instruction.instruction, []).append(variant)
        return found

    def of(self, instruction: str) -> list[Variant]:
        """Those of an instruction."""
        return list(self._by_instruction.get(instruction, ()))

    @cached_property
    def _dotted(self) -> tuple[str, ...]:
        """The names with a dot at both ends, so that each of their words stands between dots."""
        return tuple(f".{name}." for name in self.names)

    @cached_property
    def _of_word(self) -> dict[str, frozenset[int]]:
        """By word, the numbers of the names that have it: of the words that were asked about."""
        return {}

    def _having(self, words: Iterable[str]) -> Collection[int]:
        """The numbers of the names that have all of some words, in order."""
        found: list[frozenset[int]] = []
        for word in words:
            if word not in self._of_word:
                text = f".{word}."
                self._of_word[word] = frozenset(n for n, name in enumerate(self._dotted) if text in name)
            found.append(self._of_word[word])
        if not found:
            return range(len(self.listed))
        fewest, *others = sorted(found, key=len)
        return sorted(fewest.intersection(*others))

    def beginning(self, wanted: str) -> list[Variant]:
        """Those whose names begin with some whole words."""
        head = f".{wanted}."
        return [self.listed[n] for n in self._having(wanted.split(".")) if self._dotted[n].startswith(head)]

    def holding(self, wanted: str) -> list[Variant]:
        """Those that hold a text; with wildcards, those that it matches."""
        if _WILDCARDS.intersection(wanted):
            return [
                v
                for v, name in zip(self.listed, self.names, strict=True)
                if fnmatch.fnmatchcase(name, wanted)
            ]
        whole = wanted.split(".")[1:-1]  # the words at both ends may be parts of a name's
        return [self.listed[n] for n in self._having(whole) if wanted in self.names[n]]

    def with_words(self, words: Sequence[str]) -> list[Variant]:
        """Those that have some words in their order, others between them left out."""
        having = self._having(word for word in words if not _WILDCARDS.intersection(word))
        return [self.listed[n] for n in having if _in_order(words, self.names[n].split("."))]


@lru_cache(maxsize=8)
def _names_of(families: tuple[Family, ...]) -> _NameIndex:
    return _NameIndex(tuple(variant for family in families for variant in family.listed()))


def instructions_like(families: Iterable[Family], mnemonic: str) -> list[str]:
    """The instructions whose names have the first words of a mnemonic, as many as possible, in order."""
    names = (family.instruction.instruction for family in families)
    known = [(name, name.split(".")) for name in names]
    words = clean(mnemonic).split(".")
    for count in range(len(words), 0, -1):
        found = [name for name, own in known if _in_order(words[:count], own)]
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
    return all(
        one in left if _WILDCARDS.isdisjoint(one) else any(fnmatch.fnmatchcase(word, one) for word in left)
        for one in wanted
    )
