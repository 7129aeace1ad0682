"""Turn a path with a collision into a program of the ordering models, and run the models on it.

The program has every fence, commit and wait of the path, and every access of the registers in question; other
wgmmas only form groups. A finding is an ERROR if its program has two results under every reading of the text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ...formal.ordering import programs as model
from ...spec.lazy_dataclass import dataclass
from ...spec.ordering import ordering
from ..findings import Undefined
from ..ptx.dataflow import trail_blocks
from ..readings import undefined
from .register_dataflow import Collision, Copy, RegisterAnalysis, Unfenced
from .register_events import AccessEvent, CommitEvent, Event, Fence, MmaEvent, WaitEvent

if TYPE_CHECKING:
    from ...formal.ordering.schedules import Schedule

__all__ = ["Judgement", "Path", "judge_program", "path_of", "program_of"]

_LONGEST = 40  # steps: the machine's search takes long beyond; the axioms judge any length


@dataclass(frozen=True)
class Path:
    """Blocks from a fact's origin to the collision, with the events on the way."""

    events: tuple[Event, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Judgement:
    """What the models say about a program: the rule of its hazard, the readings under which it has it, its
    steps, and two schedules where the program is short.
    """

    rule: str
    readings: Undefined
    steps: tuple[int, ...]
    schedules: tuple[Schedule, ...] = ()


def path_of(pending: RegisterAnalysis, collision: Collision) -> Path:
    """The path that a collision's fact took."""
    blocks = trail_blocks(pending.flow, collision.trail)
    origin = collision.trail.origin
    events: list[Event] = []
    last = len(blocks) - 1
    for position, number in enumerate(blocks):
        for event in pending.by_block[number]:
            if position == 0 and origin is not None and event.statement < origin:
                continue
            if position == last and event.statement > collision.statement:
                break
            events.append(event)
    return Path(tuple(events), tuple(blocks))


def program_of(path: Path, collision: Collision) -> tuple[model.Program, tuple[int, ...]]:
    """The program of a path, and the statement of each of its steps (−1 for none).

    Register 0 is the class in question. A guarded event counts when the path needs it: an access.
    """
    what = collision.what
    unfenced = isinstance(collision.fact, Unfenced)
    steps: list[model.StepOperation] = [] if unfenced else [model.WgmmaFence()]
    places = [-1] * len(steps)
    others: dict[tuple[int, ...], int] = {}
    last = len(path.events) - 1
    for position, event in enumerate(path.events):
        made: list[model.StepOperation] = []
        if isinstance(event, Fence) and not event.may:
            made = [model.WgmmaFence()]
        elif isinstance(event, CommitEvent):
            made = [model.Commit()]
        elif isinstance(event, WaitEvent) and not event.may:
            made = [model.Wait(event.n)]
        elif isinstance(event, MmaEvent):
            made = [_mma(event, what, others)]
        elif isinstance(event, AccessEvent):
            made = [model.RegisterRead(0)] if what in event.reads else []
            if what in event.writes:
                made.append(model.RegisterWrite(0))
        if position == last and isinstance(collision.fact, Copy):
            made = [model.RegisterRead(0)]  # a coalesced copy reads the accumulator here
        for operation in made:
            if position == last or not _repeats(operation, steps):
                steps.append(operation)
                places.append(event.statement)
    return model.Program.of(*steps), tuple(places)


def _repeats(operation: model.StepOperation, steps: list[model.StepOperation]) -> bool:
    """Whether the operation repeats an earlier one, with only accesses of the register between them."""
    if isinstance(operation, model.Commit):
        return False
    for earlier in reversed(steps):
        if earlier == operation:
            return True
        if not isinstance(operation, _ORDINARY) or not isinstance(earlier, _ORDINARY):
            return False
    return False


_ORDINARY = (model.RegisterRead, model.RegisterWrite)


def _mma(event: MmaEvent, what: int, others: dict[tuple[int, ...], int]) -> model.Mma:
    number = others.setdefault(event.d, 100 + len(others))
    if what in event.d:
        return model.Mma(event.shape, 0, model.Buffer(1), 0, event.scale_d)
    a: model.Register | model.Buffer = model.Register(0) if what in event.a else model.Buffer(1)
    return model.Mma(event.shape, number, a, 0, event.scale_d)


@lru_cache(maxsize=1 << 12)
def judge_program(program: model.Program) -> Judgement | None:
    """What the models say about the hazard that the last step completes; None when there is none."""
    from ...formal.ordering.axioms import closing
    from ...formal.ordering.schedules import differ  # run the machine only on programs with a hazard

    found = undefined(program)
    if not found:
        return None
    known = ordering()
    rule, readings = next(iter(found.items()))
    closed = {h.rule: h.steps for chosen in (known.default, known.strict) for h in closing(program, chosen)}
    schedules: tuple[Schedule, ...] = ()
    if known.rules[rule].effect == "values" and len(program) <= _LONGEST:
        schedules = differ(program) or ()
    return Judgement(rule, readings, closed.get(rule, (len(program) - 1,)), schedules)
