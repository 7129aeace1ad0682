"""Do the two models agree? The question for a solver, about programs of at most so many steps.

A program has a first step, a last step and any steps between. What comes before the first step does not
matter to what the models say of the two. A solver looks for a program in which the axioms see a hazard
between the first and the last step, and in the machine no effect of the last step overtakes one of the first;
or the other way round. Programs in which the first step has a hazard with an earlier step than the last are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import z3

from ....spec.ordering import Readings, ordering
from ....spec.switches import Conduct
from ...smt.obligations import Model, Obligation, refuting
from ..programs import BulkCopy, CpAsync, Mma, RegisterRead, RegisterWrite, SharedRead, SharedWrite
from .axioms import SymbolicAxioms
from .machine import BUFFER_PARTS, STREAMS, WARP, DelayedEffect, EffectName, MachineSteps
from .overtaking import overtakes_in_memory, overtakes_in_register
from .program import SymbolicProgram, any_of, wellformed

__all__ = [
    "FIRST_STEPS",
    "LENGTH",
    "ModelFormulas",
    "delayed_effects",
    "memory_formulas",
    "memory_readings",
    "ordering_obligations",
    "register_formulas",
]

LENGTH = 6  # of `ptxmma prove`; `ptxmma ordering --length` asks about longer programs
# By subject: the kinds of a first step that can have a hazard with a later one.
FIRST_STEPS: Mapping[str, tuple[type, ...]] = {
    "registers": (RegisterRead, RegisterWrite, Mma),
    "shared memory": (SharedRead, SharedWrite, CpAsync, BulkCopy, Mma),
}


@dataclass(frozen=True)
class ModelFormulas:
    """What both models say of the first and the last step of a symbolic program.

    The question is asked about programs that are `wellformed` and in which no step before the last has a
    hazard with the first (`no_earlier_hazard`: of the second step, the third, …). `hazard` is the axioms'
    verdict, `overtaken` the machine's; `axioms` and `effects` are the formulas that they are made of.
    """

    wellformed: z3.BoolRef
    no_earlier_hazard: tuple[z3.BoolRef, ...]
    hazard: z3.BoolRef
    overtaken: z3.BoolRef
    axioms: SymbolicAxioms
    effects: tuple[DelayedEffect, ...]

    @property
    def premise(self) -> z3.BoolRef:
        """The program is one that the question is about."""
        return z3.And(self.wellformed, *self.no_earlier_hazard)


def register_formulas(s: SymbolicProgram, readings: Readings) -> ModelFormulas:
    """Both models about the registers of the first and the last step."""
    conduct = ordering().conduct(readings)
    axioms = SymbolicAxioms(s, readings, z3.BoolVal(readings["empty-groups"] == "count"))
    steps = MachineSteps(s, conduct, False, z3.BoolVal(bool(conduct.empty_groups_count)))
    last = s.length - 1
    effects = tuple(DelayedEffect(steps, (kind, WARP, 0)) for kind in ("settle", "flight"))
    overtaken = any_of([overtakes_in_register(effect, last) for effect in effects])
    earlier = tuple(z3.Not(axioms.register_hazard(0, k)) for k in range(1, last))
    return ModelFormulas(wellformed(s), earlier, axioms.register_hazard(0, last), overtaken, axioms, effects)


def delayed_effects(conduct: Conduct) -> tuple[EffectName, ...]:
    """The effects of a first step on shared memory, each to be delayed.

    A `store` is that of any step. It is delayed to see which proxy fences come after it for certain.
    """
    stores = [("store", stream, 0) for stream in STREAMS] if conduct.proxy_fence_covers_all else []
    effects = [(kind, stream, 0) for kind in ("issue", "flight") for stream in STREAMS]
    return (*stores, *effects, *(("landing", stream, half) for stream, half in BUFFER_PARTS))


def memory_formulas(s: SymbolicProgram, readings: Readings) -> ModelFormulas:
    """Both models about the shared memory that the first and the last step access.

    The solver chooses which mmas on one accumulator take effect in order, and whether empty groups count (for
    both models alike). So the answer holds for every setting of the switches about these.
    """
    conduct = ordering().conduct(readings)
    empty_groups_count = z3.Bool("empty_groups_count")
    axioms = SymbolicAxioms(s, readings, empty_groups_count)
    steps = MachineSteps(s, conduct, True, empty_groups_count)
    last = s.length - 1
    stores: dict[tuple[int, int], DelayedEffect] = {}
    effects: list[DelayedEffect] = []
    for name in delayed_effects(conduct):
        kind, stream, _ = name
        if kind == "store":
            for step in range(s.length):
                stores[step, stream] = DelayedEffect(steps, name, step)
        else:
            effects.append(DelayedEffect(steps, name, 0, stores))
    overtaken = any_of(
        [z3.And(steps.runs(0, effect.stream), overtakes_in_memory(effect, last)) for effect in effects]
    )
    earlier = tuple(z3.Not(axioms.memory_hazard(0, k)) for k in range(1, last))
    hazard = axioms.memory_hazard(0, last)
    return ModelFormulas(wellformed(s), earlier, hazard, overtaken, axioms, (*stores.values(), *effects))


def memory_readings(readings: Readings) -> Readings:
    """The settings that the formulas about shared memory depend on."""
    bearing = ordering().bearing(readings, registers=False)
    return {name: setting for name, setting in bearing.items() if name != "empty-groups"}


def ordering_obligations(
    name: str, readings: Readings, length: int = LENGTH, about: Sequence[str] = tuple(FIRST_STEPS)
) -> Iterator[Obligation]:
    """The models agree on every program of at most `length` steps: one question for each kind of first step.

    The formulas are made when the text of the first question about registers, or about shared memory, is
    asked for.
    """
    s = SymbolicProgram(length)

    @cache
    def formulas(subject: str) -> ModelFormulas:
        if subject == "registers":
            return register_formulas(s, ordering().bearing(readings))
        return memory_formulas(s, memory_readings(readings))

    def text(subject: str, kind: type) -> str:
        models = formulas(subject)
        return refuting(models.premise, s.is_a(0, kind), models.hazard != models.overtaken)

    def explain(model: Model) -> str:
        return f"the models disagree about: {s.program(model)}"

    for subject in about:
        for kind in FIRST_STEPS[subject]:
            title = f"{name}, {subject}, {kind.__name__} first, {length} steps"
            yield Obligation("ordering.agree", title, partial(text, subject, kind), explain)
