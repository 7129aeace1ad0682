"""Load the whole specification and check it: all of it is right, or an error names the fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from .contract_records import ContractFile
from .errors import SpecError
from .index import Index
from .layout_records import BridgeFile, LayoutFile
from .maps import LayoutMap
from .memory_records import AddressFile, DescriptorFile
from .model import Instruction
from .nodes import compose, structure
from .numerics_records import NumericsFile
from .sparsity_records import SparsityFile
from .specification import Specification
from .validation import check_layout, check_references

__all__ = ["ROOT", "load_files"]

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")


def _read(root: Path, name: str, wanted: type[T]) -> T:
    return structure(compose(root / name, name), wanted, name)


def load_files(root: Path = ROOT) -> Specification:
    """Read and check every file that specs.yaml names; raises SpecError, and loads nothing then."""
    index = _read(root, "specs.yaml", Index)
    instructions: dict[str, Instruction] = {}
    for name in index.instructions:
        instruction = _read(root, name, Instruction)
        if instruction.instruction in instructions:
            raise SpecError(f"the instruction {instruction.instruction} is defined twice", instruction.place)
        instructions[instruction.instruction] = instruction
    layouts: dict[str, LayoutMap] = {}
    for name in index.layouts:
        for identifier, layout in _read(root, name, LayoutFile).layouts.items():
            if identifier in layouts:
                raise SpecError(f"the layout {identifier} is defined twice", layout.place)
            layouts[identifier] = LayoutMap(replace(layout, id=identifier))
    sparsity = _read(root, index.sparsity, SparsityFile)
    numerics = _read(root, index.numerics, NumericsFile)
    specification = Specification(
        index,
        instructions,
        layouts,
        _read(root, index.contracts, ContractFile).clauses,
        sparsity.readings,
        sparsity.sparsities,
        _read(root, index.descriptors, DescriptorFile).descriptors,
        _read(root, index.bridges, BridgeFile).bridges,
        _read(root, index.addresses, AddressFile),
        numerics.formats,
        numerics.guarantees,
    )
    for layout_map in layouts.values():
        check_layout(layout_map)
    for family in specification.families.values():
        family.check()
    check_references(specification)
    return specification
