"""Points of the register with their ranges written out, by the order of specs.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from ..spec.nodes import Version
from ..spec.specification import Specification
from .contradiction_file import Points
from .listed import expanded, releases_of

__all__ = ["Pointed", "written_out_points"]


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
