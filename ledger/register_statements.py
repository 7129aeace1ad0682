"""Statements that show that the points of the register are right: every row and every part of each.

They are legal statements, changed as the points say. So that points which say too much are contradicted,
statements with another value in one of their fields stand beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..assemblers.universe import Universe
from ..assemblers.universe_points import WrittenStatement
from ..spec.model import Form
from ..spec.variants import ABSENT, Variant
from .contradiction_file import (
    Everywhere,
    Points,
    asked_alternatives,
    operand_texts,
    written_out,
    written_qualifiers,
)
from .contradictions import ContradictionRegister
from .covered_points import writes_twice
from .literal_classes import THE_LEGAL, members
from .mixed_vectors import mixtures

__all__ = ["chosen_statements"]

_BESIDE = 2  # statements with another value in one field of the points, for each field


def chosen_statements(register: ContradictionRegister) -> dict[str, tuple[str, ...]]:
    """By instruction, statements enough to show every part of its points."""
    made = Universe(register.specification)
    found: dict[str, dict[str, None]] = {}
    for entry in register.entries.values():
        for points in entry.points:
            found.setdefault(points.instruction, {}).update(dict.fromkeys(_changed(made, points)))
        for ignored in entry.everywhere:
            for name, text in _with_ignored(made, ignored):
                found.setdefault(name, {})[text] = None
    return {name: tuple(found[name]) for name in register.specification.families if name in found}


def _changed(made: Universe, points: Points) -> Iterator[str]:
    for statement in points.statements:
        yield from map(written_out, asked_alternatives(statement))
    shown = False
    for variant, form in sorted(_legal(made, points), key=lambda pair: _order(points, pair[0])):
        some = points
        if shown and _inside(points, variant):  # the first shows every part, and the others their rows
            some = replace(
                points,
                written=points.written[:1],
                elements=points.elements[:1],
                surplus=points.surplus[:1],
                qualifiers=_first_qualifiers(points, variant),
            )
        shown = True
        for changed in _written(some, variant, made.write(variant, form), form):
            yield changed.text


def _with_ignored(made: Universe, ignored: Everywhere) -> Iterator[tuple[str, str]]:
    """Every instruction with one of the qualifiers, in turn, and each of them once at least: at the end of a
    statement that no version has removed, and of one that some version has, and every other time behind the
    name.
    """
    families = tuple(made.specification.families.items())
    for number in range(max(len(families), len(ignored.surplus))):
        name, family = families[number % len(families)]
        word = ignored.surplus[number % len(ignored.surplus)]
        shown = {variant.gate.removed is None: variant for variant in reversed(tuple(family.variants()))}
        for variant in shown.values():
            legal = made.write(variant, next(iter(variant.forms)))
            rest = legal.mnemonic.removeprefix(family.name)
            mnemonic = f"{family.name}.{word}{rest}" if number % 2 else f"{legal.mnemonic}.{word}"
            yield name, replace(legal, mnemonic=mnemonic).text


def _spelled(points: Points, variant: Variant) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The choices of the qualifiers that can be written in place of legal ones which a variant has."""
    dotted = f"{variant.mnemonic}."
    choices = written_qualifiers(points.qualifiers) if points.qualifiers else []
    return tuple(
        tuple(choice.items())
        for choice in choices
        if all(f".{legal}." in dotted for legal in choice.values())
    )


def _first_qualifiers(points: Points, variant: Variant) -> Mapping[str, str]:
    """The first of those choices; what there is where there is no choice."""
    spelled = _spelled(points, variant)
    return dict(spelled[0]) if spelled else points.qualifiers


def _order(points: Points, variant: Variant) -> tuple[bool, bool]:
    """Those that the points are about come first, and of them those that no version has removed."""
    return not _inside(points, variant), variant.gate.removed is not None


def _inside(points: Points, variant: Variant) -> bool:
    """Whether the fields of a variant have listed values."""
    return not _outside(points, variant)


def _outside(points: Points, variant: Variant) -> tuple[str, ...]:
    """The fields of the points whose values a variant does not have."""
    listed = points.fields.items()
    return tuple(field for field, values in listed if variant.fields.get(field) not in values.values)


