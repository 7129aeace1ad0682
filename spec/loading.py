"""Load the whole specification and check it: all of it is right, or an error names the fault."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from .cache import PACKAGE, ROOT
from .contract_records import ContractFile
from .errors import Place, SpecError
from .expansion import each_instruction, expanded_index, expanded_instruction, expanded_layouts
from .index import INDEX, Index, read_index
from .layout_records import BridgeFile, LayoutFile
from .maps import LayoutMap
from .memory_records import AddressFile, DescriptorFile
from .model import Instruction
from .nodes import FileName, compose, structure
from .numerics_records import NumericsFile
from .sparsity_records import SparsityFile
from .specification import Specification
from .uniqueness import check_unique_files, check_unique_index, check_unique_instruction
from .validation import check_index, check_layout, check_references

__all__ = ["PACKAGE", "ROOT", "load_files"]

T = TypeVar("T")


def load_files(root: Path = ROOT) -> Specification:
    """Read and check every file that specs.yaml names; raises SpecError, and loads nothing then.

    The files about ordering, effects and contradictions are read by `ordering`, `effects` and the ledger.
    """
    index = expanded_index(read_index(root))
    check_unique_index(index)
    check_index(index)
    check_unique_files(index.files())
    _check_listed(root, index)
    sparsity = _read(root, index.sparsity, SparsityFile)
    numerics = _read(root, index.numerics, NumericsFile)
    specification = Specification(
        index,
        _instructions(root, index),
        _layouts(root, index),
        _read(root, index.contracts, ContractFile).clauses,
        sparsity.switches,
        sparsity.sparsities,
        _read(root, index.descriptors, DescriptorFile).descriptors,
        _read(root, index.bridges, BridgeFile).bridges,
        _read(root, index.addresses, AddressFile),
        numerics.formats,
        numerics.guarantees,
    )
    for layout in specification.layouts.values():
        check_layout(layout)
    for family in specification.families.values():
        family.check()
    check_references(specification)
    return specification


def _read(root: Path, named: FileName, wanted: type[T]) -> T:
    return structure(compose(root / named.text, named.text, named.place), wanted, named.text)


def _instructions(root: Path, index: Index) -> dict[str, Instruction]:
    found: dict[str, Instruction] = {}
    for named in index.instructions:
        node = compose(root / named.text, named.text, named.place)
        for instruction in each_instruction(node, named.text):
            name = instruction.instruction
            if name in found:
                raise SpecError(f"the instruction {name} is defined twice", instruction.place)
            check_unique_instruction(instruction)
            found[name] = expanded_instruction(instruction, index)
    return found


def _layouts(root: Path, index: Index) -> dict[str, LayoutMap]:
    found: dict[str, LayoutMap] = {}
    for named in index.layouts:
        for identifier, layout in expanded_layouts(_read(root, named, LayoutFile)).items():
            if identifier in found:
                raise SpecError(f"the layout {identifier} is defined twice", layout.place)
            found[identifier] = LayoutMap(layout)
    return found


def _check_listed(root: Path, index: Index) -> None:
    """Every YAML file under spec/ is listed; raises SpecError for one that nobody would read."""
    listed = {named.text for named in index.files()}
    for path in sorted(root.glob("spec/**/*.yaml")):
        name = path.relative_to(root).as_posix()
        if name not in listed:
            raise SpecError(f"{INDEX} does not list this file", Place(name, 1, 1), f"a line in {INDEX}")
