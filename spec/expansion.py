"""Write out what a YAML file says once for several uses: parameters of an instruction file, shared names,
register sets.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from .errors import Place, SpecError
from .expressions import names
from .index import INDEX, Index
from .layout_records import Layout, LayoutFile
from .model import Form, Instruction, Operand
from .nodes import Formula, Node, Scalars, nearest, pairs, place_of, retagged, structure

__all__ = ["each_instruction", "expanded_index", "expanded_instruction", "expanded_layouts"]

_PARAMETER = re.compile(r"<([a-z]+)>")
_EACH = "each"


def each_instruction(node: Node, file: str) -> Iterator[Instruction]:
    """The instructions of a file: one for each entry of `each`, with <name> replaced, or the only one."""
    entries = pairs(node, file)
    if _EACH not in entries:
        yield structure(node, Instruction, file)
        return
    body = copy.copy(node)
    body.value = [(key, value) for key, value in node.value if key.value != _EACH]
    listed = structure(entries[_EACH], tuple[Mapping[str, Scalars], ...], file)
    if not listed:
        raise SpecError("the list is empty", place_of(entries[_EACH], file), "at least one entry")
    for values in listed:
        filled = _Filling({name: scalars.values[0] for name, scalars in values.items()}, file)
        instruction = structure(filled.fill(body), Instruction, file)
        filled.check_used(next(iter(values.values())).place if values else place_of(entries[_EACH], file))
        yield instruction


class _Filling:
    """Puts the values of one entry of `each` in place of <name>."""

    def __init__(self, values: Mapping[str, str | int], file: str) -> None:
        self.values = values
        self.file = file
        self.used: set[str] = set()

    def fill(self, node: Node) -> Node:
        """A copy of the node; raises SpecError at a <name> that the entry does not have."""
        filled = copy.copy(node)
        if node.id == "mapping":
            filled.value = [(self.fill(key), self.fill(value)) for key, value in node.value]
        elif node.id == "sequence":
            filled.value = [self.fill(item) for item in node.value]
        elif _PARAMETER.search(node.value):
            filled.value = _PARAMETER.sub(lambda found: self._value(found[1], node), node.value)
            filled = retagged(filled)
        return filled

    def _value(self, name: str, node: Node) -> str:
        if name not in self.values:
            guess = nearest(name, self.values) or ", ".join(self.values)
            raise SpecError(f"<{name}> is not a name that each has", place_of(node, self.file), guess)
        self.used.add(name)
        return str(self.values[name])

    def check_used(self, place: Place) -> None:
        """Raise SpecError for a value that nothing uses."""
        for name in self.values:
            if name not in self.used:
                raise SpecError(f"nothing in the file uses <{name}>", place, "only names that the file uses")


def expanded_index(index: Index) -> Index:
    """The index with sets of register types written out; raises SpecError for an unknown type."""
    place = Place(INDEX, 1, 1)
    for name, members in index.register_sets.items():
        if name in index.register_types:
            raise SpecError(f"{name} is both a set and a register type", place, "another name for the set")
        for member in members:
            if member not in index.register_types:
                guess = nearest(member, index.register_types) or ", ".join(index.register_types)
                raise SpecError(f"the set {name} holds the unknown register type {member!r}", place, guess)
    types = {
        name: replace(element, registers=_written_out(element.registers, index, element.place))
        for name, element in index.types.items()
    }
    return replace(index, types=types)


def expanded_instruction(instruction: Instruction, index: Index) -> Instruction:
    """The instruction with sets of register types written out, and with the place of A in each form.

    Raises SpecError for an unknown register type.
    """
    operands = {name: _operand(operand, index) for name, operand in instruction.operands.items()}
    rows = tuple(replace(row, registers=_each(row.registers, index, row.place)) for row in instruction.rows)
    registers = _each(instruction.registers, index, instruction.place)
    forms = _forms(instruction)
    return replace(instruction, operands=operands, rows=rows, registers=registers, forms=forms)


def _forms(instruction: Instruction) -> Mapping[str, Form]:
    """The forms, each with where A is: behind a descriptor, in registers or in tensor memory, if it can be in
    several of these.
    """
    sources: dict[str, Literal["descriptor", "register", "tensor memory"]] = {
        name: "descriptor" if operand.descriptor else "tensor memory" if operand.space else "register"
        for name, operand in instruction.operands.items()
        if operand.part == "A"
    }
    if len(set(sources.values())) < 2:
        return instruction.forms
    return {
        name: replace(form, a=next((sources[word] for word in form.operands if word in sources), None))
        for name, form in instruction.forms.items()
    }


def _operand(operand: Operand, index: Index) -> Operand:
    if operand.types is None:
        return operand
    return replace(operand, types=_written_out(operand.types, index, operand.place))


def _each(listed: Mapping[str, tuple[str, ...]], index: Index, place: Place) -> Mapping[str, tuple[str, ...]]:
    return {name: _written_out(types, index, place) for name, types in listed.items()}


def _written_out(types: tuple[str, ...], index: Index, place: Place) -> tuple[str, ...]:
    """Register types in the order in which they are named; raises SpecError at one that stands twice."""
    known = (*index.register_types, *index.register_sets)
    for name in types:
        if name not in known:
            guess = nearest(name, known) or ", ".join(known)
            raise SpecError(f"there is no register type {name!r}, nor a set of that name", place, guess)
    written = [member for name in types for member in index.register_sets.get(name, (name,))]
    twice = next((name for number, name in enumerate(written) if name in written[:number]), None)
    if twice is not None:
        raise SpecError(f"the register type {twice} stands twice", place, "each once, in a set or by itself")
    return tuple(written)


def expanded_layouts(file: LayoutFile) -> Mapping[str, Layout]:
    """The layouts of a file, by id, each with those of the file's `let` that it uses."""
    found = {
        identifier: replace(layout, id=identifier, let=_lets(file.let, layout))
        for identifier, layout in file.layouts.items()
    }
    used = {name for layout in found.values() for name in layout.let}
    for name, formula in file.let.items():
        if name not in used:
            raise SpecError(f"no layout uses {name!r}", formula.place, "a name that a layout uses")
    return found


def _lets(shared: Mapping[str, Formula], layout: Layout) -> Mapping[str, Formula]:
    """The shared names that a layout uses, directly or through another name, then its own."""
    for name in layout.let:
        if name in shared:
            raise SpecError(
                f"the layout {layout.id} and its file both bind {name!r}", layout.let[name].place, "one"
            )
    own = (*layout.map.values(), *layout.let.values(), *([layout.where] if layout.where else []))
    wanted = {name for formula in own for name in names(formula.tree)}
    taken: set[str] = set()
    for name in reversed(tuple(shared)):
        if name in wanted and name not in layout.domain and name not in layout.params:
            taken.add(name)
            wanted |= names(shared[name].tree)
    return {**{name: shared[name] for name in shared if name in taken}, **layout.let}
