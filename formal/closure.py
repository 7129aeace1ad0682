"""The two ordering models agree on programs of every length: the joint states of both are finitely many.

Hazards and schedules are about one register or one buffer at a time, so programs over one location are
enough; what else happens in a program is a synchronisation, or nothing. What a program without hazards means
for the steps to come is its *state*: by access, what the axioms know of it (who is synchronised with it,
fences, waits, groups since), and, by effect, what the machine can still do without it. Both are finite
once counts of groups stop at the largest wait. The states are found breadth first, each with the first
program that has it, on which both models are run with every next step. When no new state is found, the
theorem of agreement.py holds for every length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from ..spec.ordering import Readings
from .agreement import ACCESSES, SHAPES, shows, valued
from .axioms import Events
from .machine import Conduct, Standstill, standstills
from .programs import (
    OTHER,
    Buffer,
    BulkCopy,
    Commit,
    CpAsync,
    CpAsyncCommit,
    CpAsyncWait,
    CtaBarrier,
    MbarrierArrive,
    MbarrierWait,
    Mma,
    Operation,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    Step,
    Wait,
    WgmmaFence,
)
from .readings import conduct

__all__ = ["Closure", "buffer_letters", "close", "close_locations", "knowledge", "register_letters", "state"]

_MOST = 2  # groups since an mma, as far as a wait of 0 or 1 can tell


def register_letters() -> tuple[Step, ...]:
    """The steps that concern one register, r0; other registers stand for all that is not it."""
    mine: list[Operation] = [RegisterRead(0), RegisterWrite(0), WgmmaFence(), Commit(), Wait(0), Wait(1)]
    mine += [Mma(shape, 0, Buffer(0), 0) for shape in SHAPES]
    mine += [Mma(SHAPES[0], 0, Buffer(0), 0, scale_d=False), Mma(SHAPES[0], 1, Register(0), 0)]
    mine += [Mma(SHAPES[0], 2, Buffer(0), 0)]
    return tuple(map(Step, mine))


def buffer_letters() -> tuple[Step, ...]:
    """The steps that concern one buffer, s0, by both threads, with an mbarrier; s1 is what is not it."""
    mine: list[Operation] = [Commit(), Wait(0), Wait(1), CtaBarrier()]
    mine += [Mma(SHAPES[0], 0, Buffer(0), 0), Mma(SHAPES[0], 0, Buffer(1), 1)]
    both: list[Operation] = [SharedRead(0), SharedWrite(0), CpAsync(0), BulkCopy(0, 0)]
    both += [ProxyFence(), CpAsyncCommit(), CpAsyncWait(0)]
    both += [MbarrierArrive(0), MbarrierWait(0)]
    return (*map(Step, (*mine, *both)), *(Step(operation, OTHER) for operation in both))


def state(program: Program, readings: Readings, machine: Conduct) -> Hashable:
    """What both models know of a program for the steps to come."""
    events = Events(program, readings)
    known = frozenset(
        knowledge(events, i, len(events.acts))
        for i, act in enumerate(events.acts)
        if isinstance(act, ACCESSES)
    )
    left = frozenset(_left(still, events, machine) for still in standstills(program, machine))
    return known, left, _loose(events.acts)


def _loose(acts: Sequence[Operation]) -> bool:
    """Whether an mma is not committed."""
    last = max((k for k, act in enumerate(acts) if isinstance(act, Mma)), default=None)
    return last is not None and not any(isinstance(act, Commit) for act in acts[last:])


def _reach(events: Events, i: int, one: bool = False) -> Hashable:
    reach = events.reach(i, one)
    return events.threads[i], reach.threads, reach.barriers


def knowledge(events: Events, i: int, end: int) -> Hashable:
    """All that the axioms know of a step before step `end`: what they can tell of it to a later one."""
    act = events.acts[i]
    ends = events.ends(i, end) if isinstance(act, Mma | CpAsync | BulkCopy) else []
    waits = frozenset(_reach(events, k, one=isinstance(act, BulkCopy)) for k in ends)
    groups: Hashable = None
    if isinstance(act, Mma) and not ends:
        groups = min(_MOST, events.groups(i, end)), _loose(events.acts)
    elif isinstance(act, CpAsync) and not ends:
        groups = min(1, events.commits(i, end))
    what = (
        (type(act), act.shape, act.d, act.a, act.b) if isinstance(act, Mma) else (type(act), *_operands(act))
    )
    landing: Hashable = None
    if isinstance(act, SharedWrite | CpAsync):
        landing = frozenset(
            (k == i, frozenset(_crossings(events, k, end)), _reach(events, k))
            for k in range(i, end)
            if events.overlays(i, k)
        )
    return what, events.threads[i], events.fenced(i, end), groups, _reach(events, i), waits, landing


def _operands(act: Operation) -> tuple[int, ...]:
    if isinstance(act, BulkCopy):
        return act.buffer, act.barrier
    if isinstance(act, RegisterRead | RegisterWrite):
        return (act.register,)
    return ()


def _crossings(events: Events, i: int, end: int) -> list[Hashable]:
    """The proxy fences behind what a step stored."""
    act = events.acts[i]
    starts = [i] if isinstance(act, SharedWrite) else events.ends(i, end)
    found: list[Hashable] = [("waited", bool(starts)), *(("from", _reach(events, start)) for start in starts)]
    for start in starts:
        for fence in range(start, end):
            if isinstance(events.acts[fence], ProxyFence):
                own = events.threads[start] == events.threads[fence]
                found.append((own, events.apart(start, fence), _reach(events, fence)))
    if not starts:
        found.append(min(1, events.commits(i, end)))
    return found


def _left(still: Standstill, events: Events, machine: Conduct) -> Hashable:
    """What the machine's standstill without an effect means for steps to come."""
    kind, first, second = still.effect
    acts = events.acts
    effect: Hashable = still.effect
    if kind in ("flight", "stream"):
        act = acts[second]
        effect = (
            kind,
            first,
            (act.shape, act.d, act.a, act.b) if isinstance(act, Mma) else (type(act), *_operands(act)),
        )
    undone = {step for stuck in still.stuck for step in stuck} | {step for _, step in still.flights}
    withheld = frozenset(
        act.barrier
        for step, act in enumerate(acts)
        if step in undone and isinstance(act, MbarrierArrive | BulkCopy)
    )
    groups = []
    for stream, stuck in enumerate(still.stuck):
        mine = {*stuck, *(step for who, step in still.flights if who == stream)}
        groups.append((bool(stuck), _since(mine, events, Mma), _since(mine, events, CpAsync)))
    landing = tuple((half, tuple(dict.fromkeys(reversed(queue)))) for half, queue in still.landing)
    return effect, withheld, tuple(groups), landing


