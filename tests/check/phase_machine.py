"""A machine for barriers with phases, which tries every schedule: what the checker's execution is held against.

It knows mbarriers as PTX describes them (a phase, the arrivals and bytes that it lacks), copies and products
that take effect some time after they begin, and values. It has no clock, and no rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Answer", "Op", "PhaseProgram", "answer", "as_ptx"]

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in)
.reqntid 192, 1, 1
{
.reg .f32 %f<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .reg .b32 %r<16>;
ld.param.u64 %d3,[in];
mov.u32 %r1,%tid.x; mov.u32 %r2,smem;
mov.f32 %f0,0f00000000; mov.f32 %f1,0f00000000; mov.f32 %f2,0f00000000; mov.f32 %f3,0f00000000;
setp.eq.u32 %p0,%r1,0; setp.eq.u32 %p1,%r1,128; setp.eq.u32 %p2,%r1,160; setp.lt.u32 %p3,%r1,128;
"""
STAGE, BARRIERS = 16384, 65536  # bytes of a stage; where the mbarriers are


class Op(NamedTuple):
    """One operation: `copy` (a stage, an mbarrier), `arrive`, `await` (an mbarrier, a parity), and of the
    warpgroup `multiply` (a stage) and `wait`.
    """

    kind: str
    first: int = 0
    second: int = 0


@dataclass(frozen=True)
class PhaseProgram:
    """The counts of mbarriers, and the operations of the warpgroup and of two other threads."""

    counts: tuple[int, ...]
    threads: tuple[tuple[Op, ...], ...]


class _State(NamedTuple):
    places: tuple[int, ...]
    barriers: tuple[tuple[int, int, int], ...]  # phase, arrivals that it lacks, copies that it lacks
    flights: frozenset[tuple[int, int]]  # thread, place
    memory: tuple[tuple[int, int], ...]  # by stage: thread and place of what wrote it
    observed: frozenset[tuple[int, tuple[int, int]]]


@dataclass
class Answer:
    """What all schedules show. defined: each comes to the end, with one result, and no phase has too many arrivals.
    orderly: each arrival and copy is in the same phase in all of them. results: how many those have that come to
    the end.
    """

    defined: bool = True
    orderly: bool = True
    results: int = 0


def answer(program: PhaseProgram) -> Answer:
    """Try every schedule."""
    found = Answer()
    stages = 1 + max(op.first for ops in program.threads for op in ops)
    start = _State(
        tuple(0 for _ in program.threads),
        tuple((0, count, 0) for count in program.counts),
        frozenset(),
        tuple((-1, -1) for _ in range(stages)),
        frozenset(),
    )
    seen = {start}
    waiting = [start]
    results: set[tuple[object, ...]] = set()
    phases: dict[tuple[int, int], int] = {}
    while waiting:
        state = waiting.pop()
        for thread, place in enumerate(state.places):
            op = program.threads[thread][place] if place < len(program.threads[thread]) else Op("end")
            if op.kind in ("arrive", "copy"):
                number = op.first if op.kind == "arrive" else op.second
                phase = state.barriers[number][0]
                found.orderly &= phases.setdefault((thread, place), phase) == phase
        following = list(_moves(program, state))
        if not following:
            ended = all(p == len(ops) for p, ops in zip(state.places, program.threads, strict=True))
            results.add((state.memory, state.observed) if ended else ("stuck", state.places))
            found.defined &= ended and len(results) == 1
            found.results = sum(result[0] != "stuck" for result in results)
        for after in following:
            if after is None:
                found.defined = False
            elif after not in seen:
                seen.add(after)
                waiting.append(after)
    return found


