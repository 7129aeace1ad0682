"""The cases of a suite, and what they cover.

A case is a kernel, a plan of inputs, a seed and a configuration.

The smallest shape of a row runs with every combination of its immediates, swizzling modes and scale-d.
The other shapes run with every pair of settings.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from ...formal.plans import InputPlan, plans
from ...spec.model import Instruction
from ...spec.parts import computes, operand_name
from ...spec.specification import Specification
from ...spec.variants import Variant
from ..kernels.kernel_list import Kernel, immediates
from ..kernels.opaque import opaque_kernels
from ..kernels.operations import matrices
from ..kernels.placement import SPACINGS, placements
from ..pairwise import Factors, FactorValue, Pairs, products

__all__ = ["Case", "Cases", "Coverage", "cases_of"]

SEEDS = 3
_ALL = 64  # a form with more combinations of immediates (scale factors) is compiled with some of them only
_FORM = "form"
_RUNTIME = ("plan", "scale-d", "swizzle-a", "swizzle-b", "spacing")


@dataclass(frozen=True)
class Case:
    """One job: which inputs are drawn, and the configuration words by name."""

    kernel: Kernel
    plan: InputPlan
    seed: int
    settings: Mapping[str, FactorValue]
    config: Mapping[str, int]
    clauses: tuple[str, ...]

    def hash(self, body: str) -> str:
        """The hash of the kernel's code and of what makes the case: 16 hexadecimal digits."""
        return hashlib.sha256("\n".join((body, self.told)).encode()).hexdigest()[:16]

    @cached_property
    def told(self) -> str:
        """Everything that the case consists of beside the kernel, as text."""
        plan = self.plan
        draws = [plan.a, plan.b, plan.c, *([plan.scale] if plan.scale else [])]
        drawn = ",".join(f"{draw.low}:{draw.high}:{draw.exponent}" for draw in draws)
        words = ",".join(f"{name}={value}" for name, value in self.config.items())
        return f"{plan.name} {drawn} {plan.nonzero} {plan.garbage} {self.seed} {words}"


@dataclass
class Coverage:
    """What the cases of one row cover: how many pairs of settings, of how many possible ones."""

    group: str
    mnemonics: int = 0
    kernels: int = 0
    cases: int = 0
    pairs: int = 0
    possible: int = 0


@dataclass
class Cases:
    """Kernels with their cases, in order, and the coverage by row."""

    cases: list[tuple[Kernel, list[Case]]] = field(default_factory=list)
    coverage: list[Coverage] = field(default_factory=list)


def cases_of(specification: Specification, variants: Sequence[Variant], known: Sequence[Variant]) -> Cases:
    """Every value kernel of the given variants, with its cases; `known` are all variants of the target."""
    found = Cases()
    rows: dict[str, Coverage] = {variant.row.id: Coverage(variant.row.id) for variant in variants}
    wanted = {variant.mnemonic for variant in variants}
    for variant in variants:
        rows[variant.row.id].mnemonics += 1

    def add(kernel: Kernel, cases: list[Case]) -> None:
        found.cases.append((kernel, cases))
        accessing = (access.variant for access in kernel.accesses.values())
        for variant in (kernel.variant, *accessing):
            if variant.mnemonic in wanted:
                rows[variant.row.id].kernels += 1
                rows[variant.row.id].cases += len(cases)

    opaque = {name for family in specification.families.values() for name in opaque_of(family.instruction)}
    plain = [variant for variant in variants if variant.row.family.instruction.instruction not in opaque]
    for variants_of_group in groups(plain):
        group = Group(specification, variants_of_group)
        for kernel, cases in group.cases():
            add(kernel, cases)
        covered = rows[variants_of_group[0].row.id]
        covered.pairs += group.pairs.total - group.pairs.left
        covered.possible += group.pairs.total
    if len(plain) < len(variants):
        groups_of = {
            group[0].mnemonic: Group(specification, group)
            for group in ([v] for v in known)
            if computes(group[0].instruction)
        }
        for kernel in opaque_kernels(known):
            accessing = (access.variant for access in kernel.accesses.values())
            if wanted & {kernel.variant.mnemonic, *(variant.mnemonic for variant in accessing)}:
                add(kernel, groups_of[kernel.variant.mnemonic].seeds(kernel))
    found.coverage = list(rows.values())
    return found


