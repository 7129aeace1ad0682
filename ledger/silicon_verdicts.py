"""Verdicts on what a device showed: measured maps, metadata and addresses against today's YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from ..spec.fragments import packing
from ..spec.model import Instruction
from ..spec.parts import computes, moves, operands_of
from ..spec.specification import Specification
from ..spec.variants import Variant
from ..spec.workers import over_jobs
from .claims import ClaimState, addresses_digest, layout_digest, metadata_digest
from .measured_points import AXES, descriptor_of, judge
from .silicon_record import Observed, Silicon

__all__ = [
    "Judged",
    "SiliconVerdict",
    "anchor",
    "by_mnemonic",
    "claimed_by",
    "claims_of",
    "silicon_verdicts",
]

_MANY = 40  # measurements; fewer are judged sooner than processes start


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
    row: str = ""


Judged = tuple[int, int, tuple[str, ...]]  # points, how many differ, the first of these


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


def _letters(variant: Variant, what: str) -> tuple[str, ...]:
    """The matrices whose layouts a measurement is about."""
    kind = what.split()[0]
    if kind == "metadata":
        return ("metadata",)
    letters = {"accumulator": ("D",), "memory": ()}.get(kind, tuple(variant.layouts))
    return tuple(letter for letter in letters if letter in AXES or kind == "matrices")


def claimed_by(specification: Specification, variant: Variant, what: str) -> tuple[str, ...]:
    """The layouts and address rules that a measurement is about, by name."""
    if what.startswith("memory"):
        return tuple(specification.rules_of(descriptor_of(variant, what.split()[1])))
    return tuple(dict.fromkeys(variant.layouts[letter] for letter in _letters(variant, what)))


def claims_of(specification: Specification, variant: Variant, what: str) -> dict[str, str]:
    """The hashes of the claims that a measurement is about, by name."""
    kind = what.split()[0]
    found = {}
    if kind in ("maps", "accumulator", "matrices"):
        for letter in _letters(variant, what):
            identifier = variant.layouts[letter]
            if letter not in AXES:
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
    specification: Specification,
    silicon: Silicon,
    cases: Mapping[str, str],
    rows: AbstractSet[str] | None = None,
    judged: dict[tuple[str, str], Judged] | None = None,
) -> Iterator[SiliconVerdict]:
    """The verdict on every measurement, recomputed from the raw observations.

    `cases` are today's kernels by name, with the hashes of their code; they are of some `rows`, or of all. An
    observation is stale if its kernel has changed, and unclaimed if its row no longer has that kernel: a
    changed claim about the same kernel is judged. `judged` keeps what was judged: another device that showed
    the same needs no second look.
    """
    judged = {} if judged is None else judged
    known = by_mnemonic(specification)
    unjudged = [
        (known[name.split(": ", 1)[1].split()[0]], name, observed)
        for name, case in cases.items()
        if (observed := silicon.subjects.get(name)) is not None and observed.case == case
        if not observed.shown or (name, observed.shown) not in judged
    ]
    work = partial(_judged, specification)
    results = over_jobs(unjudged, work) if len(unjudged) >= _MANY else map(work, unjudged)
    own = {name: result for (_, name, _), result in zip(unjudged, results, strict=True)}
    judged.update({(name, one.shown): own[name] for _, name, one in unjudged if one.shown})
    for name, gone in silicon.subjects.items():
        if name not in cases and (rows is None or gone.row in rows):
            what, kernel = name.split(": ", 1)
            yield SiliconVerdict(silicon.device.name, what, kernel, "unclaimed", (), row=gone.row)
    for name, case in cases.items():
        what, kernel = name.split(": ", 1)
        variant = known[kernel.split()[0]]
        now, row = claimed_by(specification, variant, what), variant.row.id
        observed = silicon.subjects.get(name)
        if observed is None or observed.case != case:
            state: ClaimState = "unseen" if observed is None else "stale"
            yield SiliconVerdict(silicon.device.name, what, kernel, state, now, row=row)
            continue
        found = own[name] if name in own else judged[name, observed.shown]
        state = "differs" if found[1] else "agrees"
        yield SiliconVerdict(silicon.device.name, what, kernel, state, now, *found, row=row)


def _judged(specification: Specification, job: tuple[Variant, str, Observed]) -> Judged:
    """What comes of one measurement of a variant; this runs in a worker."""
    variant, name, observed = job
    what, kernel = name.split(": ", 1)
    points, faults = judge(specification, variant, what, kernel, observed.values)
    return points, len(faults), tuple(faults[:4])
