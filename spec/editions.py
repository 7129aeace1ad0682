"""Print section numbers with the edition of the manual that they belong to, and with their later numbers."""

from __future__ import annotations

import re

from .index import Index

__all__ = ["brief", "cited", "note"]

_NUMBER = re.compile(r"\b\d+(?:\.\d+){2,}")


def brief(index: Index, sections: str) -> str:
    """Sections with the edition that numbers them: `9.7.15.6.3 of PTX ISA 9.2`."""
    return sections if "PTX ISA" in sections else f"{sections} of PTX ISA {index.manual}"


def cited(index: Index, sections: str) -> str:
    """The same, with the newest known numbers where a later manual renumbered the sections."""
    newer: dict[str, list[str]] = {}
    for number in dict.fromkeys(_NUMBER.findall(sections)):
        for old, moved in index.moved.items():
            if number == old or number.startswith(f"{old}."):
                newer.setdefault(str(moved.manual), []).append(moved.section + number[len(old) :])
    also = "".join(f"; {', '.join(numbers)} in {manual}" for manual, numbers in newer.items())
    return f"{brief(index, sections)}{also}"


def note(index: Index) -> str:
    """The sentence about section numbers that a page prints once."""
    moved = [f"{old} is {new.section} in {new.manual}" for old, new in index.moved.items()]
    return f"Sections are those of PTX ISA {index.manual}" + "".join(f"; {one}" for one in moved) + "."
