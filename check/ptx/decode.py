"""A PTX statement, decoded once: what it is, its operands by part, what it reads, writes and orders.

The specification says what its own instructions are and what each operand is to them; spec/effects.yaml says
what all others do. No analysis looks at the text of a statement again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from ...spec.effects import Action, Effects, load_effects
from ...spec.legality import Judge
from ...spec.model import Form, Instruction, Operand, Part
from ...spec.statements import SyntaxFault, argument_of
from ...spec.variants import Variant

__all__ = ["Address", "DecodedStatement", "Operation", "Operations", "address_of", "number_of", "operands_of"]

SPACES = ("shared", "global", "local", "param", "const")
_ADDRESS = re.compile(r"\[\s*([%$A-Za-z_][\w$]*)?\s*(?:\+?\s*(-?\s*\w+))?\s*\]")
_BRACKETS = re.compile(r"[{}()\[\],]")
_TYPE = re.compile(r"[a-z]+(\d+)(?:x(\d+))?")
_NAMES = ("%", "$", "_")
_COPIED = 2  # the addresses of a bulk copy before its mbarrier: where it writes, and what it reads


class Address(NamedTuple):
    """`[base+offset]`: the name of a register or variable (None for an absolute address), and bytes."""

    base: str | None
    offset: int


class Factors(NamedTuple):
    """The shape of a product."""

    m: int
    n: int
    k: int


class NamedOperand(NamedTuple):
    """An operand of an instruction of the specification: its name there, what it is, how it is written."""

    name: str
    operand: Operand
    text: str

    @property
    def is_vector(self) -> bool:
        """Whether registers in braces stand there."""
        return self.text.startswith("{")


def operands_of(text: str) -> tuple[str, ...]:
    """The operands' texts, parted by the commas outside braces, brackets and parentheses."""
    if "{" not in text and "(" not in text and "[" not in text:
        return tuple(part.strip() for part in text.split(","))
    found, depth, start = [], 0, 0
    for match in _BRACKETS.finditer(text):
        letter = match[0]
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif not depth:
            found.append(text[start : match.start()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def number_of(text: str) -> int | None:
    """The number that a literal spells; None for anything else."""
    if text[:1] in _NAMES:
        return None
    try:
        found = argument_of(text)
    except SyntaxFault:
        return None
    return found.value if found.shape == "immediate" else None


@lru_cache(maxsize=1 << 14)
def address_of(text: str) -> Address | None:
    """The address that `[…]` spells; None where it is not a base and an offset."""
    found = _ADDRESS.match(text)
    if found is None:
        return None
    offset = number_of(found[2].replace(" ", "")) if found[2] else 0
    return None if offset is None else Address(found[1], offset)


@dataclass(frozen=True, eq=False)
class Operation:
    """What an opcode says by itself; all statements with it share one.

    `variant` is the one of the specification that it spells, `nearest` that one or, where it spells none, the
    one it comes nearest to; None for an instruction that the specification does not hold.
    `spaces` are the state spaces that the qualifiers name, `bytes` what the type says of an access.
    `registers` is what the instruction does to registers, None where nobody knows.
    """

    opcode: str
    words: tuple[str, ...]
    registers: str | None
    action: Action
    variant: Variant | None
    nearest: Variant | None
    spaces: tuple[str, ...]
    bytes: int | None

    @property
    def does(self) -> str:
        """What the instruction does beside its registers: a word of spec/effects.yaml."""
        return self.action.does

    @property
    def instruction(self) -> Instruction | None:
        """The instruction of the specification; None where it holds none of this name."""
        return self.nearest.row.family.instruction if self.nearest else None

    @property
    def space(self) -> str:
        """The state space of what is accessed (of a copy: where it is written), or `generic`."""
        return self.action.space or (self.spaces[0] if self.spaces else "generic")

    @property
    def is_move(self) -> bool:
        """Whether it copies registers or a constant, and does nothing else."""
        return self.action.does == "move"

    @property
    def is_unknown(self) -> bool:
        """Whether neither the specification nor spec/effects.yaml knows the instruction."""
        return self.registers is None and self.nearest is None

    @cached_property
    def factors(self) -> Factors | None:
        """M, N and K of a product; None where the qualifiers spell no shape that there is."""
        variant = self.nearest
        if variant is None or (variant is not self.variant and _shape_word(variant) not in self.words):
            return None
        m, n, k = (variant.fields.get(name) for name in Factors._fields)
        if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
            return Factors(m, n, k)
        return None

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The element types that the qualifiers spell, in their order."""
        known = self.nearest.row.family.isa.index.types if self.nearest else {}
        return tuple(word for word in self.words if word in known)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The operand lists that the specification gives to the instruction."""
        return tuple(self.nearest.forms) if self.nearest else ()

    @cached_property
    def _fitting(self) -> dict[str, tuple[tuple[str, Operand], ...]]:
        return {}

    def expected(self, operands: tuple[str, ...]) -> tuple[tuple[str, Operand], ...]:
        """The operands of the form that a statement's operands fit best, by their names."""
        if self.instruction is None:
            return ()
        shapes = "".join(map(_shape, operands))
        found = self._fitting.get(shapes)
        if found is None:
            known = self.instruction.operands
            form = max(self.forms, key=lambda form: _fit(form, known, shapes), default=None)
            found = self._fitting[shapes] = tuple(
                (name, known[name]) for name in (form.operands if form else ())
            )
        return found


def _shape_word(variant: Variant) -> str | None:
    """How a variant spells its shape."""
    return variant.row.family.token("shape", variant.fields) if variant.row.family.instruction.shape else None


_SHAPES = {"{": "vector", "[": "address", "!": "negated"}
_LETTERS = {"v": "vector", "a": "address", "n": "negated", "i": "immediate", "r": "register"}


def _shape(text: str) -> str:
    """A letter for the form of an operand."""
    first = text[:1]
    if first in _SHAPES:
        return _SHAPES[first][0]
    return "i" if first.isdigit() or first == "-" else "r"


def _fit(form: Form, known: Mapping[str, Operand], shapes: str) -> tuple[bool, int]:
    """How well operands of some shapes fit a form: in number, then one by one."""
    accepted = sum(
        _LETTERS[shape] in known[name].accepts for name, shape in zip(form.operands, shapes, strict=False)
    )
    return len(form.operands) == len(shapes), accepted


class Operations:
    """The operations of a file's opcodes, each decoded once; gates do not count."""

    def __init__(self, judge: Judge, effects: Effects | None = None) -> None:
        self.judge = judge
        self.effects = effects or load_effects()
        self._found: dict[str, Operation] = {}
        self._heads = frozenset(name.partition(".")[0] for name in judge.names)

    def is_held(self, opcode: str) -> bool:
        """Whether legality judges an opcode: by its name, or for its first word where nothing knows it."""
        found = self.of(opcode)
        return found.nearest is not None or (found.is_unknown and found.words[0] in self._heads)

    def of(self, opcode: str) -> Operation:
        """The operation that an opcode spells."""
        found = self._found.get(opcode)
        if found is None:
            found = self._found[opcode] = self._decode(opcode)
        return found

    def _decode(self, opcode: str) -> Operation:
        words = tuple(opcode.split("."))
        spaces = tuple(space for word in words if (space := word.partition("::")[0]) in SPACES)
        return Operation(
            opcode,
            words,
            self.effects.kind(opcode),
            self.effects.action(opcode),
            self.judge.variant_of(opcode),
            self.judge.closest(opcode),
            spaces,
            _bytes(words),
        )


def _bytes(words: tuple[str, ...]) -> int | None:
    """The bytes of a type, the last word, and of the vector before it."""
    kind = _TYPE.fullmatch(words[-1])
    if kind is None or len(words) < 2:
        return None
    vector = words[-2]
    count = int(vector[1:]) if vector[0] == "v" and vector[1:].isdigit() else 1
    return count * int(kind[1]) * int(kind[2] or 1) // 8


@dataclass(frozen=True, eq=False, slots=True)
class DecodedStatement:
    """A statement: its operation, operands, guard, and the registers that it writes and reads.

    Registers have names that are unique in the function. `scope` says what the names in operands mean.
    """

    operation: Operation
    operands: tuple[str, ...]
    guard: str | None
    negated: bool
    scope: int
    writes: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def does(self) -> str:
        """What the statement does beside its registers: a word of spec/effects.yaml."""
        return self.operation.action.does

    @property
    def named(self) -> Iterator[NamedOperand]:
        """The operands by the names of the specification; none for an instruction it does not hold."""
        expected = self.operation.expected(self.operands)
        return (NamedOperand(n, o, text) for (n, o), text in zip(expected, self.operands, strict=False))

    @property
    def is_complete(self) -> bool:
        """Whether it gives as many operands as a form of its instruction has."""
        return len(self.operation.expected(self.operands)) == len(self.operands)

    def part(self, part: Part) -> NamedOperand | None:
        """The operand that is this to the operation."""
        return next((one for one in self.named if one.operand.part == part), None)

    @property
    def addresses(self) -> Iterator[str]:
        """The operands that are addresses."""
        return (text for text in self.operands if text[:1] == "[")

    @property
    def address(self) -> Address | None:
        """What is accessed (of a copy: where it is written); None where that is not a base and an offset."""
        return address_of(next(self.addresses, ""))

    @property
    def bytes(self) -> int | None:
        """How many bytes one thread accesses; None where that is not known."""
        action = self.operation.action
        if action.bytes is not None:
            return action.bytes
        if action.size is not None:
            return number_of(self._operand(action.size))
        return self.operation.bytes

    @property
    def barrier(self) -> Address | None:
        """The mbarrier in memory that is arrived at or waited for; or that a bulk copy completes."""
        if self.operation.action.barrier != "object":
            return None
        found = tuple(self.addresses)
        at = _COPIED if self.does == "bulk-copy" else 0
        return address_of(found[at]) if at < len(found) else None

    @property
    def barrier_name(self) -> str | None:
        """The operand that names a barrier of the block by its number."""
        name = self.operation.action.name
        return None if name is None else self._operand(name)

    @property
    def phase(self) -> str | None:
        """The operand that holds the parity of the phase that is waited for."""
        phase = self.operation.action.phase
        return (
            self._operand(phase) or None if phase is not None and "parity" in self.operation.words else None
        )

    @property
    def pending(self) -> str | None:
        """The operand that says how many groups a wait may leave pending; None where it leaves none."""
        count = self.operation.action.count
        return None if count is None else self._operand(count)

    def _operand(self, position: int) -> str:
        return self.operands[position] if position < len(self.operands) else ""
