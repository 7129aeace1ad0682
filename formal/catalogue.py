"""Every theorem, collected from the modules of theorems/, and the obligations that they make."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from ..spec.specification import Specification
from ..spec.variants import RowView
from . import theorems
from .smt.obligations import Obligation
from .theorem import Enumeration, TheoremGroup

__all__ = [
    "GROUPS",
    "SMALL",
    "STATEMENTS",
    "TheoremSubject",
    "behind_all",
    "enumerations",
    "obligations",
    "subjects",
    "titles",
]


def _collected() -> tuple[TheoremGroup, ...]:
    """The GROUP of every module of theorems/, by its place."""
    modules = (
        import_module(f"{theorems.__name__}.{m.name}") for m in pkgutil.iter_modules(theorems.__path__)
    )
    return tuple(sorted((module.GROUP for module in modules), key=lambda group: group.place))


GROUPS = _collected()
STATEMENTS: Mapping[str, str] = MappingProxyType(
    {
        theorem.name: theorem.statement + (" (enumerated)" if theorem.enumerated else "")
        for group in GROUPS
        for theorem in group.theorems
    }
)
SMALL = frozenset(theorem.name for group in GROUPS for theorem in group.theorems if theorem.small)


@dataclass(frozen=True)
class TheoremSubject:
    """A row, and the parts of the specification whose obligations it depends on."""

    row: str
    mnemonics: int
    parts: frozenset[str]


def obligations(
    specification: Specification,
    concerning: Callable[[str], bool] = lambda part: True,
    groups: Sequence[TheoremGroup] = GROUPS,
) -> Iterator[tuple[str, Obligation]]:
    """Every obligation of the parts that are `concerning`, with the name of its part of the specification.

    An obligation's text is made when it is asked for.
    """
    for group in groups:
        for part in group.parts(specification):
            if concerning(part.name):
                for obligation in part.obligations():
                    yield part.name, obligation


def enumerations(
    specification: Specification,
    concerning: Callable[[str], bool] = lambda part: True,
    groups: Sequence[TheoremGroup] = GROUPS,
) -> Iterator[Enumeration]:
    """Every claim that is enumerated, about the parts that are `concerning`."""
    for group in groups:
        for enumeration in group.enumerations(specification):
            if concerning(enumeration.part):
                yield enumeration


def titles(specification: Specification) -> Mapping[str, str]:
    """By the name of a part, what it is in a phrase; parts without a title are not there."""
    parts = (part for group in GROUPS for part in group.parts(specification))
    return {part.name: part.title for part in parts if part.title}


def subjects(
    specification: Specification, wanted: Callable[[str], bool] = lambda row: True
) -> Iterator[TheoremSubject]:
    """For every wanted row, the parts of the specification that it rests on."""
    for view in _rows(specification):
        if wanted(view.id):
            parts = frozenset(part for group in GROUPS for part in group.behind(specification, view))
            yield TheoremSubject(view.id, view.row.count, parts)


def behind_all(specification: Specification) -> frozenset[str]:
    """The parts of the specification that every row rests on."""
    return frozenset(part for group in GROUPS for part in _behind_all(specification, group))


def _behind_all(specification: Specification, group: TheoremGroup) -> frozenset[str]:
    """Those of one group; most groups have none, as their first rows show."""
    first, *others = _rows(specification)
    parts = frozenset(group.behind(specification, first))
    for view in others:
        if not parts:
            break
        parts &= frozenset(group.behind(specification, view))
    return parts


def _rows(specification: Specification) -> list[RowView]:
    return [view for family in specification.families.values() for view in family.rows]
