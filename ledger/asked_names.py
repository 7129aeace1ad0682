"""Who was asked about what, by name. The observations themselves are not read: they take long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from .records import FOLDER, in_order, read

__all__ = [
    "ASSEMBLER_FORMAT",
    "SILICON_FORMAT",
    "UNIVERSE_FORMAT",
    "devices_of",
    "releases_of",
    "universes_of",
]

ASSEMBLER_FORMAT = 2
SILICON_FORMAT = 2
UNIVERSE_FORMAT = 1


def _device(value: Mapping[str, Any]) -> tuple[str, Set[str]]:
    return value["device"]["name"], frozenset(one["row"] for one in value["subjects"].values())


def devices_of(rows: Set[str], folder: Path = FOLDER) -> Iterator[tuple[str, Set[str]]]:
    """The devices that measured some of the rows, each with those; raises Question for any other file."""
    for name, known in read(folder, "silicon-*.json", SILICON_FORMAT, _device):
        if rows & known:
            yield name, rows & known


def _rows(value: Mapping[str, Any]) -> tuple[str, Set[str]]:
    return value["tool"]["version"], value["rows"].keys()


def releases_of(rows: Set[str], folder: Path = FOLDER) -> Iterator[tuple[str, Set[str]]]:
    """The releases that were asked about some of the rows, each with those."""
    for release, known in read(folder, "ptxas-*.json", ASSEMBLER_FORMAT, _rows):
        if rows & known:
            yield release, rows & known


def _universes(value: Mapping[str, Any]) -> tuple[str, Set[str]]:
    return value["tool"]["version"], value["instructions"].keys()


def universes_of(instruction: str, folder: Path = FOLDER) -> list[str]:
    """The releases, oldest first, whose answers to an instruction's whole universe are recorded."""
    known = read(folder, "universe-*.json", UNIVERSE_FORMAT, _universes)
    return sorted((release for release, names in known if instruction in names), key=in_order)
