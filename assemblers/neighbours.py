"""Neighbours: statements that differ from a legal one in one qualifier or one operand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..spec.diagnosis import is_shape
from ..spec.model import Form
from ..spec.variants import ABSENT, Family, Variant
from .asking import REGISTERS
from .universe_points import WrittenStatement, domain, registers

__all__ = ["Neighbours"]

_FOREIGN = "bogus"
_STRANGE = 2  # words from elsewhere beside a row and form; beside the first one all of them
_SHAPES = 4  # how many of the first and last shapes stand in place of every qualifier


class Neighbours:
    """Makes the neighbours of the statements of an instruction.

    `write` makes a variant's statement, `outside` has the values just outside those of a field, `foreign`
    the qualifiers of all instructions, and `elsewhere` some that only other instructions of PTX have.
    """

    def __init__(
        self,
        write: Callable[[Variant, Form], WrittenStatement],
        outside: Callable[[Family, str], Sequence[str | int]],
        foreign: Sequence[str],
        elsewhere: Sequence[str] = (),
    ) -> None:
        self._write = write
        self._outside = outside
        self._foreign = foreign
        self._elsewhere = elsewhere

    def of(self, family: Family, legal: Iterable[tuple[Variant, Form]]) -> Iterator[WrittenStatement]:
        """The statements that differ from a representative of each row and form in one qualifier or operand.

        The representative is one that no version has removed, if there is any.
        """
        qualifiers = self._family_words(family)
        seen: set[tuple[object, ...]] = set()
        sunk: set[tuple[str, ...]] = set()
        doubled: set[tuple[str, str]] = set()
        strange = itertools.cycle(self._elsewhere)
        number = len(self._elsewhere)
        lasting = sorted(legal, key=lambda pair: pair[0].gate.removed is not None)
        for variant, form in lasting:
            written = self._write(variant, form)
            yield from _doubled(family.name, variant, written, doubled)
            words = tuple(value for value in variant.fields.values() if isinstance(value, str))
            if (variant.row.id, form.operands, words) not in seen:
                seen.add((variant.row.id, form.operands, words))
                yield from self._other_values(variant, form, written)
            if (variant.row.id, form.operands) not in seen:
                seen.add((variant.row.id, form.operands))
                yield from _other_mnemonics(family.name, written, qualifiers)
                foreign = (f"{written.mnemonic}.{word}" for word in self._foreign)
                yield from (replace(written, mnemonic=mnemonic) for mnemonic in foreign)
                yield from _strange(family.name, written, itertools.islice(strange, number))
                number = _STRANGE
            held = tuple(variant.register_types(name) for name in form.operands)
            if (variant.row.id, form.operands, held) not in seen:
                seen.add((variant.row.id, form.operands, held))
                yield from self._other_operands(variant, form, written)
                if form.operands not in sunk:
                    sunk.add(form.operands)
                    yield from _sunk(written)

    def _other_values(
        self, variant: Variant, form: Form, written: WrittenStatement
    ) -> Iterator[WrittenStatement]:
        """Every immediate at each of its values and just outside them."""
        own = written.operands
        for place, name in enumerate(form.operands):
            for text in self._values(variant, name, own[place]):
                yield replace(written, operands=(*own[:place], text, *own[place + 1 :]))

    def _values(self, variant: Variant, name: str, text: str) -> Iterator[str]:
        operand = variant.row.family.instruction.operands[name]
        for place, element in enumerate(operand.elements or ()):
            parts = text[1:-1].split(", ")
            for other in self._values(variant, element, parts[place]):
                yield "{" + ", ".join([*parts[:place], other, *parts[place + 1 :]]) + "}"
        values = variant.values(operand)
        if values and "immediate" in operand.accepts:
            yield from map(str, range(min(values) - 2, max(values) + 3))

    def _family_words(self, family: Family) -> tuple[str, ...]:
        """Every qualifier of the family and every word just outside."""
        found: dict[str, None] = {}
        for view in family.rows:
            for variant in view.variants():
                behind = variant.mnemonic[len(family.name) :]
                found.update(dict.fromkeys(token for token in behind.split(".") if token))
        shapes = [word for word in found if word[:1] == "m" and word[1:2].isdigit()]
        for shape in shapes[_SHAPES:-_SHAPES]:  # the field universe has them all
            del found[shape]
        for field in sorted(family.bound):
            for value in (*domain(family, field), *self._outside(family, field)):
                if isinstance(value, str) and value != ABSENT:
                    found[value] = None
        found[_FOREIGN] = None
        return tuple(found)

    def _other_operands(
        self, variant: Variant, form: Form, written: WrittenStatement
    ) -> Iterator[WrittenStatement]:
        """Operands missing, doubled, swapped, of another kind, type or length, immediates off."""
        own = written.operands
        yield replace(written, operands=(*own, "0"))
        yield replace(written, operands=(*own, f"{REGISTERS['b32'][0]}1"))
        for place, text in enumerate(own):
            yield replace(written, operands=own[:place] + own[place + 1 :])
            yield replace(written, operands=own[: place + 1] + own[place:])
            for other in range(place):
                swapped = list(own)
                swapped[place], swapped[other] = swapped[other], swapped[place]
                yield replace(written, operands=tuple(swapped))
            for alternative in self._alternatives(variant, form.operands[place], text):
                yield replace(written, operands=(*own[:place], alternative, *own[place + 1 :]))

    def _alternatives(self, variant: Variant, name: str, text: str) -> Iterator[str]:
        """Other texts for one operand."""
        operand = variant.row.family.instruction.operands[name]
        yield from _OTHERS
        if operand.elements:
            parts = text[1:-1].split(", ")
            for place, element in enumerate(operand.elements):
                for other in self._alternatives(variant, element, parts[place]):
                    if "{" not in other:
                        yield "{" + ", ".join([*parts[:place], other, *parts[place + 1 :]]) + "}"
        if "register" in operand.accepts:
            yield from (f"{register}3" for register, _ in REGISTERS.values())
        if "address" in operand.accepts:
            yield from (f"[{register}3]" for register, _ in REGISTERS.values())
        if text.startswith("{"):
            parts = text[1:-1].split(", ")
            yield "{" + ", ".join([*parts, parts[0]]) + "}"
            if len(parts) > 1:
                yield "{" + ", ".join(parts[:-1]) + "}"
            if not operand.elements:
                for other in ("_", "0", "1.0"):
                    yield "{" + ", ".join([*parts[:-1], other]) + "}"
                for kind in REGISTERS:
                    yield "{" + ", ".join(registers(kind, len(parts), {})) + "}"


# Texts of every kind, to stand where they do not belong.
_OTHERS = (
    *(f"{REGISTERS[kind][0]}3" for kind in ("pred", "b32", "f32", "b64")),
    *("{" + ", ".join(f"%b{i}" for i in range(n)) + "}" for n in (1, 2, 4)),
    *("{" + ", ".join(f"%f{i}" for i in range(n)) + "}" for n in (1, 2, 4)),
    "!%p1",
    "[%bd0]",
    "[%b0]",
    "[0]",
    *(str(n) for n in range(-2, 5)),
    "1.0",
)


def _sunk(written: WrittenStatement) -> Iterator[WrittenStatement]:
    """One operand after another replaced by the sink: once a form, since assemblers choke on it."""
    own = written.operands
    return (replace(written, operands=(*own[:i], "_", *own[i + 1 :])) for i in range(len(own)))


def _doubled(
    name: str, variant: Variant, written: WrittenStatement, seen: set[tuple[str, str]]
) -> Iterator[WrittenStatement]:
    """Each qualifier twice, once a row: the optional ones too, which no first statement of a row has."""
    own = written.mnemonic[len(name) + 1 :].split(".")
    for place, token in enumerate(own):
        if token and (variant.row.id, token) not in seen and not is_shape(token):
            seen.add((variant.row.id, token))
            yield replace(written, mnemonic=".".join([name, *own[:place], token, *own[place:]]))


def _strange(name: str, written: WrittenStatement, words: Iterable[str]) -> Iterator[WrittenStatement]:
    """Words from elsewhere at the end, and every other one behind the name."""
    behind = written.mnemonic[len(name) :]
    for number, word in enumerate(words):
        mnemonic = f"{name}.{word}{behind}" if number % 2 else f"{written.mnemonic}.{word}"
        yield replace(written, mnemonic=mnemonic)


def _other_mnemonics(
    name: str, written: WrittenStatement, words: tuple[str, ...]
) -> Iterator[WrittenStatement]:
    """Qualifiers missing, doubled, moved, replaced and added."""
    behind = written.mnemonic[len(name) + 1 :]
    own = behind.split(".") if behind else []
    changed: list[list[str]] = []
    for place, token in enumerate(own):
        changed.append(own[:place] + own[place + 1 :])
        changed.append([*own[:place], token, *own[place:]])
        changed += [[*own[:place], word, *own[place + 1 :]] for word in words if word != token]
        for other in range(place):
            moved = own.copy()
            moved[place], moved[other] = moved[other], moved[place]
            changed.append(moved)
    changed += [[*own, word] for word in words]
    for tokens in changed:
        yield replace(written, mnemonic=".".join([name, *tokens]))
