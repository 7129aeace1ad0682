"""What each mnemonic of the instructions that share a name spells, whatever their gates say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from .diagnosis import Spelling, ordered_classes
from .index import Index
from .variants import Family, Variant

__all__ = ["MnemonicSpellings", "spellings_of"]

_Combinations = dict[Spelling, tuple[Variant, str | None]]
_FEW_SHAPES = 4


class MnemonicSpellings:
    """What each mnemonic of one name spells (wgmma.mma_async with and without .sp), whatever gates say."""

    def __init__(self, name: str, families: tuple[Family, ...], index: Index) -> None:
        self.name = name
        self.families = families
        self.index = index
        self._classes = ordered_classes(index)
        self._of_shape: dict[str, _Combinations] = {}
        self._spelling: dict[str, Spelling] = {}

    def spelling(self, mnemonic: str) -> Spelling:
        """The qualifiers behind the name. Memoised."""
        known = self._spelling.get(mnemonic)
        if known is None:
            known = Spelling.of(self._behind(mnemonic), self.index, self._classes)
            self._spelling[mnemonic] = known
        return known

    def has_ordered(self, mnemonic: str) -> bool:
        """Whether any qualifier keeps its order: an element type, or one of a class of specs.yaml."""
        return not self._classes.keys().isdisjoint(self._behind(mnemonic))

    def _behind(self, mnemonic: str) -> list[str]:
        """The qualifiers behind the name, or beside it where those of the name stand apart."""
        words = mnemonic.split(".")
        if mnemonic.startswith(self.name) or not self.scattered(words):
            behind = mnemonic[len(self.name) + 1 :]
            return behind.split(".") if behind else []
        for word in self.name.split("."):
            words.remove(word)
        return words

    def scattered(self, words: Sequence[str]) -> bool:
        """Whether words begin with the opcode, and have the rest of the name somewhere behind it."""
        opcode = self.families[0].instruction.opcode
        if opcode is None:
            return False
        start = opcode.split(".")
        rest = self.name.split(".")[len(start) :]
        return [*words[: len(start)]] == start and {*rest} <= {*words[len(start) :]}

    @cached_property
    def combinations(self) -> _Combinations:
        """Every legal combination, with a note where a tolerance applies."""
        return self._indexed(variant for family in self.families for variant in family.variants())

    def spelled(self, spelling: Spelling) -> tuple[Variant, str | None] | None:
        """The combination that is spelled; None where it is in no row. As long as nothing needs the index of
        all combinations, those of a few shapes are made: most files have few shapes.
        """
        shape = None if "combinations" in self.__dict__ else spelling.shape
        if shape is None:
            return self.combinations.get(spelling)
        if shape not in self._of_shape:
            if len(self._of_shape) == _FEW_SHAPES:
                return self.combinations.get(spelling)
            self._of_shape[shape] = self._indexed(
                variant
                for family in self.families
                for variant in family.variants()
                if "shape" not in family.formats or family.token("shape", variant.fields) == shape
            )
        return self._of_shape[shape].get(spelling)

    def variant_of(self, mnemonic: str) -> Variant | None:
        """The variant that a mnemonic spells, without a diagnosis where it spells none."""
        found = self.spelled(self.spelling(mnemonic))
        return found[0] if found else None

    def _indexed(self, variants: Iterable[Variant]) -> _Combinations:
        found: _Combinations = {}
        for variant in variants:
            spelling = self.spelling(variant.mnemonic)
            found[spelling] = variant, variant.row.row.tolerated
            for other, why in self._tolerated(variant, spelling):
                found.setdefault(other, (variant, why))
        return found

    def _tolerated(self, variant: Variant, spelling: Spelling) -> Iterator[tuple[Spelling, str]]:
        for tolerance in variant.row.family.instruction.tolerances:
            yield replace(spelling, free=spelling.free - {tolerance.absent}), tolerance.why

    def alike(self, spelling: Spelling) -> Sequence[tuple[int, Variant]]:
        """The combinations of the text with the same shape and the same ordered qualifiers: the other
        qualifiers of each as bits, and its variant.
        """
        return self._by_shape.get((spelling.shape, spelling.ordered), ())

    def bits(self, words: Iterable[str]) -> int:
        """A set of qualifiers as an integer, one bit a qualifier; two sets differ in as many bits."""
        return sum(1 << self._places[word] for word in words)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(sorted(self.known))}

    @cached_property
    def _by_shape(self) -> Mapping[tuple[object, ...], Sequence[tuple[int, Variant]]]:
        found: dict[tuple[object, ...], list[tuple[int, Variant]]] = defaultdict(list)
        for spelling, (variant, note) in self.combinations.items():
            if note is None:
                found[spelling.shape, spelling.ordered].append((self.bits(spelling.free), variant))
        return found

    @cached_property
    def known(self) -> frozenset[str]:
        """Every qualifier that stands anywhere in the group."""
        return frozenset(token for spelling in self.combinations for token in spelling.words)

    @cached_property
    def cases(self) -> Mapping[str, str]:
        """Every qualifier, by its lower case."""
        return {word.lower(): word for word in self.known}

    def in_case(self, mnemonic: str) -> str:
        """A mnemonic with every qualifier that the group has in the case that it has there."""
        name, words = mnemonic[: len(self.name)], mnemonic[len(self.name) :].split(".")
        return name + ".".join(self.cases.get(word.lower(), word) for word in words)


def spellings_of(families: Iterable[Family], index: Index) -> Mapping[str, MnemonicSpellings]:
    """By name, what the mnemonics of the instructions that share it spell."""
    named: dict[str, list[Family]] = defaultdict(list)
    for family in families:
        named[family.name].append(family)
    return {name: MnemonicSpellings(name, tuple(found), index) for name, found in named.items()}
