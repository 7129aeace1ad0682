"""The chip families whose arithmetic is known: their files, read and checked."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from .api import load
from .arithmetic_records import ArithmeticFile, ChipCodes
from .cache import ROOT, cached, yaml_files
from .chip_arithmetic import ChipArithmetic, matching_rows, of_row
from .errors import Question
from .index import read_index
from .lazy_dataclass import dataclass
from .nodes import compose, structure
from .parts import computes, operands_of
from .specification import Specification
from .variants import Variant

__all__ = [
    "Arithmetic",
    "arithmetic",
    "arithmetic_of",
    "codes_on",
    "known_arithmetic",
    "negatable",
    "negated",
    "read",
]


@dataclass(frozen=True)
class Arithmetic:
    """Every chip family whose arithmetic is known."""

    families: tuple[ArithmeticFile, ...]


def arithmetic_of(variant: Variant, target: str) -> ChipArithmetic:
    """A variant's arithmetic on the chips of a target; raises Question where it is not known."""
    specification = load()
    name = specification.isa.target(target)
    if name not in dict(variant.gate.targets):
        raise Question(f"{variant.mnemonic} is not legal on {name}")
    for family in arithmetic().families:
        if name in family.targets:
            for row in matching_rows(family, variant):
                return of_row(specification, family, row, variant)
    raise Question(f"no model of {variant.mnemonic} on {name}: not measured")


def known_arithmetic(variant: Variant) -> list[ChipArithmetic]:
    """A variant's arithmetic on every chip family that it is legal on; none if it has no sums."""
    if not computes(variant.instruction):
        return []
    targets = dict(variant.gate.targets)
    return [
        of_row(load(), family, row, variant)
        for family in arithmetic().families
        if not targets.keys().isdisjoint(family.targets)
        for row in matching_rows(family, variant)
    ]


def codes_on(variant: Variant, target: str) -> ChipCodes:
    """What a sparse variant's metadata codes do on the chips of a target; raises Question if not known."""
    sparsity = variant.row.row.sparsity
    for family in arithmetic().families:
        if target in family.targets and sparsity is not None:
            return family.codes[sparsity]
    raise Question(f"nothing is known of metadata codes of {variant.mnemonic} on {target}")


def negated(variant: Variant, scale_a: int, scale_b: int) -> tuple[bool, bool]:
    """Whether A and B are negated; raises Question for a scale that is not 1 or -1, or has no operand."""
    for part, scale in (("A", scale_a), ("B", scale_b)):
        if scale not in (1, -1):
            raise Question(f"the scale of {part} is {scale}; it must be 1 or -1")
        if scale == -1 and not negatable(variant, part):
            raise Question(f"{variant.mnemonic} cannot negate {part}; its scale must be 1")
    return scale_a == -1, scale_b == -1


def negatable(variant: Variant, part: str) -> bool:
    """Whether an operand of the variant negates A or B."""
    names = {name for name, _ in operands_of(variant.instruction, f"negate-{part}")}
    return any(not names.isdisjoint(form.operands) for form in variant.forms)


def read(root: Path = ROOT, specification: Specification | None = None) -> Arithmetic:
    """Read and check the files under `root`; raises SpecError where they are wrong."""
    from .arithmetic_checks import check_arithmetic  # not needed when the cache answers

    named = read_index(root).arithmetic
    families: list[Any] = [
        structure(compose(root / file.text, file.text, file.place), ArithmeticFile, file.text)
        for file in named
    ]
    check_arithmetic(families, load() if specification is None else specification)
    return Arithmetic(tuple(families))


@cache
def arithmetic() -> Arithmetic:
    """The arithmetic of every chip family of this package."""
    return cached("arithmetic", Arithmetic, read, yaml_files())
