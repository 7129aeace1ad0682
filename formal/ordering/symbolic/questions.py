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

from ....spec.ordering import Readings, ordering
from ....spec.switches import Conduct
from ...smt.obligations import Model, Obligation, refuting
from ...smt.terms import And, Bool, BoolVal, Not, Term
from ..programs import (
    BulkCopy,
    BulkStore,
    CpAsync,
    Mma,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
)
from .axioms import SymbolicAxioms
from .machine import BUFFER_PARTS, STEPS_WITH, STREAMS, WARP, DelayedEffect, EffectName, MachineSteps
from .overtaking import overtakes_in_memory, overtakes_in_register
from .program import SymbolicProgram, any_of, wellformed

__all__ = [
    "FIRST_STEPS",
    "LENGTH",
    "ModelFormulas",
    "ModelQuestions",
    "delayed_effects",
    "memory_formulas",
    "memory_readings",
    "ordering_obligations",
    "register_formulas",
]

_OPEN = ("empty-groups", "unwaited-store")  # the solver chooses their settings
LENGTH = 6  # of `ptxmma prove`; `ptxmma ordering --length` asks about longer programs
# By subject: the kinds of a first step that can have a hazard with a later one.
FIRST_STEPS: Mapping[str, tuple[type, ...]] = {
    "registers": (RegisterRead, RegisterWrite, Mma),
    "shared memory": (SharedRead, SharedWrite, CpAsync, BulkCopy, BulkStore, Mma),
}


@dataclass(frozen=True)
class ModelFormulas:
    """What both models say of the first and the last step of a symbolic program.

    The question is asked about programs that are `wellformed` and in which no step before the last has a
    hazard with the first (`no_earlier_hazard`: of the second step, the third, …). `hazard` is the axioms'
    verdict, `overtaken` the machine's; `axioms` and `effects` are the formulas that they are made of.
    """

    wellformed: Term
    no_earlier_hazard: tuple[Term, ...]
    hazard: Term
    overtaken: Term
    axioms: SymbolicAxioms
    effects: tuple[DelayedEffect, ...]

    @property
    def premise(self) -> Term:
        """The program is one that the question is about."""
        return And(self.wellformed, *self.no_earlier_hazard)


def register_formulas(s: SymbolicProgram, readings: Readings) -> ModelFormulas:
    """Both models about the registers of the first and the last step."""
    conduct = ordering().conduct(readings)
    lasts = BoolVal(True)  # of no matter to registers
    axioms = SymbolicAxioms(s, readings, BoolVal(readings["empty-groups"] == "count"), lasts)
    steps = MachineSteps(s, conduct, False, BoolVal(bool(conduct.empty_groups_count)), lasts)
    last = s.length - 1
    effects = tuple(DelayedEffect(steps, (kind, WARP, 0)) for kind in ("settle", "flight"))
    overtaken = any_of([overtakes_in_register(effect, last) for effect in effects])
    earlier = tuple(Not(axioms.register_hazard(0, k)) for k in range(1, last))
    return ModelFormulas(wellformed(s), earlier, axioms.register_hazard(0, last), overtaken, axioms, effects)


def delayed_effects(conduct: Conduct, first: type | None = None) -> tuple[EffectName, ...]:
    """The effects of a first step on shared memory, each to be delayed: of one of a kind if it is given.

    A `store` is that of any step. It is delayed to see which proxy fences come after it for certain, before
    a landing.
    """
    own = [kind for kind, steps in STEPS_WITH.items() if first is None or first in steps]
    fenced = "landing" in own and conduct.proxy_fence_covers_all
    stores = [("store", stream, 0) for stream in STREAMS] if fenced else []
    effects = [(kind, stream, 0) for kind in ("issue", "flight") if kind in own for stream in STREAMS]
    landings = [("landing", stream, half) for stream, half in BUFFER_PARTS] if "landing" in own else []
    return (*stores, *effects, *landings)


def memory_formulas(s: SymbolicProgram, readings: Readings) -> ModelFormulas:
    """Both models about the shared memory that the first and the last step access.

    The solver chooses which mmas on one accumulator take effect in order, whether empty groups count, and
    whether a block lasts for its bulk stores (for both models alike). So the answer holds for every setting
    of the switches about these.
    """
    conduct = ordering().conduct(readings)
    empty_groups_count = Bool("empty_groups_count")
    block_lasts = Bool("block_lasts")
    axioms = SymbolicAxioms(s, readings, empty_groups_count, block_lasts)
    steps = MachineSteps(s, conduct, True, empty_groups_count, block_lasts)
    last = s.length - 1
    stores: dict[tuple[int, int], DelayedEffect] = {}
    effects: list[DelayedEffect] = []
    for name in delayed_effects(conduct, s.first):
        kind, stream, _ = name
        if kind == "store":
            for step in range(s.length):
                stores[step, stream] = DelayedEffect(steps, name, step)
        else:
            effects.append(DelayedEffect(steps, name, 0, stores))
    overtaken = any_of(
        [And(steps.runs(0, effect.stream), overtakes_in_memory(effect, last)) for effect in effects]
    )
    earlier = tuple(Not(axioms.memory_hazard(0, k)) for k in range(1, last))
    hazard = axioms.memory_hazard(0, last)
    return ModelFormulas(wellformed(s), earlier, hazard, overtaken, axioms, (*stores.values(), *effects))


def memory_readings(readings: Readings) -> Readings:
    """The settings that the formulas about shared memory depend on."""
    bearing = ordering().bearing(readings, registers=False)
    return {name: setting for name, setting in bearing.items() if name not in _OPEN}


class ModelQuestions:
    """The SMT-LIB texts about programs of at most `length` steps; readings that do not differ share one."""

    def __init__(self, length: int) -> None:
        self.program = cache(partial(SymbolicProgram, length))  # by the kind of its first step
        self._texts: dict[tuple[object, ...], str] = {}

    def text(self, subject: str, kind: type, readings: Readings) -> str:
        """Is there a program that tells the models apart, whose first step is of a kind?"""
        registers = subject == "registers"
        settings = ordering().bearing(readings) if registers else memory_readings(readings)
        key = subject, kind, *sorted(settings.items())
        if key not in self._texts:
            formulas = register_formulas if registers else memory_formulas
            models = formulas(self.program(kind), settings)
            self._texts[key] = refuting(models.premise, models.hazard != models.overtaken)
        return self._texts[key]


def ordering_obligations(
    name: str,
    readings: Readings,
    length: int = LENGTH,
    about: Sequence[str] = tuple(FIRST_STEPS),
    questions: ModelQuestions | None = None,
) -> Iterator[Obligation]:
    """The models agree on every program of at most `length` steps: one question for each kind of first step.

    `questions` (of this length) holds what was made for other readings.
    """
    shared = questions or ModelQuestions(length)

    def explain(kind: type, model: Model) -> str:
        return f"the models disagree about: {shared.program(kind).program(model)}"

    for subject in about:
        for kind in FIRST_STEPS[subject]:
            title = f"{name}, {subject}, {kind.__name__} first, {length} steps"
            yield Obligation(
                "ordering.agree", title, partial(shared.text, subject, kind, readings), partial(explain, kind)
            )
