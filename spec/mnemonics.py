"""Find the variant that a mnemonic spells, or explain why it spells none.

Qualifiers are compared as the assemblers compare them: the name comes first, element types and layouts keep
their order, every other qualifier may stand anywhere. Answers are memoised by what they depend on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property

from .diagnosis import Profile, Reason, Spelling
from .gates import EffectiveGate
from .lazy_dataclass import dataclass
from .spellings import MnemonicSpellings
from .variants import RowView, Variant

__all__ = ["ANY_SHAPE", "ILLEGAL", "LEGAL", "UNKNOWN", "MnemonicGroup", "NamedMnemonic", "fill_shape"]

LEGAL = "legal"
ILLEGAL = "illegal"
UNKNOWN = "unknown"
ANY_SHAPE = "<shape>"
_SHAPE = re.compile(r"\.(m\d+(?:n\d+)?(?:k\d+)?)(?=\.|$)")


@dataclass(frozen=True)
class NamedMnemonic:
    """The verdict on a mnemonic alone (legal, illegal or unknown), and the variant that it spells."""

    verdict: str
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    variant: Variant | None = None


def fill_shape(reason: Reason, shape: str) -> Reason:
    """The reason with the shape put in for <shape>."""
    return Reason(reason.code, reason.message.replace(ANY_SHAPE, shape))


class MnemonicGroup:
    """All instructions that share one name (wgmma.mma_async with and without .sp), at one version and target.

    `is_open` says whether a gate is open where the question is asked: only such variants are suggested.
    """

    def __init__(self, spellings: MnemonicSpellings, is_open: Callable[[EffectiveGate], bool]) -> None:
        self.spellings = spellings
        self.families = spellings.families
        self.is_open = is_open
        self._free_costs: dict[frozenset[str], list[int]] = {}
        self._ordered_costs: dict[tuple[int, int, str | None], list[int]] = {}
        self._closest: dict[Spelling, Variant] = {}
        self._diagnosed: dict[tuple[str | int, ...], NamedMnemonic] = {}
        self._opened_alike: dict[tuple[object, ...], Sequence[tuple[int, Variant]]] = {}

    @cached_property
    def open_rows(self) -> tuple[tuple[RowView, tuple[Variant, ...]], ...]:
        """The rows with the variants that may be suggested: the text has them, and their gates are open."""
        rows = (view for family in self.families for view in family.rows if not view.row.tolerated)
        found = ((view, tuple(v for v in view.variants() if self.is_open(v.gate))) for view in rows)
        return tuple((view, variants) for view, variants in found if variants)

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """What the rows with an open variant require; what all rows do where every gate is shut."""
        shut = (
            (view, tuple(view.variants()))
            for family in self.families
            for view in family.rows
            if not view.row.tolerated
        )
        return tuple(
            Profile(view, self.spellings.index, variants) for view, variants in self.open_rows or shut
        )

    def suggestion(self, mnemonic: str) -> Variant | None:
        """The nearest variant that is open; None where none is, or where it would be another computation.

        A mnemonic that spells a variant whose gate is shut keeps its shape and its ordered qualifiers (the
        element types): another shape or type is not what was meant.
        """
        spelling = self.spellings.spelling(mnemonic)
        found = self.spellings.combinations.get(spelling)
        if found is None:
            return self.closest(spelling) if self.open_rows else None
        if self.is_open(found[0].gate):
            return found[0]
        opened = self._opened(spelling)
        if not opened:
            return None
        wanted = self.spellings.bits(spelling.free)
        distances = [(bits ^ wanted).bit_count() for bits, _ in opened]
        return opened[distances.index(min(distances))][1]

    def _opened(self, spelling: Spelling) -> Sequence[tuple[int, Variant]]:
        """The open variants with the same shape and ordered qualifiers, and the other qualifiers of each as
        bits. Memoised.
        """
        key = spelling.shape, spelling.ordered
        found = self._opened_alike.get(key)
        if found is None:
            found = self._opened_alike[key] = tuple(
                (bits, variant)
                for bits, variant in self.spellings.alike(spelling)
                if self.is_open(variant.gate)
            )
        return found

    @cached_property
    def shape_classes(self) -> dict[str, int]:
        """A class for every shape: shapes of one class go with exactly the same other qualifiers, in forms
        that are equally open, so one verdict serves all.
        """
        companions: dict[str, set[tuple[object, ...]]] = defaultdict(set)
        for spelling, (variant, _) in self.spellings.combinations.items():
            shape = spelling.shape
            if shape:
                companions[shape].add((spelling.free - {shape}, spelling.ordered, self.is_open(variant.gate)))
        numbers: dict[frozenset[tuple[object, ...]], int] = {}
        return {
            shape: numbers.setdefault(frozenset(others), len(numbers)) for shape, others in companions.items()
        }

    def look_up(self, mnemonic: str) -> tuple[Variant, str | None] | tuple[NamedMnemonic, str]:
        """What a mnemonic spells, or the verdict on one that is in no row with the shape it left open.

        Shapes of one class are judged alike, so that verdict is memoised with the shape left open: its
        reasons name it as <shape>. A shape that no row has, and one of several, is judged by itself.
        """
        if not self._diagnosed:  # a legal mnemonic does not need the classes of shapes
            legal = self.spellings.spelled(self.spellings.spelling(mnemonic))
            if legal is not None:
                return legal
        place = len(self.spellings.name)
        parts = _SHAPE.split(mnemonic[place:])
        shape = parts.pop(1) if len(parts) == 3 and parts[1] in self.shape_classes else ""
        signature = (mnemonic[:place], *parts, self.shape_classes[shape]) if shape else (mnemonic,)
        named = self._diagnosed.get(signature)
        if named is None:
            spelling = self.spellings.spelling(mnemonic)
            legal = self.spellings.combinations.get(spelling)
            if legal is not None:
                return legal
            verdict, reasons = self._in_another_case(spelling) or self._diagnose(spelling, shape)
            named = self._diagnosed[signature] = NamedMnemonic(verdict, reasons)
        return named, shape

    def _in_another_case(self, spelling: Spelling) -> tuple[str, tuple[Reason, ...]] | None:
        """The verdict on a mnemonic with words in upper case that PTX has in lower case; None without."""
        wrong = sorted(
            word for word in spelling.words - self.spellings.known if word.lower() in self.spellings.cases
        )
        if not wrong:
            return None
        said = "; ".join(f".{self.spellings.cases[word.lower()]}, not .{word}" for word in wrong)
        return ILLEGAL, (Reason("qualifier.unknown", f"PTX tells upper from lower case: {said}"),)

    def _diagnose(self, spelling: Spelling, shape: str) -> tuple[str, tuple[Reason, ...]]:
        profile, *others = self.nearest_profiles(spelling)
        shapes = self._shapes(profile, others, spelling)
        reasons = tuple(profile.reasons(spelling, self.spellings.known, shapes))
        if not reasons:
            reasons = (profile.combination(spelling),)
        if shape:
            reasons = tuple(
                Reason(r.code, r.message.replace(f".{shape} does", f".{ANY_SHAPE} does")) for r in reasons
            )
        return ILLEGAL, reasons

    def _shapes(self, profile: Profile, others: list[Profile], spelling: Spelling) -> tuple[str, ...]:
        """The shapes of a row, and of others to which the spelling is wrong in the same way; none where it
        has a right one.
        """
        if profile.has_shape(spelling.free):
            return ()
        besides = [tuple(one.reasons(spelling, self.spellings.known, ())) for one in (profile, *others)]
        alike = (one for one, said in zip((profile, *others), besides, strict=True) if said == besides[0])
        return tuple(dict.fromkeys(shape for one in alike for shape in one.shapes))

    def nearest_profiles(self, spelling: Spelling) -> tuple[Profile, ...]:
        """The rows that a spelling comes nearest to: several where they are equally near."""
        free = self._free_costs.get(spelling.free)
        if free is None:
            free = [profile.distance_free(spelling.free) for profile in self.profiles]
            self._free_costs[spelling.free] = free
        columns = [free]
        for number, tokens in enumerate(spelling.ordered):
            columns.append(self._ordered_cost(number, len(tokens), None))
            columns += [self._ordered_cost(number, i, token) for i, token in enumerate(tokens)]
        costs = list(map(sum, zip(*columns, strict=True)))
        least = min(costs)
        return tuple(p for p, cost in zip(self.profiles, costs, strict=True) if cost == least)

    def closest(self, spelling: Spelling) -> Variant:
        """The nearest rows' variant that keeps the most qualifiers; of equals, that of the nearest shape."""
        if spelling not in self._closest:
            found = (profile.closest(spelling) for profile in self.nearest_profiles(spelling))
            self._closest[spelling] = min(found, key=lambda pair: pair[0])[1]
        return self._closest[spelling]

    def lacks_one(self, spelling: Spelling) -> bool:
        """Whether the nearest variant has one qualifier more, in a group without element types."""
        if not self.profiles:
            return False
        near = self.spellings.spelling(self.closest(spelling).mnemonic)
        return not any(near.ordered) and near.shape == spelling.shape and len(near.free - spelling.free) == 1

    def _ordered_cost(self, number: int, place: int, token: str | None) -> list[int]:
        """What one qualifier at its place (or, without a token, their number) costs each row."""
        key = number, place, token
        costs = self._ordered_costs.get(key)
        if costs is None:
            if token is None:
                costs = [profile.distance_length(number, place) for profile in self.profiles]
            else:
                costs = [profile.distance_token(number, place, token) for profile in self.profiles]
            self._ordered_costs[key] = costs
        return costs
