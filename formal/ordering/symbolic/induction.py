"""The question about shared memory in stages, so that a solver can be asked about long programs.

While one effect of the first step is delayed, streams of the machine stop one after another: a stream stops
at a step that waits for the delayed effect (an *origin*) or for a stream that has stopped. A stage is about
one effect and one step k. It claims, in the axioms' words, which streams have stopped at step k or before:
those with an origin of their own, and those that some origin comes before. It assumes what the stages of
earlier steps claim. The last stages, one for each kind of first step, assume all these claims and claim that
the models agree.

Why the stages together prove the theorem: a stage has all premises of the stages that it assumes. If no stage
can be refuted, every claim holds of every program, by induction on the step. If the models disagree about a
program, its last stage is refuted, or a claim that the last stage assumes is false of it; then the stage of
the first false claim is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from ....spec.ordering import Readings, ordering
from ...smt.obligations import Model, Obligation, refuting
from ...smt.terms import And, BoolVal, If, Implies, Not, Or, Term
from ..programs import BulkCopy, CpAsync, Mma, ProxyFence, SharedWrite
from .machine import OTHERS, STEPS_WITH, STREAMS, THREAD, WARP, DelayedEffect, EffectName
from .program import SymbolicProgram
from .questions import FIRST_STEPS, ModelFormulas, delayed_effects, memory_formulas, memory_readings

__all__ = ["ProofStage", "Stages", "staged_obligations"]

_STREAM_NAMES = ("the warp", "the other warps", "the other thread")
_NO, _YES = BoolVal(False), BoolVal(True)


@dataclass(frozen=True)
class ProofStage:
    """A claim about every program that meets the premises and of which the claims of other stages hold."""

    premises: tuple[Term, ...]
    assumed: tuple[Term, ...]
    claimed: tuple[Term, ...]

    def text(self) -> str:
        """SMT-LIB text that asks for a program which refutes the stage."""
        return refuting(And(*self.premises, *self.assumed, Not(And(*self.claimed))))


class Stages:
    """The stages for programs of at most `length` steps; formulas are made when first asked for."""

    def __init__(self, readings: Readings, length: int) -> None:
        self.length = length
        self.program = SymbolicProgram(length)
        self.readings = readings
        self.effects = delayed_effects(ordering().conduct(readings))
        self._claims: dict[tuple[EffectName, int], tuple[Term, ...]] = {}
        self._origins: dict[tuple[DelayedEffect, int], Sequence[Term]] = {}

    @cached_property
    def _models(self) -> ModelFormulas:
        return memory_formulas(self.program, memory_readings(self.readings))

    def last(self, kind: type) -> ProofStage:
        """The models agree where the first step is of a kind."""
        models = self._models
        effects = [name for name in self.effects if name[0] != "store" and kind in STEPS_WITH[name[0]]]
        assumed = [claim for k in range(1, self.length) for name in effects for claim in self._claim(name, k)]
        premises = models.wellformed, *models.no_earlier_hazard, self.program.is_a(0, kind)
        return ProofStage(premises, tuple(assumed), (models.hazard == models.overtaken,))

    def step(self, name: EffectName, k: int) -> ProofStage:
        """Which streams have stopped at step k while an effect is delayed."""
        fenced = name[0] == "landing"  # a proxy fence may wait for what another thread stored
        used = [one for one in self.effects if one == name or (fenced and one[0] == "store")]
        assumed = [claim for before in range(1, k) for one in used for claim in self._claim(one, before)]
        premises = self._models.wellformed, *self._models.no_earlier_hazard[: k - 1]
        return ProofStage(premises, tuple(assumed), self._claim(name, k))

    def _claim(self, name: EffectName, k: int) -> tuple[Term, ...]:
        if (name, k) not in self._claims:
            effects = [one for one in self._models.effects if one.name == name and one.step <= k]
            self._claims[name, k] = tuple(claim for one in effects for claim in self._stopped(one, k))
        return self._claims[name, k]

    def _stopped(self, delayed: DelayedEffect, k: int) -> list[Term]:
        """By stream: it has stopped at step k if and only if an origin is its own, or comes before step k.

        A bulk copy signals for its elected thread only. So what the warp itself did comes before step k more
        often than what all warps did.
        """
        found = list(self._origins_at(delayed, k))
        axioms = self._models.axioms
        for c in range(delayed.step, k):
            warp, others, thread = self._origins_at(delayed, c)
            reached, one_warp = axioms.reached[c, k], axioms.reached_one_warp[c, k]
            found[WARP] = Or(found[WARP], warp, And(Or(others, thread), reached[0]))
            found[OTHERS] = Or(found[OTHERS], others, And(warp, one_warp[0]), And(thread, reached[0]))
            found[THREAD] = Or(found[THREAD], thread, And(warp, one_warp[1]), And(others, reached[1]))
        has_effect = self.program.is_a(delayed.step, *STEPS_WITH[delayed.kind])
        return [Implies(has_effect, delayed.stopped[stream][k] == found[stream]) for stream in STREAMS]

    def _origins_at(self, delayed: DelayedEffect, c: int) -> Sequence[Term]:
        """By stream: it waits at step c for the delayed effect itself."""
        if (delayed, c) not in self._origins:
            runs = delayed.steps.runs(delayed.step, delayed.stream)
            in_thread = self.program.other[c]
            self._origins[delayed, c] = [
                And(runs, in_thread == (stream == THREAD), self._waits(delayed, c, stream))
                for stream in STREAMS
            ]
        return self._origins[delayed, c]

    def _waits(self, delayed: DelayedEffect, c: int, stream: int) -> Term:
        s, i, axioms = self.program, delayed.step, self._models.axioms
        own = stream == delayed.stream
        if c == i:
            at_once = {"issue": _YES, "store": s.is_a(i, SharedWrite)}
            return at_once.get(delayed.kind, _NO) if own else _NO
        if delayed.kind == "store":
            return And(s.is_a(i, CpAsync), axioms.covers(c, i)) if own else _NO
        if delayed.kind == "flight":
            for_all = delayed.conduct.wait_covers_all and THREAD not in (stream, delayed.stream)
            other_warps = And(s.is_a(i, Mma), axioms.covers(c, i)) if for_all else _NO
            copied = And(s.is_a(i, BulkCopy), axioms.waits_for(c, i))
            return Or(copied, axioms.covers(c, i) if own else other_warps)
        if delayed.kind == "landing":
            return And(s.is_a(c, ProxyFence), self._fences_store(delayed, c, stream))
        return _NO

    def _fences_store(self, delayed: DelayedEffect, f: int, stream: int) -> Term:
        """The proxy fence f waits for what the first step stored in a half, or for a store over it."""
        s, axioms = self.program, self._models.axioms
        owner = OTHERS if delayed.half else WARP
        before = axioms.synchronised if delayed.half else axioms.synchronised_one_warp
        found = []
        for k in range(f):
            for point, done in axioms.store_points(k, f):
                warpgroup, thread = BoolVal(stream == owner), BoolVal(stream == THREAD)
                if delayed.conduct.proxy_fence_covers_all:
                    warpgroup = Or(warpgroup, before[point, f])
                    thread = Or(thread, axioms.synchronised[point, f])
                stored = axioms.same_or_later_store(0, k, f)
                found.append(And(stored, done, If(s.other[k], thread, warpgroup)))
        return Or(*found)


def staged_obligations(name: str, readings: Readings, length: int) -> Iterator[Obligation]:
    """The models agree about shared memory on every program of at most `length` steps: every stage."""
    stages = Stages(readings, length)

    def obligation(subject: str, stage: Callable[[], ProofStage], fault: str) -> Obligation:
        def explain(model: Model) -> str:
            return f"{fault}: {stages.program.program(model)}"

        subject = f"{name}, shared memory, {subject}, {length} steps"
        return Obligation("ordering.agree", subject, lambda: stage().text(), explain)

    for k in range(1, length):
        for effect in stages.effects:
            kind, stream, half = effect
            subject = f"{kind} by {_STREAM_NAMES[stream]}, half {half}, held back to step {k}"
            yield obligation(
                subject, partial(stages.step, effect, k), "the axioms and the machine stop other streams"
            )
    for first in FIRST_STEPS["shared memory"]:
        stage = partial(stages.last, first)
        yield obligation(f"{first.__name__} first", stage, "the models disagree about")
