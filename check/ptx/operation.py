"""What an opcode alone says, by the specification and by spec/effects.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ...spec.effects import Action, Effects, load_effects
from ...spec.legality import Judge
from ...spec.model import Form, Instruction, Operand, OperandShape
from ...spec.variants import Variant

__all__ = [
    "BROUGHT",
    "COPIES",
    "DATA",
    "GENERIC_WRITES",
    "OBJECT",
    "OPAQUE",
    "ORDINARY",
    "READS",
    "FittingForm",
    "Operation",
    "Operations",
    "ProductShape",
    "copies_both_ways",
]

# Actions by what they have in common.
COPIES = frozenset(("copy", "bulk-copy"))
OBJECT = 8  # bytes of an mbarrier, which begins at a multiple of this (9.7.13.15.1)
ORDINARY = frozenset(("load", "store"))
DATA = ORDINARY | {"update"}  # a thread moves data by itself
READS = frozenset(("load", "drain"))  # by a thread itself, or by its bulk store
GENERIC_WRITES = frozenset(("store", "update", "copy"))  # through the generic proxy

OPAQUE = frozenset(("load", "update"))  # actions whose results do not depend on registers alone
BROUGHT = OPAQUE | {"call"}  # those by which a number comes from elsewhere
SPACES = ("shared", "global", "local", "param", "const")
_BOTH_WAYS = frozenset({("shared", "global"), ("global", "shared")})  # destination and source
_STRONG = frozenset(("acquire", "release", "acq_rel", "relaxed", "volatile", "mmio"))
_TYPE = re.compile(r"[a-z]+(\d+)(?:x(\d+))?")
_SCALAR = re.compile(r"[usb](8|16|32|64|128)|b?f(16|16x2|32|64)|pred")
_VECTOR = re.compile(r"v[248]")


class ProductShape(NamedTuple):
    """The shape of a product."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, eq=False)
class FittingForm:
    """The form of an instruction that some operands fit best: its own operands, by their names."""

    operands: tuple[tuple[str, Operand], ...]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each part of the operation stands among the operands."""
        placed = enumerate(operand.part for _, operand in self.operands)
        return {part: place for place, part in reversed([*placed]) if part is not None}

    @cached_property
    def described(self) -> tuple[int, ...]:
        """Where the matrix descriptors stand among the operands."""
        operands = enumerate(operand for _, operand in self.operands)
        return tuple(place for place, operand in operands if operand.descriptor is not None)


_NO_FORM = FittingForm(())  # of an instruction outside the specification


@dataclass(frozen=True, eq=False)
class Operation:
    """What an opcode alone says; all statements with that opcode share one value.

    `variant` is the one of the specification that it spells, `nearest` that one or, where it spells none, the
    one it comes nearest to; None for an instruction that the specification does not hold.
    `spaces` are the state spaces that the qualifiers name, `bytes` what the type says of an access.
    `registers` is what the instruction does to registers, None if unknown.
    """

    opcode: str
    words: tuple[str, ...]
    registers: str | None
    action: Action
    variant: Variant | None
    nearest: Variant | None
    spaces: tuple[str, ...]
    bytes: int | None

    @cached_property
    def does(self) -> str:
        """What the instruction does beside its registers: a word of spec/effects.yaml."""
        return self.action.does

    @cached_property
    def instruction(self) -> Instruction | None:
        """The instruction of the specification; None if it has none of this name."""
        return self.nearest.row.family.instruction if self.nearest else None

    @cached_property
    def results(self) -> int:
        """How many operands the specification writes, of the form that writes most; 0 outside it."""
        if self.instruction is None:
            return 0
        known = self.instruction.operands
        return max((sum(known[n].role == "destination" for n in f.operands) for f in self.forms), default=0)

    @cached_property
    def space(self) -> str:
        """The state space of the access (of a copy: of its destination), or `generic`."""
        return self.action.space or (self.spaces[0] if self.spaces else "generic")

    @cached_property
    def way(self) -> tuple[str, ...]:
        """The state spaces into which a bulk copy leads, and out of which: out of global memory where it
        brings an answer to a question.
        """
        return (self.space, "global") if self.action.before == 1 else self.spaces[:2]

    @cached_property
    def is_multicast(self) -> bool:
        """Whether it goes to several blocks of the cluster."""
        return any("multicast" in word for word in self.words)

    @cached_property
    def is_for_all(self) -> bool:
        """Whether a copy goes to every block of the cluster, however many these are."""
        return any(word.startswith("multicast::") and word.endswith("::all") for word in self.words)

    @cached_property
    def is_move(self) -> bool:
        """Whether it only copies registers or a constant."""
        return self.action.does == "move"

    @property
    def is_unknown(self) -> bool:
        """Whether neither the specification nor spec/effects.yaml knows the instruction."""
        return self.registers is None and self.nearest is None

    @cached_property
    def names_cluster(self) -> bool:
        """Whether a qualifier says that an address may be in the shared memory of the whole cluster."""
        return any("shared" in word and "cluster" in word for word in self.words)

    @cached_property
    def is_told(self) -> bool:
        """Whether an mbarrier is told of its completion."""
        return any(word.startswith("mbarrier::") for word in self.words)

    @cached_property
    def tells_later(self) -> bool:
        """Whether it arrives at an mbarrier once operations of its thread are complete, and not at once."""
        return self.does == "arrive" and self.is_told

    @cached_property
    def tells_several(self) -> bool:
        """Whether it does so for a pair of blocks, or at several mbarriers; no execution of one block follows
        that.
        """
        return self.tells_later and (self.is_multicast or self.is_for_pair)

    @cached_property
    def is_for_pair(self) -> bool:
        """Whether it is about a pair of blocks of the cluster."""
        return self.action.pairs in self.words

    @cached_property
    def is_strong(self) -> bool:
        """Whether a load or store is none of the weak ones: it races with no other strong one."""
        return not _STRONG.isdisjoint(self.words)

    def has_phases(self, operands: int) -> bool:
        """Whether a statement with so many operands waits for a phase of an mbarrier, or is about a barrier
        that some threads of the block may pass by, or at which they arrive before they wait.
        """
        if self.does == "await" or (self.does == "arrive" and self.action.barrier in ("named", "cluster")):
            return True
        return self.does == "meet" and operands > 1

    @cached_property
    def factors(self) -> ProductShape | None:
        """M, N and K of a product; None if the qualifiers spell no existing shape."""
        variant = self.nearest
        if variant is None or (variant is not self.variant and _shape_word(variant) not in self.words):
            return None
        m, n, k = (variant.fields.get(name) for name in ProductShape._fields)
        if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
            return ProductShape(m, n, k)
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
    def _fitting(self) -> dict[tuple[OperandShape, ...], FittingForm]:
        return {}

    def fitting(self, operands: tuple[str, ...]) -> FittingForm:
        """The form that a statement's operands fit best."""
        if self.instruction is None:
            return _NO_FORM
        shapes = tuple(map(_shape, operands))
        found = self._fitting.get(shapes)
        if found is None:
            known = self.instruction.operands
            form = max(self.forms, key=lambda form: _fit(form, known, shapes), default=None)
            found = self._fitting[shapes] = FittingForm(
                tuple((name, known[name]) for name in (form.operands if form else ()))
            )
        return found


