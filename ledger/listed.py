"""Lists of releases, versions and targets in contradictions.yaml: each by name, or a range of them.

A range without a last goes on: what specs.yaml adds behind its end belongs to it. A wildcard is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from typing import TypeVar

from ..spec.errors import Place, SpecError
from ..spec.index import Index
from ..spec.lazy_dataclass import dataclass
from ..spec.nodes import Version, nearest

__all__ = ["Listed", "ListedVersions", "NameRange", "VersionRange", "expanded", "known_names", "releases_of"]

_WILDCARDS = frozenset({"any", "all"})
T = TypeVar("T", str, Version)


@dataclass(frozen=True)
class NameRange:
    """Releases or targets from one to another in the order of specs.yaml; without a last, to the end."""

    first: str
    """The first that belongs to it.
    Noticed by: observations.
    Example: `12.0.140`. Refuses: `[12.0.140]` (one name)."""
    last: str | None = None
    """The last that belongs to it; absent where it goes on with whatever specs.yaml adds.
    Noticed by: observations.
    Example: `13.0.88`. Refuses: `[13.0.88]` (one name)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


@dataclass(frozen=True)
class VersionRange:
    """PTX ISA versions from one to another; without a last, to the newest."""

    first: Version
    """The first that belongs to it.
    Noticed by: observations.
    Example: `"7.1"`. Refuses: `7.1` (a version is quoted)."""
    last: Version | None = None
    """The last that belongs to it; absent where it goes on with whatever specs.yaml adds.
    Noticed by: observations.
    Example: `"8.8"`. Refuses: `8.8` (a version is quoted)."""
    place: Place = field(default=Place("", 0, 0), compare=False)


Listed = NameRange | tuple[str | NameRange, ...]
ListedVersions = VersionRange | tuple[Version | VersionRange, ...]


def releases_of(index: Index) -> tuple[str, ...]:
    """Every release of ptxas that specs.yaml names, oldest first."""
    return tuple(one.version for release in index.releases for one in release.assemblers)


def expanded(listed: Listed | ListedVersions, known: Sequence[T], what: str, place: Place) -> tuple[T, ...]:
    """Every name that is listed, the ranges written out in the order of what is `known`.

    Raises SpecError at a wildcard, at an unknown name, at an empty range, and at what is listed twice.
    """
    parts = listed if isinstance(listed, tuple) else (listed,)
    found: list[T] = []
    for part in parts:
        if isinstance(part, NameRange | VersionRange):
            ends = [known_name(end, known, what, part.place) for end in (part.first, part.last or known[-1])]
            first, last = map(known.index, ends)
            if first > last:
                why = f"the range {part.first} to {part.last} is empty"
                raise SpecError(why, part.place, "the first before the last")
            found += known[first : last + 1]
        else:
            found.append(known_name(part, known, what, place))
    twice = next((one for number, one in enumerate(found) if one in found[:number]), None)
    if twice is not None:
        raise SpecError(f"the {what} {twice} stands twice", place, f"each {what} once")
    return tuple(found)


def known_names(names: Iterable[str], known: Collection[str] | None, what: str, place: Place) -> None:
    """Raise SpecError at a list that is empty or names something that does not exist, such as a wildcard."""
    listed = list(names)
    if not listed:
        raise SpecError(f"no {what} is listed", place, f"each {what} by name")
    for name in listed:
        known_name(name, known, what, place)


def known_name(name: object, known: Collection[T] | None, what: str, place: Place) -> T:
    """The name as specs.yaml writes it; raises SpecError at a wildcard or an unknown name."""
    for one in known or ():
        if one == name:
            return one
    text = str(name)
    if any(sign in text for sign in "*?") or text in _WILDCARDS:
        raise SpecError(f"{text!r} is a wildcard", place, f"each {what} by name, or a range")
    if known is not None:
        guess = nearest(text, map(str, known))
        raise SpecError(f"unknown {what} {text!r}", place, guess or f"each {what} by name")
    return name  # type: ignore[return-value]