def _since(undone: set[int], events: Events, kind: type) -> Hashable:
    """The groups committed since the oldest operation of a kind that is left undone; -1 for none."""
    oldest = min((step for step in undone if isinstance(events.acts[step], kind)), default=None)
    if oldest is None:
        return -1
    if kind is Mma:
        return min(_MOST, events.groups(oldest, len(events.acts)))
    return min(1, events.commits(oldest, len(events.acts)))


@dataclass
class Closure:
    """What was found: states by length, steps tried, closed hazards by rule, disagreements, and whether
    the last length brought no new state."""

    states: list[int] = field(default_factory=list)
    tried: int = 0
    hazards: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    closed: bool = False


def close(
    letters: Sequence[Step],
    start: Program,
    location: Register | Buffer,
    readings: Readings,
    accesses: int,
    bound: int | None = None,
) -> Closure:
    """Find every state of programs with at most so many accesses of the location before the last step."""
    machine = conduct(readings)
    found = Closure()
    known = {state(start, readings, machine)}
    level = [start.steps]
    while level and (bound is None or len(found.states) < bound):
        found.states.append(len(level))
        following = []
        for steps in level:
            for letter in letters:
                program = Program((*steps, letter))
                hazards = valued(tuple(Events(program, readings).closed_by(len(steps))))
                found.tried += 1
                found.hazards.update({hazard.rule for hazard in hazards})
                if bool(hazards) != shows(program, machine, hazards):
                    found.faults.append(str(program))
                if hazards or sum(_touches(step.operation, location) for step in program.steps) > accesses:
                    continue
                reached = state(program, readings, machine)
                if reached not in known:
                    known.add(reached)
                    following.append(program.steps)
        level = following
    found.closed = not level
    return found


def close_locations(readings: Readings, bound: int | None) -> dict[str, Closure]:
    """The states of a register, with one access before the last, and of a buffer, with two."""
    register = close(register_letters(), Program.of(), Register(0), readings, 1, bound)
    start = Program.of(WgmmaFence())
    return {"register": register, "buffer": close(buffer_letters(), start, Buffer(0), readings, 2, bound)}


def _touches(act: Operation, location: Register | Buffer) -> bool:
    """Whether an operation accesses a register or a buffer."""
    if isinstance(act, Mma):
        if isinstance(location, Register):
            return location in (Register(act.d), act.a)
        return location.number in act.buffers
    if isinstance(location, Register):
        return isinstance(act, RegisterRead | RegisterWrite) and act.register == location.number
    return isinstance(act, SharedRead | SharedWrite | CpAsync | BulkCopy) and act.buffer == location.number