def _shape_word(variant: Variant) -> str | None:
    """How a variant spells its shape."""
    return variant.row.family.token("shape", variant.fields) if variant.row.family.instruction.shape else None


_SHAPES: Mapping[str, OperandShape] = {"{": "vector", "[": "address", "!": "negated", "-": "immediate"}


def _shape(text: str) -> OperandShape:
    """The written form of an operand, by its first letter."""
    first = text[:1]
    return "immediate" if first.isdigit() else _SHAPES.get(first, "register")


def _fit(form: Form, known: Mapping[str, Operand], shapes: tuple[OperandShape, ...]) -> tuple[bool, int]:
    """How well operands of some shapes fit a form: first by number, then one by one."""
    accepted = sum(shape in known[name].accepts for name, shape in zip(form.operands, shapes, strict=False))
    return len(form.operands) == len(shapes), accepted


class Operations:
    """The operations of a file's opcodes, each decoded once; gates do not count."""

    def __init__(self, judge: Judge, effects: Effects | None = None) -> None:
        self.judge = judge
        self.effects = effects or load_effects()
        self._found: dict[str, Operation] = {}
        self._in_shared: dict[str, Operation] = {}
        self._heads = frozenset(name.partition(".")[0] for name in judge.names)

    def is_held(self, opcode: str) -> bool:
        """Whether legality judges an opcode: the specification has its name, or has its first word and
        nothing else lists it.
        """
        found = self.of(opcode)
        return found.nearest is not None or (found.is_unknown and found.words[0] in self._heads)

    def of(self, opcode: str) -> Operation:
        """The operation that an opcode spells."""
        found = self._found.get(opcode)
        if found is None:
            found = self._found[opcode] = self._decode(opcode)
        return found

    def in_shared(self, opcode: str) -> Operation:
        """The same, where an access by a generic address is one of shared memory."""
        found = self._in_shared.get(opcode)
        if found is None:
            found = self._in_shared[opcode] = replace(self.of(opcode), spaces=("shared",))
        return found

    def _decode(self, opcode: str) -> Operation:
        words, nearest = tuple(opcode.split(".")), self.judge.closest(opcode)
        if nearest is None:
            words = _with_type_last(words)
        spaces = tuple(space for word in words if (space := word.partition("::")[0]) in SPACES)
        return Operation(
            opcode,
            words,
            self.effects.kind(opcode),
            self.effects.action(opcode),
            self.judge.variant_of(opcode),
            nearest,
            spaces,
            _bytes(words),
        )


def _with_type_last(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words in the order of the syntax. ptxas takes a vector and a type before other words, too:
    setp.u32.eq, ld.v2.u32.shared.
    """
    if _SCALAR.fullmatch(words[-1]) or not any(map(_SCALAR.fullmatch, words)):
        return words
    return tuple(
        sorted(words, key=lambda word: 2 * bool(_SCALAR.fullmatch(word)) + bool(_VECTOR.fullmatch(word)))
    )


def _bytes(words: tuple[str, ...]) -> int | None:
    """The bytes of a type, the last word, and of the vector before it."""
    kind = _TYPE.fullmatch(words[-1])
    if kind is None or len(words) < 2:
        return None
    vector = words[-2]
    count = int(vector[1:]) if vector[0] == "v" and vector[1:].isdigit() else 1
    return count * int(kind[1]) * int(kind[2] or 1) // 8


def copies_both_ways(operations: Iterable[Operation]) -> bool:
    """Whether bulk copies lead into shared memory, and bulk stores out of it."""
    return {one.way for one in operations if one.does == "bulk-copy"} >= _BOTH_WAYS
