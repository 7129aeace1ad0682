"""The list of kernels: each has one mnemonic, one operand form and one choice of compile-time immediates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ...spec.model import Form, Instruction, Operand
from ...spec.parts import operand_name
from ...spec.variants import ABSENT, Variant

__all__ = [
    "THREADS",
    "FragmentAccess",
    "Kernel",
    "choices",
    "immediates",
    "neutral",
    "raw_kernels",
    "space_of",
]

THREADS: Mapping[str, int] = {"warp": 32, "warpgroup": 128}
KernelKind = Literal["value", "raw"]
Space = Literal["shared", "global"]


@dataclass(frozen=True)
class FragmentAccess:
    """An instruction that fills or empties a fragment of another one: a variant and a form."""

    variant: Variant
    form_name: str

    @property
    def strided(self) -> bool:
        """Whether the form has an operand that is the stride."""
        instruction = self.variant.row.family.instruction
        return operand_name(instruction, instruction.forms[self.form_name], "stride") is not None

    @property
    def word(self) -> str:
        """The word that distinguishes it from other accesses to the same fragment."""
        space = str(self.variant.fields["space"])
        shown = "generic" if space == ABSENT else space
        return f"{self.variant.fields['layout']}_{shown}_{self.form_name}"


@dataclass(frozen=True)
class Kernel:
    """A kernel that executes one instruction once. The immediates are fixed; everything else is input.

    `accesses` fill and empty the fragments of an instruction that has opaque ones, by their part.
    """

    kind: KernelKind
    variant: Variant
    form_name: str
    immediates: Mapping[str, int]
    accesses: Mapping[str, FragmentAccess] = field(default_factory=dict)

    @property
    def instruction(self) -> Instruction:
        return self.variant.row.family.instruction

    @property
    def form(self) -> Form:
        return self.instruction.forms[self.form_name]

    @property
    def threads(self) -> int:
        """How many threads execute the instruction, and make the block."""
        return THREADS[self.instruction.scope]

    @cached_property
    def name(self) -> str:
        """The entry's name: a PTX and C identifier, unique in the specification."""
        words = [self.kind, self.variant.mnemonic]
        if len(self.variant.row.row.forms) > 1:
            words.append(self.form_name)
        for operand, value in self.immediates.items():
            words.append(f"{operand}_{value}".replace("-1", "m1"))
        words += [f"{part}_{access.word}".lower() for part, access in self.accesses.items()]
        return "__".join(re.sub(r"\W+", "_", word) for word in words)

    def operands(self) -> Iterator[tuple[str, Operand]]:
        """The form's operands in their order."""
        for name in self.form.operands:
            yield name, self.instruction.operands[name]

    def value(self, part: str) -> int | None:
        """The immediate that is this part of the operation; None when the form has no such operand."""
        for name, value in self.immediates.items():
            if self.instruction.operands[name].part == part:
                return value
        return None

    @property
    def space(self) -> Space | None:
        """The state space of the address operand; None without one."""
        return space_of(self.variant) if operand_name(self.instruction, self.form, "address") else None

    @property
    def generic(self) -> bool:
        """Whether the address operand is a generic address."""
        return self.space is not None and self.variant.fields["space"] == ABSENT

    def descriptor(self, part: str) -> str | None:
        """The descriptor that says where a matrix lies in shared memory; None where it is in registers."""
        return next((operand.descriptor for _, operand in self.operands() if operand.part == part), None)

    @property
    def stores(self) -> bool:
        """Whether the instruction writes memory: it has an address and no destination."""
        return self.space is not None and all(operand.role == "source" for _, operand in self.operands())

    @property
    def shared(self) -> bool:
        """Whether the instruction reads or writes shared memory."""
        spaces = [self.space, *(space_of(access.variant) for access in self.accesses.values())]
        return "shared" in spaces or any(operand.descriptor for _, operand in self.operands())


def space_of(variant: Variant) -> Space:
    """The state space that a variant reads or writes; a generic address points to global memory if it may."""
    space = variant.fields["space"]
    spaces = variant.row.domains["space"]
    return "global" if space == "global" or (space == ABSENT and "global" in spaces) else "shared"


def immediates(variant: Variant, form: Form) -> dict[str, tuple[int, ...]]:
    """The operands that are compile-time constants, with the values that each may have.

    These are the operands with listed values, except predicates.
    """
    found: dict[str, tuple[int, ...]] = {}
    operands = variant.row.family.instruction.operands
    for name in form.operands:
        for element in operands[name].elements or (name,):
            operand = operands[element]
            if "immediate" in operand.accepts and "negated" not in operand.accepts and operand.values:
                found[element] = variant.values(operand)
    return found


_NEUTRAL: Mapping[str, int] = {"negate-A": 1, "negate-B": 1, "transpose-A": 0, "transpose-B": 0}


def neutral(kernel: Kernel) -> bool:
    """Whether a kernel negates and transposes nothing."""
    return all(kernel.value(part) in (None, value) for part, value in _NEUTRAL.items())


def raw_kernels(variants: Sequence[Variant]) -> Iterator[Kernel]:
    """The raw kernels: every form and selector; the smallest shape of a row with every combination.

    Elsewhere nothing is negated or transposed.
    """
    smallest: dict[str, int] = {}
    for variant in variants:
        size = _size(variant)
        smallest[variant.row.id] = min(size, smallest.get(variant.row.id, size))
    for variant in variants:
        operands = variant.row.family.instruction.operands
        for name, fixed in choices(variant):
            neutral = all(_NEUTRAL.get(str(operands[o].part), value) == value for o, value in fixed.items())
            if neutral or _size(variant) == smallest[variant.row.id]:
                yield Kernel("raw", variant, name, fixed)


def _size(variant: Variant) -> int:
    return int(variant.fields.get("n", 0))


def choices(variant: Variant) -> Iterator[tuple[str, dict[str, int]]]:
    """Every form of a variant with every combination of its immediates."""
    for name in variant.row.row.forms:
        form = variant.row.family.instruction.forms[name]
        values = immediates(variant, form)
        for combination in itertools.product(*values.values()):
            yield name, dict(zip(values, combination, strict=True))