def _moves(program: PhaseProgram, state: _State) -> Iterator[_State | None]:
    """The states that can come next; None where a phase has an arrival too many."""
    for thread, place in state.flights:
        op = program.threads[thread][place]
        left = state._replace(flights=state.flights - {(thread, place)})
        if op.kind == "multiply":
            yield left._replace(observed=state.observed | {(place, state.memory[op.first])})
        else:
            memory = _put(state.memory, op.first, (thread, place))
            phase, arrivals, copies = state.barriers[op.second]
            barriers = _put(state.barriers, op.second, (phase, arrivals, copies - 1))
            yield _completed(program, left._replace(memory=memory, barriers=barriers), op.second)
    for thread, place in enumerate(state.places):
        if place < len(program.threads[thread]):
            op = program.threads[thread][place]
            if op.kind == "await" and state.barriers[op.first][0] % 2 == op.second:
                continue
            if op.kind == "wait" and any(flying == thread for flying, _ in state.flights):
                continue
            yield _issued(program, state._replace(places=_put(state.places, thread, place + 1)), thread, op)


def _issued(program: PhaseProgram, state: _State, thread: int, op: Op) -> _State | None:
    place = state.places[thread] - 1
    if op.kind in ("multiply", "copy"):
        state = state._replace(flights=state.flights | {(thread, place)})
    if op.kind in ("arrive", "copy"):
        number = op.first if op.kind == "arrive" else op.second
        phase, arrivals, copies = state.barriers[number]
        if not arrivals:
            return None
        barrier = phase, arrivals - 1, copies + (op.kind == "copy")
        return _completed(program, state._replace(barriers=_put(state.barriers, number, barrier)), number)
    return state


def _completed(program: PhaseProgram, state: _State, number: int) -> _State:
    """The next phase begins when this one lacks nothing."""
    phase, arrivals, copies = state.barriers[number]
    if arrivals or copies:
        return state
    return state._replace(barriers=_put(state.barriers, number, (phase + 1, program.counts[number], 0)))


def _put(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:place], value, *values[place + 1 :])


def as_ptx(program: PhaseProgram) -> str:
    """The program as a kernel: the warpgroup is threads 0 to 127, the others are 128 and 160."""
    lines = [HEAD, "@!%p0 bra NI;"]
    for number, count in enumerate(program.counts):
        lines.append(f"mbarrier.init.shared::cta.b64 [smem+{BARRIERS + 8 * number}],{count};")
    lines += ["NI:", "bar.sync 0;", "@%p3 bra T0;", "@%p1 bra T1;", "@%p2 bra T2;", "bra DONE;"]
    for thread, ops in enumerate(program.threads):
        lines += [f"T{thread}:"]
        for place, op in enumerate(ops):
            lines += _statements(thread, place, op)
        lines += ["bra DONE;"]
    return "\n".join([*lines, "DONE:", "ret;", "}"]) + "\n"


def _statements(thread: int, place: int, op: Op) -> Iterator[str]:
    at = f"[smem+{BARRIERS + 8 * (op.second if op.kind == 'copy' else op.first)}]"
    match op.kind:
        case "copy":
            yield f"mbarrier.arrive.expect_tx.shared::cta.b64 _,{at},9216;"
            copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            yield f"{copy} [smem+{STAGE * op.first}],[%d3],9216,{at};"
        case "arrive":
            if not thread:
                yield "bar.sync 1,128;"
            yield f"{'' if thread else '@%p0 '}mbarrier.arrive.shared::cta.b64 _,{at};"
        case "await":
            yield f"W{thread}_{place}:"
            yield f"mbarrier.try_wait.parity.shared::cta.b64 %p5,{at},{op.second};"
            yield f"@!%p5 bra W{thread}_{place};"
        case "multiply":
            for register, low in (("%d0", 0), ("%d1", 8192)):
                yield f"add.u32 %r3,%r2,{STAGE * op.first + low}; shr.u32 %r4,%r3,4; and.b32 %r4,%r4,16383;"
                yield f"cvt.u64.u32 {register},%r4; or.b64 {register},{register},0x4000004000010000;"
            yield "wgmma.fence.sync.aligned;"
            shape = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
            yield f"{shape} {{%f0,%f1,%f2,%f3}},%d0,%d1,1,1,1,0,0;"
            yield "wgmma.commit_group.sync.aligned;"
        case "wait":
            yield "wgmma.wait_group.sync.aligned 0;"
