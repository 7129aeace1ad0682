"""What points of the register cover, as values: equal for points that cover the same statements.

Registers count by their types, not by their numbers, as in a statement; rows and fields count by the variants
that they choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..spec.specification import Specification
from ..spec.statements import read_statement
from .contradiction_file import Contradiction, Points, alternatives, written_out
from .covered_points import among, element_kind, operand_form, spelled
from .pointed import Pointed, every_pointed

__all__ = ["cover_the_same"]


def cover_the_same(specification: Specification, one: Contradiction, other: Contradiction) -> bool:
    """Whether two entries that are the same but for their points cover the same statements."""
    if replace(one, points=(), everywhere=()) != replace(other, points=(), everywhere=()):
        return False
    return _of_entry(specification, one) == _of_entry(specification, other)


def _of_entry(specification: Specification, entry: Contradiction) -> frozenset[tuple[object, ...]]:
    return frozenset(_of_points(specification, one) for one in every_pointed(specification, "", entry))


def _of_points(specification: Specification, pointed: Pointed) -> tuple[object, ...]:
    points = pointed.points
    return (
        *(points.direction, points.instruction, pointed.releases, pointed.versions, pointed.targets),
        frozenset(_variants(specification, points)),
        frozenset(_statements(points)),
        points.operand,
        frozenset(operand_form(written_out(text)) for text in points.written),
        frozenset(map(element_kind, points.elements)),
        (points.runs, points.twice),
        *(frozenset(points.surplus), frozenset(points.qualifiers.items()), points.since, points.like),
    )


def _variants(specification: Specification, points: Points) -> Iterator[tuple[object, ...]]:
    """The variants whose statements are changed, by row and fields."""
    for variant in specification.families[points.instruction].variants():
        if among(points, variant):
            yield variant.row.id, frozenset(variant.fields.items())


def _statements(points: Points) -> Iterator[tuple[object, ...] | None]:
    for statement in points.statements:
        for text in alternatives(statement):
            yield spelled(read_statement(written_out(text)))