def _legal(made: Universe, points: Points) -> Iterator[tuple[Variant, Form]]:
    """Of every row a form with each gate and each listed value of a field, and some with one other value."""
    beside: Counter[str] = Counter()
    for view in made.specification.families[points.instruction].rows:
        seen: set[object] = set()
        lasting = sorted(view.variants(), key=lambda variant: variant.gate.removed is not None)
        for variant in lasting if view.row.id in points.rows else ():
            forms = [form for form in variant.forms if points.operand in (None, *form.operands)]
            if points.twice:
                forms = [form for form in forms if any(_twice(variant, made.write(variant, form), form))]
            outside = _outside(points, variant)
            beside_it = len(outside) == 1 and beside[outside[0]] < _BESIDE
            spelled = _spelled(points, variant)
            key = variant.gate, tuple(variant.fields.get(field) for field in points.fields), *spelled
            if points.qualifiers and not spelled:
                continue
            if not forms or key in seen or not (beside_it or not outside):
                continue
            seen.add(key)
            beside.update(outside)
            yield from ((variant, form) for form in (forms if points.twice else forms[:1]))


def _written(
    points: Points, variant: Variant, legal: WrittenStatement, form: Form
) -> Iterator[WrittenStatement]:
    """A legal statement, changed in every way that the points say."""
    mnemonic, operands = legal.mnemonic, legal.operands
    if points.operand is not None:
        place = form.operands.index(points.operand)
        own = operands[place]
        operand = variant.row.family.instruction.operands[points.operand]
        usual = own if own.lstrip("-").isdigit() else str(next(iter(variant.values(operand)), 0))
        for text in (*_every_written(points, usual), *_with_elements(points, own)):
            written = text.replace(THE_LEGAL, own)
            yield WrittenStatement(mnemonic, (*operands[:place], written, *operands[place + 1 :]))
    elif points.twice:
        yield from _twice(variant, legal, form)
    elif points.surplus:
        for word in points.surplus:
            yield WrittenStatement(f"{mnemonic}.{word}", operands)
    elif points.qualifiers:
        for choice in _spelled(points, variant):
            changed = f"{mnemonic}."
            for one, word in choice:
                changed = changed.replace(f".{word}.", "." if one == ABSENT else f".{one}.", 1)
            yield WrittenStatement(changed[:-1], operands)
    else:
        yield legal


def _twice(variant: Variant, legal: WrittenStatement, form: Form) -> Iterator[WrittenStatement]:
    """A legal statement in which the first register of the first operand also stands at the end of each
    operand that takes results.
    """
    first = legal.operands[0].strip("{}").split(", ")[0]
    for place, text in enumerate(legal.operands):
        parts = text.strip("{}").split(", ")
        changed = ", ".join((*parts[:-1], first))
        operands = [*legal.operands]
        operands[place] = f"{{{changed}}}" if text.startswith("{") else changed
        if writes_twice(variant, form, operands):
            yield WrittenStatement(legal.mnemonic, tuple(operands))


def _every_written(points: Points, usual: str) -> Iterator[str]:
    """The operands that points list, written out; `usual` is a literal that is legal, if any is."""
    for text in points.written:
        yield from _members(text, usual)


def _members(text: str, usual: str) -> Iterator[str]:
    """An operand written out, or several: the first and last literal of a class, each beside the first ones
    of the others.
    """
    if THE_LEGAL not in text:
        yield from members(written_out(text), usual)
        return
    listed = [members(written_out(part), usual) for part in operand_texts(text)]
    every = [tuple(dict.fromkeys((each[0], each[-1]))) for each in listed]
    for place, literals in enumerate(every):
        for literal in literals[1 if place else 0 :]:
            yield ", ".join(literal if at == place else each[0] for at, each in enumerate(every))


def _with_elements(points: Points, own: str) -> Iterator[str]:
    """An operand with such elements alone, and with one at its end, which may be all that counts; or as they
    count in runs.
    """
    parts = own.strip("{}").split(", ")
    if points.runs:
        every = mixtures(parts, points.elements, points.runs)
    else:
        every = (c for one in points.elements for c in ((one,) * len(parts), (*parts[:-1], one)))
    for changed in dict.fromkeys(map(tuple, every)):
        yield "{" + ", ".join(changed) + "}" if own.startswith("{") else changed[0]
