"""The whole specification, loaded and checked: all of it is right, or an error names the fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from .errors import SpecError
from .gates import Isa
from .legality import Judge
from .maps import LayoutMap
from .model import (
    Clause,
    ContractFile,
    Descriptor,
    DescriptorFile,
    Index,
    Instruction,
    LayoutFile,
    Reading,
    Sparsity,
    SparsityFile,
)
from .nodes import Version, compose, structure
from .validation import check_layout, check_references
from .variants import Family

__all__ = ["ROOT", "Specification", "load_files"]

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")


@dataclass(frozen=True)
class Specification:
    """Everything that the YAML says, in the order in which it says it."""

    index: Index
    instructions: Mapping[str, Instruction]
    layouts: Mapping[str, LayoutMap]
    clauses: Mapping[str, Clause]
    readings: Mapping[str, Reading]
    sparsities: Mapping[str, Sparsity]
    descriptors: Mapping[str, Descriptor]

    @cached_property
    def isa(self) -> Isa:
        return Isa(self.index)

    @cached_property
    def families(self) -> Mapping[str, Family]:
        return {name: Family(i, self.isa) for name, i in self.instructions.items()}

    def judge(self, ptx: str | None = None, target: str | None = None) -> Judge:
        """A judge for a PTX ISA version (None: the newest) and a target (None: any)."""
        version: Version = self.isa.version(ptx) if ptx else self.index.isa
        return Judge(
            self.families.values(), self.isa, version, self.isa.target(target) if target else None
        )


def _read(root: Path, name: str, wanted: type[T]) -> T:
    return structure(compose(root / name, name), wanted, name)


def load_files(root: Path = ROOT) -> Specification:
    """Read and check every file that specs.yaml names; raises SpecError, and loads nothing then."""
    index = _read(root, "specs.yaml", Index)
    instructions: dict[str, Instruction] = {}
    for name in index.instructions:
        instruction = _read(root, name, Instruction)
        if instruction.instruction in instructions:
            raise SpecError(
                f"the instruction {instruction.instruction} is defined twice", instruction.place
            )
        instructions[instruction.instruction] = instruction
    layouts: dict[str, LayoutMap] = {}
    for name in index.layouts:
        for identifier, layout in _read(root, name, LayoutFile).layouts.items():
            if identifier in layouts:
                raise SpecError(f"the layout {identifier} is defined twice", layout.place)
            layouts[identifier] = LayoutMap(replace(layout, id=identifier))
    sparsity = _read(root, index.sparsity, SparsityFile)
    specification = Specification(
        index,
        instructions,
        layouts,
        _read(root, index.contracts, ContractFile).clauses,
        sparsity.readings,
        sparsity.sparsities,
        _read(root, index.descriptors, DescriptorFile).descriptors,
    )
    for layout_map in layouts.values():
        check_layout(layout_map)
    for family in specification.families.values():
        family.check()
    check_references(specification)
    return specification
