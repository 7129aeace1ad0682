"""Why a mnemonic is not legal: the nearest row, and each qualifier that does not fit it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from .index import Index
from .lazy_dataclass import dataclass
from .nodes import nearest
from .variants import ABSENT, RowView, Variant

__all__ = ["Profile", "Reason", "Spelling", "fold_words"]

_SHAPE = re.compile(r"m\d+(?:n\d+)?(?:k\d+)?")
_NUMBERS = re.compile(r"\d+")
_LISTED = 6  # words of a list that is written out


@dataclass(frozen=True)
class Reason:
    """Why a statement is not legal (or not known): a stable code and a full sentence."""

    code: str
    message: str


@dataclass(frozen=True)
class Spelling:
    """A mnemonic split into the qualifiers that may be permuted, and those that keep their order, by class.

    The classes are the element types first, then those of specs.yaml. `repeated` are the qualifiers that
    stand twice although they must not.
    """

    free: frozenset[str]
    ordered: tuple[tuple[str, ...], ...]
    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, tokens: Iterable[str], index: Index, classes: Mapping[str, int]) -> Spelling:
        """The qualifiers of a mnemonic, with what ordered_classes says of the index."""
        free: list[str] = []
        ordered: list[list[str]] = [[] for _ in range(len(set(classes.values())))]
        for word in tokens:
            number = classes.get(word)
            (free if number is None else ordered[number]).append(word)
        once = frozenset(free)
        repeated: tuple[str, ...] = ()
        if len(once) < len(free):
            repeated = tuple(
                sorted(word for word in once if free.count(word) > 1 and word not in index.repeatable)
            )
        return cls(once, tuple(map(tuple, ordered)), repeated)

    @cached_property
    def shape(self) -> str | None:
        """The qualifier that is a shape; the first in the alphabet where there are several."""
        return min((word for word in self.free if _SHAPE.fullmatch(word)), default=None)

    @property
    def words(self) -> frozenset[str]:
        return self.free.union(*self.ordered)


@cache
def _classes(*classes: tuple[str, ...]) -> dict[str, int]:
    return {word: number for number, words in enumerate(classes) for word in words}


def ordered_classes(index: Index) -> dict[str, int]:
    """The class of every qualifier that keeps its order: element types 0, then those of specs.yaml."""
    return _classes(tuple(index.types), *index.ordered.values())


def is_shape(word: str) -> bool:
    """Whether a qualifier has the form of a shape (m64n8k16, m8n8, …)."""
    return _SHAPE.fullmatch(word) is not None


def fold_words(words: Iterable[str]) -> str:
    """A readable list: `.m64n8k32, .m64n16k32 … .m64n256k32`."""
    ordered = [f".{word}" for word in words]
    if len(ordered) > _LISTED:
        return f"{ordered[0]}, {ordered[1]} … {ordered[-1]} ({len(ordered)} values)"
    return ", ".join(ordered)


@dataclass(frozen=True)
class _Field:
    """A qualifier of a row: its name, and every way it may be spelled (() when absent)."""

    name: str
    options: tuple[tuple[str, ...], ...]
    tokens: frozenset[str]

    @cached_property
    def length(self) -> int:
        """How many tokens it is spelled with."""
        return max(map(len, self.options))

    def may_be(self, tokens: frozenset[str]) -> bool:
        """Whether some tokens, in whatever order, spell it."""
        return tuple(tokens) in self.options or any(set(option) == tokens for option in self.options)


class Profile:
    """What one row requires of a spelling, in a form that is quick to compare.

    Only `variants` of the row count: those that may be suggested.
    """

    def __init__(self, view: RowView, index: Index, variants: tuple[Variant, ...]) -> None:
        self.view = view
        self.index = index
        self.variants = variants
        classes = ordered_classes(index)
        self.names = ("element type", *index.ordered)
        self.ordered: tuple[list[_Field], ...] = tuple([] for _ in self.names)
        self.free: list[_Field] = []
        for name in view.family.fields:
            field = self._field(name)
            if not field.tokens:
                continue
            numbers = {classes.get(token) for token in field.tokens}
            number = numbers.pop()
            if number is None or numbers:
                self.free.append(field)
            else:
                self.ordered[number].append(field)
        tolerated = {tolerance.absent for tolerance in view.family.instruction.tolerances}
        self.fixed = frozenset(view.family.fixed) - tolerated
        self.allowed = frozenset(view.family.fixed).union(*(field.tokens for field in self.free))
        self.wanted = [field.tokens for field in self.free if () not in field.options]
        fields = (field for field in self.free if field.name == "shape")
        self.shapes = tuple(".".join(option) for field in fields for option in field.options if option)
        self._free_reasons: dict[
            tuple[frozenset[str], tuple[str, ...]], tuple[tuple[Reason, ...], tuple[Reason, ...]]
        ] = {}
        self._ordered_reasons: dict[tuple[str, tuple[str, ...]], tuple[Reason, ...]] = {}
        self.places = [
            [field.tokens for field in fields for _ in range(field.length)] for fields in self.ordered
        ]

    def _field(self, name: str) -> _Field:
        view = self.view
        if name in view.family.formats:
            spelled = dict.fromkeys(view.family.token(name, v.fields) or "" for v in self.variants)
            options: tuple[tuple[str, ...], ...] = tuple((text,) for text in spelled)
        else:
            present = {variant.fields[name] for variant in self.variants}
            options = tuple(
                () if value == ABSENT else tuple(str(value).split("."))
                for value in view.domains[name]
                if value in present
            )
        return _Field(name, options, frozenset(token for option in options for token in option))

    def has_shape(self, free: frozenset[str]) -> bool:
        """Whether a spelling has a shape of this row, or none as this row: then no reason names shapes."""
        return all(field.may_be(free & field.tokens) for field in self.free if field.name == "shape")

    def distance_free(self, free: frozenset[str]) -> int:
        """How many permutable qualifiers differ between a spelling and this row."""
        cost = len(self.fixed - free) * 2 + len(free - self.allowed)
        return cost + sum(1 for tokens in self.wanted if tokens.isdisjoint(free))

    def distance_length(self, number: int, length: int) -> int:
        """The cost of writing `length` ordered qualifiers of a class where the row has another number."""
        return 3 * abs(length - len(self.places[number]))

    def distance_token(self, number: int, position: int, token: str) -> int:
        """The cost of one ordered qualifier at its place in the class."""
        places = self.places[number]
        return int(position < len(places) and token not in places[position])

    def reasons(self, spelling: Spelling, known: frozenset[str], shapes: tuple[str, ...]) -> Iterator[Reason]:
        """A reason for each qualifier that does not fit; `known` are all qualifiers of the instruction.

        `shapes` are named where the shape does not fit: those of this row, and of others that are as near.
        """
        for token in spelling.repeated:
            yield Reason("qualifier.repeated", f".{token} stands more than once")
        remembered = self._free_reasons.get((spelling.free, shapes))
        if remembered is None:
            left = set(spelling.free - self.allowed)
            ordered = (tokens for places in self.places for tokens in places)
            absent = self.allowed.union(*ordered) - spelling.free
            missing = tuple(self._missing(spelling.free, left, shapes))
            remembered = missing, tuple(self._surplus(left, known, absent))
            self._free_reasons[spelling.free, shapes] = remembered
        missing, surplus = remembered
        yield from missing
        for what, part, fields in zip(self.names, spelling.ordered, self.ordered, strict=True):
            key = what, part
            reasons = self._ordered_reasons.get(key)
            if reasons is None:
                reasons = self._ordered_reasons[key] = tuple(self._in_order(what, part, fields))
            yield from reasons
        yield from surplus

    def _missing(self, free: frozenset[str], left: set[str], shapes: tuple[str, ...]) -> Iterator[Reason]:
        """Reasons for missing qualifiers; a shape that stands in place of the right one is removed from
        `left`.
        """
        for token in sorted(self.fixed - free):
            yield Reason("qualifier.missing", f"the mandatory qualifier .{token} is missing")
        for field in self.free:
            present = free & field.tokens
            if field.may_be(present):
                continue
            is_the_shape = field.name == "shape"
            words = shapes if is_the_shape else [".".join(option) for option in field.options if option]
            rival = next((t for t in sorted(left) if is_the_shape and is_shape(t)), None)
            if rival:
                left.discard(rival)
                yield Reason(
                    "qualifier.value",
                    f"the shape .{rival} does not exist here; allowed: {fold_words(words)}",
                )
            elif not present:
                bare = next(iter(words), "")  # .sp, which may stand as .sp::ordered_metadata
                one = bool(words) and all(word == bare or word.startswith(f"{bare}::") for word in words)
                what = f"the qualifier .{bare} is missing" if one else f"no {field.name} is given"
                allowed = f"; allowed: {fold_words(words)}" if words else ""
                yield Reason("qualifier.missing", what + allowed)
            else:
                given = ".".join(sorted(present))
                yield Reason("qualifier.value", f"{field.name} is .{given}; allowed: {fold_words(words)}")

    @staticmethod
    def _surplus(left: set[str], known: frozenset[str], absent: frozenset[str]) -> Iterator[Reason]:
        """Reasons for qualifiers that do not belong; only what is `absent` and may stand is suggested."""
        for token in sorted(left):
            if token in known:
                yield Reason("qualifier.unexpected", f".{token} does not go with the rest")
            else:
                guess = nearest(token, absent)
                hint = f"; did you mean .{guess}?" if guess else ""
                yield Reason("qualifier.unknown", f"there is no qualifier .{token} here{hint}")

    def _in_order(self, what: str, given: tuple[str, ...], fields: list[_Field]) -> Iterator[Reason]:
        length = sum(field.length for field in fields)
        if len(given) != length:
            order = "".join(f".{field.name}" for field in fields) or "none"
            shown = "".join(f".{token}" for token in given) or "none"
            verb = "is" if len(given) == 1 else "are"
            yield Reason(
                f"qualifier.{what.split()[-1]}s",
                f"{len(given)} {what}{'s' * (len(given) != 1)} {verb} given ({shown}); "
                f"{length} belong{'s' * (length == 1)} here: {order}",
            )
            return
        position = 0
        for field in fields:
            part = given[position : position + field.length]
            position += field.length
            if part not in field.options:
                words = [".".join(option) for option in field.options if option]
                yield Reason(
                    "qualifier.value",
                    f"{field.name} is .{'.'.join(part)}; allowed: {fold_words(words)}",
                )

    def combination(self, spelling: Spelling) -> Reason:
        """The reason when every qualifier is possible by itself, but their combination is not."""
        where = self.view.row.where
        rule = f"; the rule is: {where.text}" if where else ""
        shown = "".join(f".{token}" for part in spelling.ordered for token in part)
        return Reason("qualifier.combination", f"{shown} do not go together{rule}")

    def closest(self, spelling: Spelling) -> tuple[tuple[int, int], Variant]:
        """The row's variant that keeps the most of the written qualifiers, behind how unlike it is."""
        numbers = [int(n) for n in _NUMBERS.findall(spelling.shape or "")]
        wanted, written = spelling.free, spelling.ordered
        plain = not numbers and not any(
            written
        )  # so only qualifiers that may be permuted tell variants apart

        def unlike(theirs: Spelling, own: Sequence[int]) -> tuple[int, int]:
            if plain:
                return len(theirs.free - wanted), 0
            moved = sum(
                a != b
                for mine, other in zip(written, theirs.ordered, strict=True)
                for a, b in zip(mine, other, strict=False)
            )
            far = sum(abs(a - b) for a, b in zip(numbers, own, strict=False))
            return len(theirs.free - wanted) + moved, far

        found = ((unlike(theirs, own), variant) for variant, theirs, own in self._spelled)
        return min(found, key=lambda pair: pair[0])

    @cached_property
    def _spelled(self) -> tuple[tuple[Variant, Spelling, tuple[int, ...]], ...]:
        """The row's variants, how each is spelled, and the numbers of its shape."""
        return tuple(self._spelling(variant) for variant in self.variants)

    def _spelling(self, variant: Variant) -> tuple[Variant, Spelling, tuple[int, ...]]:
        tokens = variant.mnemonic[len(self.view.family.name) + 1 :].split(".")
        shape = next((token for token in tokens if is_shape(token)), "")
        return (
            variant,
            Spelling.of(tokens, self.index, ordered_classes(self.index)),
            tuple(map(int, _NUMBERS.findall(shape))),
        )
