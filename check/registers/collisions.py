"""Findings about the order of register accesses: collisions, judged by their witness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...spec.ordering import ordering
from ..findings import ERROR, EVERYWHERE, INFO, LIKELY, Finding, Moment
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.source import Function, PtxModule
from ..readings import LETTER
from .register_dataflow import (
    Collision,
    Copy,
    Done,
    Fact,
    InFlight,
    Redundant,
    RegisterAnalysis,
    Touched,
    Unfenced,
)
from .register_events import CallEvent, CommitEvent, Event, Fence, FunctionEvents, MmaEvent, WaitEvent

if TYPE_CHECKING:
    from .register_paths import Confirmed, RegisterPaths
    from .witness import Judgement, Path

__all__ = ["order_findings"]

_SHOWN = 12


def order_findings(
    module: PtxModule, function: Function, flow: Flow, events: FunctionEvents
) -> Iterator[Finding]:
    """Findings about the fences, groups and waits around a function's wgmmas."""
    if not events.mmas:
        return
    pending = RegisterAnalysis(flow, events)
    paths: RegisterPaths | None = None
    grouped: dict[tuple[object, ...], Finding] = {}
    sure: dict[tuple[object, ...], Finding] = {}  # by place: other registers of it go the same way
    more: dict[tuple[object, ...], int] = {}
    for collision in pending.collisions():
        if isinstance(collision, Redundant):
            if function.kind == "func":
                continue  # it may be for what its caller has pending
            yield _redundant(module, function, collision)
            continue
        key: tuple[object, ...] = (
            collision.what,
            (type(collision.fact), _is_moved(collision.fact)),
            flow.block_of(collision.trail.origin or 0),
            flow.block_of(collision.statement),
        )
        if key in grouped:
            more[key] += 1
            continue
        site = (*_sort_of(collision.fact), events.code.operation(collision.statement).does, *key[2:])
        if site in sure:
            grouped[key], more[key] = sure[site], 1
            continue
        if paths is None:
            # most functions have nothing to confirm
            from .register_paths import RegisterPaths
            from .witness import judge_program, program_of

            paths = RegisterPaths(flow, events, pending)
        confirmed = paths.confirm(collision)
        if confirmed is None:
            continue
        collision, path = confirmed.collision, confirmed.path
        program, places = program_of(path, collision)
        judgement = judge_program(program)
        if judgement is None:
            continue
        finding = _finding(module, events.code, confirmed, judgement, places)
        wide: tuple[object, ...] = (
            finding.rule,
            finding.tier,
            finding.readings,
            type(collision.fact),
            *key[2:],
        )
        if confirmed.certain:
            sure[site] = grouped.get(wide, finding)
        known = grouped.get(wide)
        if known is None:
            grouped[wide] = finding
            more[wide] = 0
        else:
            more[wide] += 1
        grouped[key] = grouped[wide]
        more.setdefault(key, 0)
    shown: dict[int, list[tuple[object, ...]]] = {}
    for key, finding in grouped.items():
        shown.setdefault(id(finding), []).append(key)
    for keys in shown.values():
        finding = grouped[keys[0]]
        total = sum(more[key] for key in keys)
        yield replace(finding, more=total)


def _is_moved(fact: Fact) -> bool:
    """Whether it is a move that may be harmless; it hides no access that is not."""
    return isinstance(fact, Touched) and fact.how.startswith("moved")


def _sort_of(fact: Fact) -> tuple[object, ...]:
    """What makes two facts about different registers alike: all but the registers and the groups."""
    match fact:
        case InFlight() | Done():
            return type(fact), fact.role, fact.shape
        case Touched():
            return type(fact), fact.how
    return (type(fact),)


def _redundant(module: PtxModule, function: Function, found: Redundant) -> Finding:
    statement = function.statements[found.statement]
    if found.what == "fence":
        message = (
            "this wgmma.fence orders nothing: no access of a register of a wgmma precedes it on any path"
        )
    else:
        message = "this wgmma.wait_group waits for nothing: no group is pending that it covers"
    return Finding(
        f"redundant-{found.what}", INFO, module.place(statement.offset), function.name, message, "9.7.15.7"
    )


def _finding(
    module: PtxModule,
    code: DecodedFunction,
    confirmed: Confirmed,
    judgement: Judgement,
    places: tuple[int, ...],
) -> Finding:
    function, collision, path = code.function, confirmed.collision, confirmed.path
    rule = ordering().rules[judgement.rule]
    tier, readings = ERROR, judgement.readings
    message = rule.title
    statement = function.statements[collision.statement]
    if _is_moved(collision.fact):
        readings = LETTER
        message += (
            "; the access is a plain move that may as well stand before the fence: it is harmless where the "
            "assembler moves or coalesces it"
        )
    elif isinstance(collision.fact, Copy) and isinstance(path.events[-1], WaitEvent):
        copied = collision.fact.register
        used = any(copied in one.reads for one in code)
        readings = judgement.readings if used else LETTER
        message += (
            f"; it is copied to {copied.partition('@')[0]} before this wait, and "
            f"{'the copy is read behind it' if used else 'nothing reads the copy'}"
        )
        if not (used and collision.fact.apart):
            message += (
                ": undefined by the letter, and harmless where the assembler coalesces the move, so that no "
                "copy is made"
            )
    elif collision.unknown:
        tier = LIKELY
        message += f"; the instruction {statement.opcode} is not known, and may write what it names"
    if not confirmed.certain:
        tier = LIKELY
        message += "; whether the path to it can happen is not known"
    called = [event.name for event in path.events if isinstance(event, CallEvent)]
    if called:
        tier = LIKELY
        message += f"; it calls {called[0]}, whose body the file does not hold, and which may wait or fence"
    if isinstance(collision.fact, Unfenced) and function.kind == "func":
        tier = LIKELY
        message += "; nothing in the file calls this function, and its caller may have fenced"
    witness = tuple(_moments(module, function, path, collision, places))
    return Finding(
        judgement.rule,
        tier,
        module.place(statement.offset),
        function.name,
        message,
        rule.section,
        rule.mend,
        witness,
        judgement.schedules if tier == ERROR and readings == EVERYWHERE else (),
        readings=readings,
    )


def _moments(
    module: PtxModule, function: Function, path: Path, collision: Collision, places: tuple[int, ...]
) -> Iterator[Moment]:
    wanted = [event for event in path.events if event.statement in set(places)]
    if len(wanted) > _SHOWN:
        wanted = [*wanted[: _SHOWN // 2], *wanted[-_SHOWN // 2 :]]
    for event in wanted:
        statement = function.statements[event.statement]
        yield Moment.of(module, statement, _says(event, collision, event is path.events[-1]))


def _says(event: Event, collision: Collision, last: bool) -> str:
    match event:
        case CallEvent():
            return "calls a function that the file does not hold"
        case Fence():
            return "orders the register accesses before it"
        case CommitEvent():
            return "commits what is not committed yet to a group"
        case WaitEvent():
            return f"waits until at most {event.n} groups are pending"
        case MmaEvent():
            if collision.what in event.d:
                text = "accumulates into the registers in question"
            elif collision.what in event.a:
                text = "reads the registers in question as A"
            else:
                text = "another wgmma of the group"
        case _:
            verbs = [
                verb
                for verb, classes in (("reads", event.reads), ("writes", event.writes))
                if collision.what in classes
            ]
            text = f"{' and '.join(verbs) or 'uses a copy of'} the registers in question"
    return f"{text}: here they collide" if last else text