def opaque_of(instruction: Instruction) -> Iterator[str]:
    """A family on opaque fragments with the instructions that access them; nothing for other families."""
    if instruction.fragments:
        yield instruction.instruction
        yield from instruction.fragments.values()


def groups(variants: Sequence[Variant]) -> list[list[Variant]]:
    """The variants that differ in N only, together."""
    found: dict[object, list[Variant]] = defaultdict(list)
    for variant in variants:
        rest = tuple(value for name, value in variant.fields.items() if name != "n")
        shape = () if variant.row.family.instruction.scope == "warpgroup" else (variant.fields.get("n"),)
        found[variant.row.id, rest, shape].append(variant)
    return list(found.values())


class Group:
    """Mnemonics that differ in N only: their kernels and cases."""

    def __init__(self, specification: Specification, variants: Sequence[Variant]) -> None:
        self.specification = specification
        self.variants = variants
        self.plans = {plan.name: plan for plan in plans(specification, variants[0])}
        self.worlds = {name: self._world(name) for name in variants[0].row.row.forms}
        shapes = [int(variant.fields.get("n", 0)) for variant in variants]
        self.pairs = Pairs([{"n": shapes, **world} for world in self.worlds.values()])
        self.turn = 0

    def _world(self, form_name: str) -> dict[str, tuple[FactorValue, ...]]:
        """The factors of a form with their values: first the immediates, then what a run sets."""
        variant = self.variants[0]
        instruction = variant.row.family.instruction
        form = instruction.forms[form_name]
        world: dict[str, tuple[FactorValue, ...]] = {_FORM: (form_name,), **immediates(variant, form)}
        world["plan"] = tuple(self.plans)
        if operand_name(instruction, form, "scale-d"):
            world["scale-d"] = (1, 0)
        described = [o for o in map(instruction.operands.get, form.operands) if o and o.descriptor]
        for operand in described:
            world[f"swizzle-{str(operand.part).lower()}"] = self._modes(str(operand.descriptor))
        if described:
            world["spacing"] = tuple(SPACINGS)
        return world

    def _modes(self, kind: str) -> tuple[str, ...]:
        """The swizzling modes of a descriptor; where no field tells them, those of its address rules."""
        descriptor = self.specification.descriptors[kind]
        field = descriptor.field_of("mode")
        if field:
            return tuple(descriptor.fields[field].values)
        rules = self.specification.rules_of(kind).values()
        return tuple(dict.fromkeys(mode for rule in rules for mode in rule.widths))

    def cases(self) -> Iterator[tuple[Kernel, list[Case]]]:
        """Every kernel with its cases; the smallest shape first."""
        few = all(self._combinations(form) <= _ALL for form in self.worlds)
        for number, variant in enumerate(self.variants):
            yield from self._all(variant) if number == 0 and few else self._some(variant)

    def _combinations(self, form: str) -> int:
        """How many combinations of immediates a form has."""
        return prod(len(self.worlds[form][name]) for name in self._fixed(form))

    def seeds(self, kernel: Kernel) -> list[Case]:
        """Every plan with its seeds."""
        chosen: list[dict[str, FactorValue]] = [{"plan": plan} for plan in self.plans for _ in range(SEEDS)]
        return self._numbered(kernel, chosen)

    def _fixed(self, form: str) -> list[str]:
        """The factors that a kernel is compiled with."""
        return [name for name in self.worlds[form] if name not in _RUNTIME]

    def _kernel(self, variant: Variant, combination: Mapping[str, FactorValue]) -> Kernel:
        form = str(combination[_FORM])
        fixed = {name: int(combination[name]) for name in self._fixed(form) if name != _FORM}
        return Kernel("value", variant, form, fixed)

    def _all(self, variant: Variant) -> Iterator[tuple[Kernel, list[Case]]]:
        """Every combination of immediates, each with every scale-d and every swizzling mode."""
        shape = {"n": int(variant.fields.get("n", 0))}
        for form, world in self.worlds.items():
            fixed = {name: world[name] for name in self._fixed(form)}
            inner = {name: world[name] for name in _RUNTIME[1:4] if name in world}
            for compiled in products(fixed):
                kernel = self._kernel(variant, compiled)
                chosen = []
                for given in products(inner):
                    chosen.append(self._complete(world_of(shape, world), {**shape, **compiled, **given}))
                yield kernel, self._numbered(kernel, self._every_plan(chosen, shape, world, compiled))

    def _every_plan(
        self,
        chosen: list[dict[str, FactorValue]],
        shape: Mapping[str, FactorValue],
        world: Factors,
        compiled: Mapping[str, FactorValue],
    ) -> list[dict[str, FactorValue]]:
        """The chosen cases, and more of them until every plan has its seeds."""
        for plan in self.plans:
            while sum(settings["plan"] == plan for settings in chosen) < SEEDS:
                chosen.append(self._complete(world_of(shape, world), {**shape, **compiled, "plan": plan}))
        return chosen

    def _some(self, variant: Variant) -> Iterator[tuple[Kernel, list[Case]]]:
        """Kernels that pair this shape with every immediate, and cases that pair it with every setting."""
        shape = {"n": int(variant.fields.get("n", 0))}
        kernels: dict[str, tuple[Kernel, list[dict[str, FactorValue]]]] = {}

        def add(world: Factors, fixed: Mapping[str, FactorValue]) -> None:
            settings = self._complete(world_of(shape, world), {**shape, **fixed})
            kernel = self._kernel(variant, settings)
            kernels.setdefault(kernel.name, (kernel, []))[1].append(settings)

        for form, world in self.worlds.items():
            add(world, {_FORM: form})
            for name in self._fixed(form):
                for value in world[name]:
                    if (name, value) in self.pairs.missing.get(("n", shape["n"]), ()):
                        add(world, {_FORM: form, name: value})
        if variant is self.variants[-1]:
            while (pair := self.pairs.any_missing()) is not None:
                world = next(world for world in self.worlds.values() if met(world, pair))
                add(world, {_FORM: world[_FORM][0], **pair})
        for kernel, chosen in kernels.values():
            compiled = {name: chosen[0][name] for name in self._fixed(kernel.form_name)}
            world = self.worlds[kernel.form_name]
            missing = self.pairs.missing.get(("n", shape["n"]), {})
            for name in (name for name in _RUNTIME if name in world):
                for value in world[name]:
                    if (name, value) in missing:
                        add(world, {**compiled, name: value})
            while len(chosen) < SEEDS:
                add(world, compiled)
            yield kernel, self._numbered(kernel, chosen)

    def _complete(self, world: Factors, fixed: Mapping[str, FactorValue]) -> dict[str, FactorValue]:
        self.turn += 1
        settings = self.pairs.complete(world, fixed, self.turn)
        self.pairs.cover(settings)
        return settings

    def _numbered(self, kernel: Kernel, chosen: Sequence[Mapping[str, FactorValue]]) -> list[Case]:
        held, varied = matrices(kernel, self.specification), tuple(self._varied(kernel))
        cases = []
        for seed, settings in enumerate(chosen, 1):
            plan = self.plans[str(settings["plan"])]
            config = placements(self.specification, kernel, held, settings, seed)
            given = {name: settings[name] for name in _RUNTIME if name in settings}
            clauses = tuple(dict.fromkeys((*plan.clauses, *varied)))
            cases.append(Case(kernel, plan, seed, given, config, clauses))
        return cases

    def _varied(self, kernel: Kernel) -> Iterator[str]:
        """The clauses of which an operand of the kernel's form is a consumer."""
        row = kernel.variant.row.row
        for clause in (*row.numerical, *kernel.instruction.execution):
            consumers = self.specification.clauses[clause].consumers
            if any(consumer.varies in kernel.form.operands for consumer in consumers):
                yield clause


def met(world: Factors, pair: Mapping[str, FactorValue]) -> bool:
    """Whether two values can occur together."""
    return all(name == "n" or value in world.get(name, ()) for name, value in pair.items())


def world_of(shape: Mapping[str, FactorValue], world: Factors) -> Factors:
    """The factors of a form with the shape fixed."""
    return {**{name: (value,) for name, value in shape.items()}, **world}
