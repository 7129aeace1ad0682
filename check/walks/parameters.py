"""The numbers that parameters are taken to have: one for each byte, whatever loads read it.

A parameter that is loaded in words is a size in each of them, which a floating-point number has, too; what
cannot hold it is 1. Eight bytes that are never loaded in parts, and to which at most numbers are added before
they are an address, are a pointer, far from others. So no branch is taken by a number that contradicts
another branch: what an execution does can happen, with these parameters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from ..ptx.dataflow import closure
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import vector_elements
from ..values.opcode_kind import bits_of
from ..values.real_arithmetic import is_real
from .shared_offsets import LoadedParameter, lie_in_shared, shared_offsets

__all__ = ["USUAL_SIZES", "AssumedSizes", "ParameterNumbers", "parameter_number"]

_PLACE = re.compile(r"\[\s*([\w$%.]+?)\s*(?:\+\s*(\d+))?\s*\]")
_SLOT = 8  # bytes of the widest element
_POINTERS = 97
_ADDS = frozenset(("mov", "add", "sub", "mad", "and", "or", "selp", "shfl", "cvta"))


class AssumedSizes(NamedTuple):
    """The number of every parameter that is a size, but for some parameters, by name, with another one.
    `memory`: that of every floating-point number in global memory; None: none is known. `guessed`: other
    numbers were taken first, and showed nothing.
    """

    most: int
    others: tuple[tuple[str, int], ...] = ()
    memory: int | None = None
    guessed: bool = False

    @property
    def remembered(self) -> AssumedSizes:
        """The same, and numbers in memory that are those of most parameters."""
        return self._replace(memory=self.most)

    def fewer(self, less: int) -> AssumedSizes:
        """The same, but for numbers that are so much less."""
        if not self.others:
            return self._replace(most=self.most - less)
        return self._replace(others=tuple((name, number - less) for name, number in self.others))


# Of the first execution; then come some with which a loop of many rounds ends.
USUAL_SIZES = AssumedSizes(1024)


class ParameterNumbers:
    """What loads of parameters bring."""

    def __init__(self, code: DecodedFunction) -> None:
        self._code = code

    def places(self, statement: DecodedStatement) -> tuple[int | str, ...]:
        """The registers of a vector that is loaded, if some get a number that says where something lies in
        shared memory: their numbers, and the names of sizes; no name where no number is taken.
        """
        slots = [one for one in self._elements(statement) if one.registers]
        if len(slots) < 2 or not any((one.name, one.first) in self._offsets for one in slots):
            return ()
        return tuple(
            self._offsets.get((one.name, one.first), f"{one.name}+{one.first}") or "" for one in slots
        )

    def source(self, operand: str, words: tuple[str, ...]) -> int | tuple[int | str, ...] | None:
        """What an element of a load has: a pointer; or the bytes of each size in it, and the names of the
        sizes that it spells; None for what is not a number.
        """
        name, offset = _place(operand)
        width = bits_of(words) // 8
        unit = self._units.get((name, offset // _SLOT), width)
        if unit == _SLOT and (name, offset // _SLOT) in self._pointers:
            return (crc32(f"{name}+{offset}".encode()) % _POINTERS + 1) << 32
        if unit == width and (name, offset) in self._offsets:
            return self._offsets[name, offset]
        if words[-1][0] not in "usbf":
            return None
        return unit, *(f"{name}+{low}" for low in range(offset, offset + width, unit))

    @cached_property
    def _loads(self) -> list[DecodedStatement]:
        loads = (self._code[index] for index in self._code.doing("load"))
        return [one for one in loads if one.operation.space == "param" and len(one.operands) > 1]

    @cached_property
    def _pointers(self) -> frozenset[tuple[str, int]]:
        """The eight bytes from which addresses are made."""
        made: dict[str, list[str]] = defaultdict(list)  # by register: those that are moved or added to it
        waiting: list[str] = []
        for statement in self._code:
            word = statement.operation.words[0]
            for register in statement.writes if word in _ADDS else ():
                made[register] += statement.reads
            if word == "cvta" or statement.does == "call" or statement.operation.space == "param":
                waiting += statement.reads
        for statement in self._code.accessing:
            elsewhere = islice(statement.addresses, lie_in_shared(statement), None)
            waiting += self._code.registers_in(" ".join(elsewhere), statement.scope)
        pointing = closure(waiting, made.__getitem__)
        return frozenset(
            (name, offset // _SLOT)
            for one in self._loads
            if not pointing.isdisjoint(one.writes)
            for name, offset in (_place(one.operands[1]),)
        )

    @cached_property
    def _offsets(self) -> dict[tuple[str, int], int | None]:
        """The numbers of parameters that say where something lies in shared memory; None: none is taken."""
        loads = (one for one in self._loads if not is_real(one.operation.words))
        return shared_offsets(self._code, [made for one in loads for made in self._elements(one)])

    def _elements(self, statement: DecodedStatement) -> list[LoadedParameter]:
        """What a load brings to each element of its destination."""
        name, offset = _place(statement.operands[1])
        width = bits_of(statement.operation.words) // 8
        return [
            LoadedParameter(
                name, offset + width * place, width, frozenset(self._code.unique((element,), statement.scope))
            )
            for place, element in enumerate(vector_elements(statement.operands[0]))
        ]

    @cached_property
    def _units(self) -> dict[tuple[str, int], int]:
        """The narrowest load of each eight bytes."""
        found: dict[tuple[str, int], int] = {}
        for statement in self._loads:
            name, offset = _place(statement.operands[1])
            width = bits_of(statement.operation.words) // 8
            for low in range(offset, offset + (statement.bytes or width), width):
                slot = name, low // _SLOT
                found[slot] = min(found.get(slot, _SLOT), width)
        return found


def parameter_number(sizes: Iterable[int], unit: int) -> int:
    """A number that spells some sizes of so many bytes each; 1 in place of one that does not fit."""
    bits = 8 * unit
    return sum((size if size < 1 << bits - 1 else 1) << bits * place for place, size in enumerate(sizes))


def _place(operand: str) -> tuple[str, int]:
    """The name and the first byte; an address that is computed is a parameter of its own."""
    found = _PLACE.fullmatch(operand.strip())
    return (found[1], int(found[2] or 0)) if found else (operand, 0)
