"""Print section numbers with the edition of the manual that they belong to, and with their later numbers."""

from __future__ import annotations

import re

from .index import Index

__all__ = ["brief", "cited", "later", "note"]

_NUMBER = re.compile(r"\b\d+(?:\.\d+){2,}")


def brief(index: Index, sections: str) -> str:
    """Sections with the edition that numbers them: `9.7.15.6.3 of PTX ISA 9.2`."""
    return sections if "PTX ISA" in sections else f"{sections} of PTX ISA {index.manual}"


def cited(index: Index, sections: str) -> str:
    """The same, with the newest known numbers where a later manual renumbered the sections."""
    newer: dict[str, list[str]] = {}
    for number in dict.fromkeys(_NUMBER.findall(sections)):
        found = later(index, number)
        if found is not None:
            newer.setdefault(found[0], []).append(found[1])
    also = "".join(f"; {', '.join(numbers)} in {manual}" for manual, numbers in newer.items())
    return f"{brief(index, sections)}{also}"


def later(index: Index, number: str) -> tuple[str, str] | None:
    """The edition that numbers the section otherwise, and its number there; the longest entry counts."""
    fits = [old for old in index.moved if number == old or number.startswith(f"{old}.")]
    if not fits:
        return None
    old = max(fits, key=len)
    moved = index.moved[old]
    return str(moved.manual), moved.section + number[len(old) :]


def note(index: Index) -> str:
    """The sentence about section numbers that a page prints once."""
    within = {old for old in index.moved if any(old.startswith(f"{other}.") for other in index.moved)}
    chapters = {old: new for old, new in index.moved.items() if old not in within}
    moved = [f"{old} is {new.section} in {new.manual}" for old, new in chapters.items()]
    return f"Sections are those of PTX ISA {index.manual}" + "".join(f"; {one}" for one in moved) + "."
