"""The theorem about shared memory in stages, so that a solver can be asked about long programs.

While one effect is held back, a stream is stuck from where it waits for that effect, or for a stream that is
stuck. A stage says of one effect and one step, in the axioms' words, which streams are stuck behind the step:
those that have come to an *origin*, a step that waits for the effect itself, and those that know of one. It
assumes what the stages of earlier steps claim. The last stages, one for each kind of the first step, claim
that the models agree, and assume what is claimed of every step. A stage has all premises of those that it
assumes; so if none can be refuted, every claim holds of every program, by induction on the step, the theorem
among them. And if the models disagree about some program, either its last stage is refuted, or something that
it assumes is false of the program; then the first such claim's stage is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import z3

from ...spec.ordering import Readings
from ..smt.obligations import Model, Obligation, refuting
from .programs import BulkCopy, CpAsync, Mma, ProxyFence, SharedRead, SharedWrite
from .readings import conduct
from .symbolic import (
    FIRST,
    OTHERS,
    STREAMS,
    THREAD,
    WARP,
    Machine,
    Symbols,
    Verdicts,
    held_back,
    settled,
    shared_memory,
)

__all__ = ["ProofStage", "Stages", "staged_obligations"]

_Effect = tuple[str, int, int]
_Origins = Sequence[z3.BoolRef]  # by stream
_WHOSE = ("the warp", "the other warps", "the other thread")
_NO, _YES = z3.BoolVal(False), z3.BoolVal(True)
# The kinds of step whose effect on shared memory this is.
_OF: dict[str, tuple[type, ...]] = {
    "issue": (SharedRead, SharedWrite),
    "store": (SharedWrite, CpAsync),
    "landing": (SharedWrite, CpAsync),
    "flight": (CpAsync, BulkCopy, Mma),
}


@dataclass(frozen=True)
class ProofStage:
    """What is claimed of every program that meets the premises, and what other stages claim of it."""

    premises: tuple[z3.BoolRef, ...]
    assumed: tuple[z3.BoolRef, ...]
    claimed: tuple[z3.BoolRef, ...]

    def text(self) -> str:
        """SMT-LIB text that refutes the stage."""
        return refuting(z3.And(*self.premises, *self.assumed, z3.Not(z3.And(*self.claimed))))


class Stages:
    """The stages for programs of at most so many steps; formulas are made when first asked for."""

    def __init__(self, readings: Readings, length: int) -> None:
        self.length = length
        self.symbols = Symbols(length)
        self.readings = readings
        self.effects = held_back(conduct(readings))
        self._claims: dict[tuple[_Effect, int], tuple[z3.BoolRef, ...]] = {}
        self._begun: dict[tuple[Machine, int], _Origins] = {}

    @cached_property
    def _verdicts(self) -> Verdicts:
        return shared_memory(self.symbols, settled(self.readings))

    def last(self, kind: type) -> ProofStage:
        """The models agree where the first step is of a kind."""
        verdicts = self._verdicts
        effects = [effect for effect in self.effects if effect[0] != "store" and kind in _OF[effect[0]]]
        assumed = [
            claim for k in range(1, self.length) for effect in effects for claim in self._claim(effect, k)
        ]
        premises = verdicts.wellformed, *verdicts.before, self.symbols.is_a(0, kind)
        return ProofStage(premises, tuple(assumed), (verdicts.hazard == verdicts.swapped,))

    def step(self, effect: _Effect, k: int) -> ProofStage:
        """Which streams are stuck behind step k while an effect is held back."""
        fenced = effect[0] == "landing"  # a fence may wait for what another stored
        used = [one for one in self.effects if one == effect or (fenced and one[0] == "store")]
        assumed = [claim for before in range(1, k) for one in used for claim in self._claim(one, before)]
        premises = self._verdicts.wellformed, *self._verdicts.before[: k - 1]
        return ProofStage(premises, tuple(assumed), self._claim(effect, k))

    def _claim(self, effect: _Effect, k: int) -> tuple[z3.BoolRef, ...]:
        if (effect, k) not in self._claims:
            held = [
                machine
                for machine in self._verdicts.machines
                if (machine.effect, machine.stream, machine.half) == effect and machine.step <= k
            ]
            self._claims[effect, k] = tuple(claim for machine in held for claim in self._stuck(machine, k))
        return self._claims[effect, k]

    def _stuck(self, machine: Machine, k: int) -> list[z3.BoolRef]:
        """By stream: it is stuck behind step k exactly if it waits for the effect, or knows of one that does.

        What an elected thread signals tells of its own warp's part of an origin only.
        """
        found = list(self._origins(machine, k))
        axioms = self._verdicts.relations
        for c in range(machine.step, k):
            warp, others, thread = self._origins(machine, c)
            knows, one = axioms.knows[c, k], axioms.knows_one[c, k]
            found[WARP] = z3.Or(found[WARP], warp, z3.And(z3.Or(others, thread), knows[0]))
            found[OTHERS] = z3.Or(found[OTHERS], others, z3.And(warp, one[0]), z3.And(thread, knows[0]))
            found[THREAD] = z3.Or(found[THREAD], thread, z3.And(warp, one[1]), z3.And(others, knows[1]))
        about = self.symbols.is_a(machine.step, *_OF[machine.effect])
        return [z3.Implies(about, machine.stuck[stream][k] == found[stream]) for stream in STREAMS]

    def _origins(self, machine: Machine, c: int) -> _Origins:
        """By stream: at step c it waits for the effect held back itself."""
        if (machine, c) not in self._begun:
            runs = machine.common.runs(machine.step, machine.stream)
            self._begun[machine, c] = [
                z3.And(runs, self.symbols.other[c] == (stream == THREAD), self._waits(machine, c, stream))
                for stream in STREAMS
            ]
        return self._begun[machine, c]

    def _waits(self, machine: Machine, c: int, stream: int) -> z3.BoolRef:
        s, i, axioms = self.symbols, machine.step, self._verdicts.relations
        mine = stream == machine.stream
        if c == i:
            at_once = {"issue": _YES, "store": s.is_a(i, SharedWrite)}
            return at_once.get(machine.effect, _NO) if mine else _NO
        if machine.effect == "store":
            return z3.And(s.is_a(i, CpAsync), axioms.covers(c, i)) if mine else _NO
        if machine.effect == "flight":
            for_all = machine.conduct.wait_for_all and THREAD not in (stream, machine.stream)
            both = z3.And(s.is_a(i, Mma), axioms.covers(c, i)) if for_all else _NO
            copied = z3.And(s.is_a(i, BulkCopy), axioms.ends(i, c))
            return z3.Or(copied, axioms.covers(c, i) if mine else both)
        if machine.effect == "landing":
            return z3.And(s.is_a(c, ProxyFence), self._behind_store(machine, c, stream))
        return _NO

    def _behind_store(self, machine: Machine, f: int, stream: int) -> z3.BoolRef:
        """What the first step stored in a half, or what was stored over it, is stored before the fence f."""
        s, axioms = self.symbols, self._verdicts.relations
        whose = OTHERS if machine.half else WARP
        told = axioms.synced if machine.half else axioms.told_by_one
        found = []
        for k in range(f):
            for start, held in axioms.starts(k, f):
                group, thread = z3.BoolVal(stream == whose), z3.BoolVal(stream == THREAD)
                if machine.conduct.fences_for_all:
                    group, thread = z3.Or(group, told[start, f]), z3.Or(thread, axioms.synced[start, f])
                found.append(z3.And(axioms.overlays(0, k, f), held, z3.If(s.other[k], thread, group)))
        return z3.Or(*found)


def staged_obligations(name: str, readings: Readings, length: int) -> Iterator[Obligation]:
    """No program of at most so many steps has the two models disagree about shared memory: every stage."""
    stages = Stages(readings, length)

    def one(subject: str, stage: Callable[[], ProofStage], fault: str) -> Obligation:
        def explain(model: Model) -> str:
            return f"{fault}: {stages.symbols.program(model)}"

        subject = f"{name}, shared memory, {subject}, {length} steps"
        return Obligation("ordering.agree", subject, lambda: stage().text(), explain)

    for k in range(1, length):
        for effect in stages.effects:
            kind, stream, half = effect
            held = f"{kind} by {_WHOSE[stream]}, half {half}, held back to step {k}"
            yield one(held, partial(stages.step, effect, k), "others are stuck than know of it")
    for first in FIRST["shared memory"]:
        stage = partial(stages.last, first)
        yield one(f"{first.__name__} first", stage, "the models disagree about")
