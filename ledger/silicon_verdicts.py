"""Verdicts on what a device showed: measured maps, metadata and addresses against today's YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..spec.fragments import packing
from ..spec.model import Instruction
from ..spec.parts import computes, moves, operands_of
from ..spec.specification import Specification
from ..spec.variants import Variant
from .claims import ClaimState, addresses_digest, layout_digest, metadata_digest
from .measured_points import AXES, descriptor_of, judge
from .silicon_record import Silicon

__all__ = ["SiliconVerdict", "anchor", "by_mnemonic", "claims_of", "silicon_verdicts"]


@dataclass(frozen=True)
class SiliconVerdict:
    """The verdict on one kernel's observations: how many points were compared, and the first that differ."""

    device: str
    what: str
    kernel: str
    state: ClaimState
    claims: tuple[str, ...]
    points: int = 0
    differing: int = 0
    first: tuple[str, ...] = ()


def anchor(specification: Specification, instruction: Instruction) -> str:
    """The instruction that names the rows, columns and k of measured maps; "" if there is none."""
    if instruction.fragments:
        accesses = " and ".join(
            dict.fromkeys(name.rpartition(".")[0] for name in instruction.fragments.values())
        )
        return f"rows, columns and k by the addresses of {accesses}; fragments are opaque"
    if moves(instruction):
        if list(operands_of(instruction, "address")):
            return "rows by the lane that gives the address, columns by the address"
        return f"the source's layout, which {_loader(specification)} anchors"
    if not computes(instruction):
        return ""
    if not any(operand.descriptor for operand in instruction.operands.values()):
        return "nothing: maps are compared up to one renaming of rows, one of columns and one of k"
    if any(row.sparsity for row in instruction.rows):
        return f"as {instruction.name}; packed columns by the k that they meet"
    return "rows and k by addresses of A, columns and k by addresses of B, not swizzled"


def _loader(specification: Specification) -> str:
    """The first instruction that moves matrices from memory to registers."""
    for name, instruction in specification.instructions.items():
        if moves(instruction) and {"address", "D"} <= {o.part for o in instruction.operands.values()}:
            return name
    return "nothing"


def by_mnemonic(specification: Specification) -> dict[str, Variant]:
    """Every variant, by its mnemonic."""
    families = specification.families.values()
    return {variant.mnemonic: variant for family in families for variant in family.variants()}


def claims_of(specification: Specification, variant: Variant, what: str) -> dict[str, str]:
    """The hashes of the claims that a measurement is about, by name."""
    kind = what.split()[0]
    found = {}
    if kind in ("maps", "accumulator", "matrices"):
        letters = {"accumulator": ("D",)}.get(kind, tuple(variant.layouts))
        for letter in letters:
            identifier = variant.layouts[letter]
            if letter not in AXES:
                if kind == "matrices":
                    found[identifier] = layout_digest(specification.layouts[identifier])
                continue
            layout = specification.layouts[identifier]
            kept = packing(variant, letter) if kind != "matrices" else None
            found[identifier] = layout_digest(layout, kept)
    if kind == "metadata":
        identifier = variant.layouts["metadata"]
        sparsity = specification.sparsity_of(variant)
        found[identifier] = metadata_digest(specification.layouts[identifier], sparsity)
    if kind == "memory":
        kind = descriptor_of(variant, what.split()[1])
        for identifier, rule in specification.rules_of(kind).items():
            found[identifier] = addresses_digest(
                rule,
                specification.layouts[rule.layout],
                specification.addresses.swizzle,
                specification.descriptors[kind],
            )
    return found


def silicon_verdicts(
    specification: Specification, silicon: Silicon, cases: Mapping[str, str]
) -> Iterator[SiliconVerdict]:
    """The verdict on every measurement, recomputed from the raw observations.

    `cases` are today's kernels by name, with the hashes of their texts. An observation is stale if its kernel
    or its claim has changed.
    """
    known = by_mnemonic(specification)
    for name, case in cases.items():
        what, kernel = name.split(": ", 1)
        variant = known[kernel.split()[0]]
        now = claims_of(specification, variant, what)
        observed = silicon.subjects.get(name)
        if observed is None or observed.case != case or dict(observed.claims) != now:
            state: ClaimState = "unseen" if observed is None else "stale"
            yield SiliconVerdict(silicon.device.name, what, kernel, state, tuple(now))
            continue
        points, faults = judge(specification, variant, what, kernel, observed.values)
        state = "differs" if faults else "agrees"
        yield SiliconVerdict(
            silicon.device.name, what, kernel, state, tuple(now), points, len(faults), tuple(faults[:4])
        )
