"""Points of the register with their ranges written out, by the order of specs.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..spec.nodes import Version
from ..spec.specification import Specification
from .contradiction_file import Contradiction, Everywhere, Points
from .listed import expanded, releases_of

__all__ = ["Pointed", "every_pointed", "on_every_instruction", "written_out_points"]


@dataclass(frozen=True)
class Pointed:
    """Points of an entry, and the releases, versions and targets that they are about."""

    entry: str
    points: Points
    releases: frozenset[str]
    versions: frozenset[Version]
    targets: frozenset[str]

    def reaches(self, release: str, ptx: Version, target: str) -> bool:
        """Whether the points are about a release under a version and on a target."""
        return release in self.releases and target in self.targets and ptx in self.versions


def written_out_points(specification: Specification, identifier: str, points: Points) -> Pointed:
    """Points with their ranges written out, by the order of specs.yaml."""
    index = specification.index
    return Pointed(
        identifier,
        points,
        frozenset(expanded(points.releases, releases_of(index), "release", points.place)),
        frozenset(expanded(points.ptx, specification.isa.versions, "version", points.place)),
        frozenset(expanded(points.targets, tuple(index.targets), "target", points.place)),
    )


def on_every_instruction(specification: Specification, ignored: Everywhere) -> Iterator[Points]:
    """What is ignored everywhere, as points of each instruction, about all of its rows."""
    for name, instruction in specification.instructions.items():
        yield Points(
            "accepted",
            name,
            ignored.releases,
            ignored.ptx,
            ignored.targets,
            rows=tuple(row.id for row in instruction.rows),
            surplus=ignored.surplus,
            place=ignored.place,
        )


def every_pointed(specification: Specification, identifier: str, entry: Contradiction) -> Iterator[Pointed]:
    """The points of an entry, and of each instruction those about what is ignored everywhere."""
    for points in entry.points:
        yield written_out_points(specification, identifier, points)
    for ignored in entry.everywhere:
        for points in on_every_instruction(specification, ignored):
            yield written_out_points(specification, identifier, points)
