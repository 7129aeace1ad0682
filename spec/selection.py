"""Which variants a pattern, a version and a target select: the choice that many commands offer."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from .gates import EffectiveGate
from .nodes import Version
from .specification import Specification
from .variants import Variant

__all__ = ["matches", "select"]


def matches(pattern: str | None, variant: Variant) -> bool:
    """A pattern with wildcards matches whole mnemonics, any other text a prefix or a part."""
    if pattern is None:
        return True
    name = variant.row.family.instruction.instruction
    if any(sign in pattern for sign in "*?["):
        return fnmatch.fnmatchcase(variant.mnemonic, pattern)
    return pattern == name or (pattern not in variant.row.family.siblings and pattern in variant.mnemonic)


def select(
    specification: Specification, pattern: str | None, ptx: str | None, target: str | None
) -> Iterator[Variant]:
    """The variants that match a pattern, a version and a target; raises Question for unknown ones."""
    version = specification.isa.version(ptx) if ptx else None
    if target is not None:
        specification.isa.target(target)
    for family in specification.families.values():
        for variant in family.listed():
            if matches(pattern, variant) and _open(variant.gate, version, target):
                yield variant


def _open(gate: EffectiveGate, version: Version | None, target: str | None) -> bool:
    begins = dict(gate.targets)
    if target is not None and target not in begins:
        return False
    if version is None:
        return True
    since = begins[target] if target is not None else gate.since
    return since <= version and (gate.removed is None or version < gate.removed)
