"""Slips of a formula as it is written in a file: another integer, operator or name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ...spec.errors import SpecError
from ...spec.expressions import Compare, Expression, Name, names, parse, source
from .mutants import mutants

__all__ = ["formula_slips"]

_PARAMETER = re.compile(r"<([a-z]+)>")
_STANDS_FOR = "PARAMETER_"


def formula_slips(text: str, words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Every formula with one other integer, operator or name; nothing where the text is not a formula.

    A name that a field is compared with becomes another value of that field (`words` by field), any other
    name another name of the formula. In a file that several instructions share, <name> is a name.
    """
    try:
        tree = parse(_PARAMETER.sub(rf"{_STANDS_FOR}\1", text))
    except SpecError:
        return
    for changed in (*mutants(tree), *_renamed(tree, words)):
        yield re.sub(rf"{_STANDS_FOR}([a-z]+)", r"<\1>", source(changed))


def _renamed(tree: Expression, words: Mapping[str, Sequence[str]]) -> Iterator[Expression]:
    known = sorted(names(tree))
    values = {word for listed in words.values() for word in listed}
    variables = [name for name in known if name not in values]
    yield from _other_names(tree, variables, words)


def _other_names(
    tree: Expression, variables: Sequence[str], words: Mapping[str, Sequence[str]]
) -> Iterator[Expression]:
    match tree:
        case Compare(op, Name(bound), Name(word)) if word not in variables:
            own = [w for label in ("Row.bind", "Instruction.bind") for w in words.get(f"{label}.{bound}", ())]
            others = [other for other in dict.fromkeys(own) if other.isidentifier() and other != word]
            for other in others[:2]:
                yield Compare(op, Name(bound), Name(other))
            return
        case Name(name) if name in variables and len(variables) > 1:
            yield Name(variables[(variables.index(name) + 1) % len(variables)])
            return
    for field in fields(tree):
        child: object = getattr(tree, field.name)
        if isinstance(child, Expression):
            for changed in _other_names(child, variables, words):
                part: dict[str, Any] = {field.name: changed}
                yield replace(tree, **part)
