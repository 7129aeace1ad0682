"""Which parameters say where something lies in shared memory, and which numbers are they taken to have?

A host passes offsets and strides with which buffers lie apart. One number for all would let them meet. Where
one is compared with another parameter, as a ring's stride with its size, no number is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from math import prod
from typing import NamedTuple

from ..memory.matrices import descriptor_texts
from ..ptx.dataflow import closure
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import number_of
from ..ptx.operation import BROUGHT, COPIES, Operation

__all__ = ["LoadedParameter", "lie_in_shared", "shared_offsets"]

_OFFSET, _NEXT_OFFSET = 136 << 10, 16 << 10  # bytes: behind what kernels fill from the start
_STRIDE, _NEXT_STRIDE = 40 << 10, 24 << 10  # bytes from one stage to the next, with all its buffers
_UNIT = 32  # a stride's factors are multiples of it
_SHIFT = 15  # of the number of a stage
_WORD = 4  # bytes of an address of shared memory
_WRAPS = frozenset(("rem", "div", "min", "max", "setp", "set"))  # their results do not grow with the number
_PARTS = frozenset(("bfe", "shr", "prmt"))  # of a number: a parameter may hold several
_SCALES = frozenset(("mul", "mad", "mul24", "mad24", "shl"))
_FACTORS = slice(1, 3)  # the operands that are multiplied, or compared
_COMPARES = frozenset(("setp", "set"))
# What makes an address of an offset and a stride; differences also make remainders.
_PLACES = frozenset(("mov", "add", "mul", "mad", "shl", "selp", "cvt"))


class LoadedParameter(NamedTuple):
    """A parameter: its name, its first byte, how many bytes an element has, and the registers with it."""

    name: str
    first: int
    width: int
    registers: frozenset[str]


def shared_offsets(
    code: DecodedFunction, parameters: Collection[LoadedParameter]
) -> dict[tuple[str, int], int | None]:
    """The numbers of parameters from which addresses of shared memory are computed, and with which nothing is
    compared; by name and first byte. None: another parameter is compared with it. A parameter that is a whole
    descriptor is none of them.
    """
    addressing = [name for one in code.accessing for name in _addressing(code, one)]
    addresses = _behind(code, addressing)
    products = map(code.__getitem__, code.doing("multiply"))
    words = _behind(code, (name for one in products for name in code.registers_in(*_descriptors(one))))
    laid = [
        one
        for one in parameters
        if not one.registers.isdisjoint(addresses)
        or (one.width <= _WORD and not one.registers.isdisjoint(words))
    ]
    if not laid:
        return {}
    compares = [statement for statement in code if statement.operation.words[0] in _COMPARES]
    compared = _behind(code, (name for statement in compares for name in statement.reads))
    given = {register for one in parameters for register in one.registers}
    scales = [_factors(code, code[at], given) for at in _scaling(code, addresses | words)]
    shifting = [at for at in _scaling(code, addresses) if code.operation(at).words[0] == "shl"]
    registers: dict[tuple[str, int], frozenset[str]] = {}
    for one in laid:
        slot = one.name, one.first
        registers[slot] = registers.get(slot, frozenset()) | one.registers
    places = _placing(code, addressing)
    whole = _whole_behind(code, addressing)
    offsets: dict[tuple[str, int], int | None] = {}
    for place, (slot, own) in enumerate(registers.items()):
        if not own.isdisjoint(compared):
            if not own.isdisjoint(places) and _is_measured(code, compares, own, given - own):
                offsets[slot] = None
            continue
        if not own.isdisjoint(addresses) and own.isdisjoint(whole):
            offsets[slot] = None
            continue
        if any(not own.isdisjoint(code.unique(code[at].operands[2:], code[at].scope)) for at in shifting):
            offsets[slot] = _SHIFT
            continue
        by = [factors for factors in scales if not own.isdisjoint(factors.behind)]
        if not by:
            offsets[slot] = _OFFSET + place * _NEXT_OFFSET
            continue
        # Stages are addressed in several places of the text, in the same way.
        stride = (_STRIDE + place * _NEXT_STRIDE) // prod({one.literal for one in by})
        number = int(stride ** (1 / max(1, min(one.parameters for one in by))))
        offsets[slot] = max(1, number // _UNIT * _UNIT)
    return offsets


class _Multiplied(NamedTuple):
    """What a statement multiplies: what is behind its registers, its literal, and how many of its factors
    parameters give.
    """

    behind: set[str]
    literal: int
    parameters: int


def _factors(code: DecodedFunction, statement: DecodedStatement, given: Collection[str]) -> _Multiplied:
    texts = statement.operands[_FACTORS]
    literal = next((number for text in texts if (number := number_of(text)) is not None), None)
    if literal is not None and statement.operation.words[0] == "shl":
        literal = 1 << literal
    factors = [code.unique((text,), statement.scope) for text in texts]
    parameters = sum(not _placing(code, one).isdisjoint(given) for one in factors)
    return _Multiplied(set[str]().union(*(_behind(code, one) for one in factors)), literal or 1, parameters)


def _scaling(code: DecodedFunction, registers: Iterable[str]) -> set[int]:
    """The statements that multiply and write one of some registers."""
    made = (index for register in registers for index in code.definitions.get(register, ()))
    return {index for index in made if code.operation(index).words[0] in _SCALES}


def _behind(code: DecodedFunction, registers: Iterable[str]) -> set[str]:
    """Some registers, and those from which they are computed so that they grow with them."""
    return _made_from(code, registers, lambda one: one.does not in BROUGHT and one.words[0] not in _WRAPS)


def _whole_behind(code: DecodedFunction, registers: Iterable[str]) -> set[str]:
    """The same, without those of which parts alone are taken."""
    but = _WRAPS | _PARTS
    return _made_from(code, registers, lambda one: one.does not in BROUGHT and one.words[0] not in but)


def _placing(code: DecodedFunction, registers: Iterable[str]) -> set[str]:
    """Some registers, and those from which they are computed as places are: by sums and multiples."""
    return _made_from(code, registers, lambda one: one.words[0] in _PLACES and "hi" not in one.words)


def _made_from(
    code: DecodedFunction, registers: Iterable[str], follows: Callable[[Operation], bool]
) -> set[str]:
    """Some registers, and those from which they are computed by instructions that are followed."""

    def sources(register: str) -> Iterator[str]:
        for index in code.definitions.get(register, ()):
            if follows(code.operation(index)):
                yield from code[index].reads

    return closure(registers, sources)


def _is_measured(
    code: DecodedFunction,
    compares: Iterable[DecodedStatement],
    own: Collection[str],
    others: Collection[str],
) -> bool:
    """Whether a place that a parameter says is compared with one that another parameter says."""
    for one in compares:
        sides = [_placing(code, code.unique((text,), one.scope)) for text in one.operands[_FACTORS]]
        if len(sides) == 2 and any(
            not side.isdisjoint(own) and not other.isdisjoint(others) and other.isdisjoint(own)
            for side, other in (sides, sides[::-1])
        ):
            return True
    return False


def lie_in_shared(statement: DecodedStatement) -> int:
    """How many of a statement's addresses, the first ones, surely lie in shared memory; none of a bulk copy's
    do.
    """
    if statement.does in COPIES:
        return int(statement.does == "copy")
    return len(statement.operands) if statement.operation.space == "shared" else 0


def _addressing(code: DecodedFunction, statement: DecodedStatement) -> Iterator[str]:
    """The registers of a statement's addresses in shared memory; of a bulk copy, of all but a tensor's, whose
    coordinates place nothing there: pointers are none.
    """
    if statement.does == "bulk-copy":
        texts = [text for text in statement.addresses if "," not in text]
    else:
        texts = [*islice(statement.addresses, lie_in_shared(statement))]
    yield from code.registers_in(" ".join(texts), statement.scope)


def _descriptors(statement: DecodedStatement) -> tuple[str, int]:
    """The descriptors of a product, and their scope."""
    return " ".join(descriptor_texts(statement)), statement.scope
