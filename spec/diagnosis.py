"""Why a mnemonic is not legal: the row it comes nearest to, and each qualifier in the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from .model import Index
from .nodes import nearest
from .variants import ABSENT, RowView, Variant

__all__ = ["Profile", "Reason", "Spelling", "fold_words"]

_SHAPE = re.compile(r"m\d+(?:n\d+)?(?:k\d+)?")
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a statement is not legal (or not known): a stable code and a full sentence."""

    code: str
    message: str


@dataclass(frozen=True)
class Spelling:
    """A mnemonic taken apart: the qualifiers that may be permuted, and those in order, by class.

    The classes are the element types first, then those of specs.yaml.
    """

    free: frozenset[str]
    ordered: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, tokens: Iterable[str], index: Index) -> Spelling:
        classes = ordered_classes(index)
        words = tuple(tokens)
        return cls(
            frozenset(word for word in words if not any(word in known for known in classes)),
            tuple(tuple(word for word in words if word in known) for known in classes),
        )

    @cached_property
    def shape(self) -> str | None:
        return next((word for word in self.free if _SHAPE.fullmatch(word)), None)

    @property
    def words(self) -> frozenset[str]:
        return self.free.union(*self.ordered)


@cache
def _classes(types: tuple[str, ...], ordered: tuple[tuple[str, ...], ...]) -> tuple[frozenset[str], ...]:
    return (frozenset(types), *map(frozenset, ordered))


def ordered_classes(index: Index) -> tuple[frozenset[str], ...]:
    """The classes of qualifiers that keep their order: element types, layouts, operations."""
    return _classes(tuple(index.types), tuple(index.ordered.values()))


def is_shape(word: str) -> bool:
    """Whether a qualifier has the form of a shape (m64n8k16, m8n8, …)."""
    return _SHAPE.fullmatch(word) is not None


def fold_words(words: Iterable[str], limit: int = 6) -> str:
    """A readable list: `.m64n8k32, .m64n16k32 … .m64n256k32`."""
    ordered = [f".{word}" for word in words]
    if len(ordered) > limit:
        return f"{ordered[0]}, {ordered[1]} … {ordered[-1]} ({len(ordered)} values)"
    return ", ".join(ordered)


@dataclass(frozen=True, slots=True)
class _Field:
    """A qualifier of a row: its name, and every way it may be spelled (() when absent)."""

    name: str
    options: tuple[tuple[str, ...], ...]
    tokens: frozenset[str]

    @property
    def length(self) -> int:
        """How many tokens it is spelled with."""
        return max(map(len, self.options))


class Profile:
    """What one row wants of a spelling, in the form that comparing is quickest in."""

    def __init__(self, view: RowView, index: Index) -> None:
        self.view = view
        self.index = index
        classes = ordered_classes(index)
        self.names = ("element type", *index.ordered)
        self.ordered: tuple[list[_Field], ...] = tuple([] for _ in classes)
        self.free: list[_Field] = []
        for name in view.family.fields:
            field = self._field(name)
            if not field.tokens:
                continue
            for known, fields in zip(classes, self.ordered, strict=True):
                if field.tokens <= known:
                    fields.append(field)
                    break
            else:
                self.free.append(field)
        self.fixed = frozenset(view.family.fixed)
        self.allowed = self.fixed.union(*(field.tokens for field in self.free))
        self.wanted = [field for field in self.free if () not in field.options]

    def _field(self, name: str) -> _Field:
        view = self.view
        if name == "shape" and view.family.instruction.shape:
            spelled = dict.fromkeys(
                view.family.token("shape", fields) or "" for fields in view.combinations()
            )
            options: tuple[tuple[str, ...], ...] = tuple((text,) for text in spelled)
        else:
            options = tuple(
                () if value == ABSENT else tuple(str(value).split("."))
                for value in view.domains[name]
            )
        return _Field(name, options, frozenset(token for option in options for token in option))

    def distance(self, spelling: Spelling) -> int:
        """How many qualifiers stand between the spelling and this row."""
        free = spelling.free
        cost = len(self.fixed - free) * 2 + len(free - self.allowed)
        for field in self.wanted:
            if field.tokens.isdisjoint(free):
                cost += 1
        for given, fields in zip(spelling.ordered, self.ordered, strict=True):
            cost += 3 * abs(len(given) - sum(field.length for field in fields))
            places = (field for field in fields for _ in range(field.length))
            for token, field in zip(given, places, strict=False):
                if token not in field.tokens:
                    cost += 1
        return cost

    def reasons(self, spelling: Spelling, known: frozenset[str]) -> Iterator[Reason]:
        """Each qualifier in the way; `known` are all the qualifiers of the instruction."""
        left = set(spelling.free - self.allowed)
        for token in sorted(self.fixed - spelling.free):
            yield Reason("qualifier.missing", f"the mandatory qualifier .{token} is missing")
        for field in self.free:
            present = spelling.free & field.tokens
            if tuple(present) in field.options or any(
                set(option) == present for option in field.options
            ):
                continue
            words = [".".join(option) for option in field.options if option]
            rival = next((t for t in sorted(left) if field.name == "shape" and is_shape(t)), None)
            if rival:
                left.discard(rival)
                yield Reason(
                    "qualifier.value",
                    f"the shape .{rival} does not exist here; allowed: {fold_words(words)}",
                )
            elif not present:
                yield Reason(
                    "qualifier.missing", f"no {field.name} is given; allowed: {fold_words(words)}"
                )
            else:
                given = ".".join(sorted(present))
                yield Reason(
                    "qualifier.value", f"{field.name} is .{given}; allowed: {fold_words(words)}"
                )
        for what, given, fields in zip(self.names, spelling.ordered, self.ordered, strict=True):
            yield from self._in_order(what, given, fields)
        for token in sorted(left):
            if token in known:
                yield Reason("qualifier.unexpected", f".{token} does not go with the rest")
            else:
                guess = nearest(token, known)
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
        """Every qualifier is possible by itself; their combination is not."""
        where = self.view.row.where
        rule = f"; the rule is: {where.text}" if where else ""
        shown = "".join(f".{token}" for part in spelling.ordered for token in part)
        return Reason("qualifier.combination", f"{shown} do not go together{rule}")

    def closest(self, spelling: Spelling) -> Variant:
        """The row's variant that keeps most of what was written."""
        numbers = [int(n) for n in _NUMBERS.findall(spelling.shape or "")]

        def unlike(variant: Variant) -> tuple[int, int]:
            tokens = variant.mnemonic[len(self.view.family.name) + 1 :].split(".")
            shape = next((token for token in tokens if is_shape(token)), "")
            own = [int(n) for n in _NUMBERS.findall(shape)]
            theirs = Spelling.of(tokens, self.index)
            moved = sum(
                a != b
                for mine, other in zip(spelling.ordered, theirs.ordered, strict=True)
                for a, b in zip(mine, other, strict=False)
            )
            far = sum(abs(a - b) for a, b in zip(numbers, own, strict=False))
            return len(theirs.free - spelling.free) + moved, far

        return min(self.view.variants(), key=unlike)
