"""What must stand once: ids of rows, gates and tolerances, versions, releases, files and words of lists."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import Place, SpecError
from .index import INDEX, Index
from .model import Instruction
from .nodes import FileName

__all__ = ["check_unique_files", "check_unique_index", "check_unique_instruction"]


def check_unique_index(index: Index) -> None:
    """Every version, assembler, file and word of specs.yaml stands once; raises SpecError at the second."""
    whole = Place(INDEX, 1, 1)
    _once("PTX ISA version", ((str(release.ptx), release.place) for release in index.releases))
    versions = [*index.earlier, *(release.ptx for release in index.releases)]
    _once("PTX ISA version", ((str(version), whole) for version in versions))
    assemblers = [assembler for release in index.releases for assembler in release.assemblers]
    _once("assembler", ((assembler.version, assembler.place) for assembler in assemblers))
    for target in index.targets.values():
        _once("included target", ((name, target.place) for name in target.includes))
    _once("register type", ((name, whole) for name in index.register_types))
    for members in index.register_sets.values():
        _once("register type of a set", ((name, whole) for name in members))
    for groups in index.similar_types.values():
        _once("similar type", ((name, whole) for group in groups for name in group))
    _once("special register", ((name, whole) for names in index.special_registers.values() for name in names))
    _once("late register", ((name, late.place) for late in index.late_registers for name in late.registers))
    _once("ordered qualifier", ((word, whole) for words in index.ordered.values() for word in words))
    _once("repeatable qualifier", ((word, whole) for word in index.repeatable))


def check_unique_files(files: Iterable[FileName]) -> None:
    """No file is read twice; raises SpecError where its name stands for the second time."""
    _once("file", ((named.text, named.place) for named in files))


def check_unique_instruction(instruction: Instruction) -> None:
    """Every row, gate, tolerance and list of an instruction has its ids once; raises SpecError at the second.

    Records are kept by the id of a row, and reports name gates by their id: two with one id would be taken
    for one.
    """
    _once("row", ((row.id, row.place) for row in instruction.rows))
    gates = [*instruction.gates, *(gate for row in instruction.rows for gate in row.gates)]
    _once("gate", ((gate.id, gate.place) for gate in gates))
    _once("tolerance", ((tolerance.id, tolerance.place) for tolerance in instruction.tolerances))
    _once("clause", ((clause, instruction.place) for clause in instruction.execution))
    for form in instruction.forms.values():
        _once("operand of a form", ((name, form.place) for name in form.operands))
    for row in instruction.rows:
        _once("form of a row", ((name, row.place) for name in row.forms))
        _once("clause of a row", ((name, row.place) for name in row.numerical))


def _once(kind: str, named: Iterable[tuple[str, Place]]) -> None:
    seen: dict[str, Place] = {}
    for name, place in named:
        if name in seen:
            raise SpecError(f"the {kind} {name} stands twice: first at {seen[name]}", place, "each once")
        seen[name] = place
