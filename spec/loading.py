"""Load the whole specification and check it: all of it is right, or an error names the fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from .cache import PACKAGE, ROOT
from .contract_records import ContractFile
from .errors import Place, SpecError
from .expansion import each_instruction, expanded_index, expanded_instruction, expanded_layouts
from .index import INDEX, Index, read_index
from .instead import KeptFiles, kept_of, reads_instead
from .layout_records import BridgeFile, LayoutFile
from .lazy_dataclass import dataclass
from .maps import LayoutMap
from .memory_records import AddressFile, DescriptorFile
from .model import Instruction
from .nodes import FileName, compose, structure
from .numerics_records import NumericsFile
from .read_before import contents_of, keep_read, read_before
from .sparsity_records import SparsityFile
from .specification import Specification
from .uniqueness import check_unique_files, check_unique_index, check_unique_instruction
from .validation import check_index, check_layout, check_references

__all__ = ["PACKAGE", "ROOT", "load_files"]

T = TypeVar("T")


def load_files(root: Path = ROOT) -> Specification:
    """Read and check every file that specs.yaml names; raises SpecError, and loads nothing then.

    The files about ordering, effects and contradictions are read by `ordering`, `effects` and the ledger.
    What this process read before is not read again.
    """
    kept = kept_of(root)
    if kept is not None and INDEX not in kept.changed:
        return _load_changed(root, kept)
    before = None if reads_instead() else read_before(root)
    if before is not None:
        specification, changed = before
        _check_listed(root, specification.index)
        return _load_changed(root, KeptFiles(specification, changed))
    index = checked_index(root, read_index(root))
    contents = contents_of(root, index)
    specification = _load(_FileReader(root), index)
    if not reads_instead() and contents == contents_of(root, index):  # nobody wrote meanwhile
        keep_read(contents, specification)
    return specification


def checked_index(root: Path, index: Index) -> Index:
    """The index with sets of register types written out; raises SpecError at what is wrong in it alone."""
    index = expanded_index(index)
    check_unique_index(index)
    check_index(index)
    check_unique_files(index.files())
    _check_listed(root, index)
    return index


def _load_changed(root: Path, kept: KeptFiles) -> Specification:
    """The specification where some files, but not the index, are others than they were."""
    before: Specification = kept.specification
    index = before.index
    single = (index.contracts, index.sparsity, index.descriptors, index.bridges, index.addresses)
    read = (*index.instructions, *index.layouts, *single, index.numerics)
    if kept.changed.isdisjoint(named.text for named in read):
        return before
    return _load(_FileReader(root, before, kept.changed), index)


def _load(reader: _FileReader, index: Index) -> Specification:
    sparsity, numerics = reader.sparsity(index.sparsity), reader.numerics(index.numerics)
    specification = Specification(
        index,
        reader.instructions(index),
        reader.layouts(index),
        reader.one(index.contracts, ContractFile, "clauses"),
        sparsity.switches,
        sparsity.sparsities,
        reader.one(index.descriptors, DescriptorFile, "descriptors"),
        reader.one(index.bridges, BridgeFile, "bridges"),
        reader.one(index.bridges, BridgeFile, "arrangements"),
        reader.addresses(index.addresses),
        numerics.formats,
        numerics.guarantees,
    )
    specification.derive_from(reader.before)
    before = reader.before
    for name, layout in specification.layouts.items():
        if before is None or layout is not before.layouts.get(name):
            check_layout(layout)
    for name, family in specification.families.items():
        if before is None or family is not before.families.get(name):
            family.check()
    check_references(specification)
    return specification


@dataclass(frozen=True)
class _FileReader:
    """Reads files; those that are not `changed` are as `before` has them, if there is one."""

    root: Path
    before: Specification | None = None
    changed: frozenset[str] = frozenset()

    def _kept(self, named: FileName) -> Specification | None:
        return None if named.text in self.changed else self.before

    def _read(self, named: FileName, wanted: type[T]) -> T:
        return structure(compose(self.root / named.text, named.text, named.place), wanted, named.text)

    def one(self, named: FileName, wanted: type[Any], part: str) -> Any:
        """The only part of a file."""
        kept = self._kept(named)
        return getattr(self._read(named, wanted) if kept is None else kept, part)

    def sparsity(self, named: FileName) -> SparsityFile | Specification:
        return self._kept(named) or self._read(named, SparsityFile)

    def numerics(self, named: FileName) -> NumericsFile | Specification:
        return self._kept(named) or self._read(named, NumericsFile)

    def addresses(self, named: FileName) -> AddressFile:
        kept = self._kept(named)
        return kept.addresses if kept is not None else self._read(named, AddressFile)

    def instructions(self, index: Index) -> dict[str, Instruction]:
        found: dict[str, Instruction] = {}
        for named in index.instructions:
            for instruction in self._instructions_of(named, index):
                name = instruction.instruction
                if name in found:
                    raise SpecError(f"the instruction {name} is defined twice", instruction.place)
                found[name] = instruction
        return found

    def _instructions_of(self, named: FileName, index: Index) -> Iterator[Instruction]:
        kept = self._kept(named)
        if kept is not None:
            yield from (one for one in kept.instructions.values() if one.place.file == named.text)
            return
        node = compose(self.root / named.text, named.text, named.place)
        for instruction in each_instruction(node, named.text):
            check_unique_instruction(instruction)
            yield expanded_instruction(instruction, index)

    def layouts(self, index: Index) -> dict[str, LayoutMap]:
        found: dict[str, LayoutMap] = {}
        for named in index.layouts:
            for layout in self._layouts_of(named):
                identifier = layout.layout.id
                if identifier in found:
                    what = f"the layout {identifier} is defined twice"
                    raise SpecError(what, layout.layout.place)
                found[identifier] = layout
        return found

    def _layouts_of(self, named: FileName) -> Iterator[LayoutMap]:
        kept = self._kept(named)
        if kept is not None:
            yield from (one for one in kept.layouts.values() if one.layout.place.file == named.text)
        else:
            yield from map(LayoutMap, expanded_layouts(self._read(named, LayoutFile)).values())


def _check_listed(root: Path, index: Index) -> None:
    """Every YAML file under spec/ is listed; raises SpecError for one that nobody would read."""
    listed = {named.text for named in index.files()}
    for path in sorted(root.glob("spec/**/*.yaml")):
        name = path.relative_to(root).as_posix()
        if name not in listed:
            raise SpecError(f"{INDEX} does not list this file", Place(name, 1, 1), f"a line in {INDEX}")
