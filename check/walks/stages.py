"""Findings about stages of shared memory: overwritten while a wgmma reads them, or read too early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...formal.ordering import programs as model
from ...formal.ordering.axioms import closing
from ...spec.ordering import ordering
from ..findings import LIKELY, Finding, Moment
from ..memory.shared_memory import COPY, INTO_SHARED
from ..ptx.flow import Flow
from ..ptx.source import Function, PtxModule, PtxStatement
from ..ptx.uses import Uses
from ..registers.register_events import FunctionEvents, MmaEvent
from .stage_conflicts import Overlap, overlaps
from .thread_walk import short_walks, walks
from .walk_plan import WalkPlan

__all__ = ["stage_findings"]


def stage_findings(
    module: PtxModule, function: Function, flow: Flow, uses: Uses, events: FunctionEvents
) -> Iterator[Finding]:
    """What threads overwrite or read too early on their walks."""
    mmas = {event.statement: event for event in events.all if isinstance(event, MmaEvent)}
    found: dict[tuple[str, int, int], Finding] = {}
    plan = WalkPlan(module, function, flow, uses)
    long = walks(plan)
    short = short_walks(plan, long)
    for overlap in (*overlaps(long), *overlaps(short)):
        first, second = flow.block_of(overlap.first), flow.block_of(overlap.second)
        finding = _finding(module, function, overlap, mmas)
        if finding is None:
            continue
        key = finding.rule, first, second
        known = found.get(key)
        found[key] = finding if known is None else replace(known, more=known.more + 1)
    yield from found.values()


def _finding(
    module: PtxModule, function: Function, overlap: Overlap, mmas: dict[int, MmaEvent]
) -> Finding | None:
    statements = function.statements
    after = overlap.what in ("overwritten", "released")  # the wgmma comes first
    access: model.Operation
    if overlap.what in ("unlanded", "unfenced"):
        access = _write(statements[overlap.second])
    else:
        reader = mmas.get(overlap.first if after else overlap.second)
        if reader is None:
            return None
        access = model.Mma(reader.shape, 0, model.Buffer(0), 0, reader.scale_d)
    written = overlap.second if after else overlap.first
    write = _write(statements[written if overlap.writer < 0 else overlap.writer])
    between = [made for index in overlap.between if (made := _between(statements[index])) is not None]
    known = ordering()
    program = _program(overlap.what, access, write, between)
    hazards = closing(program, known.default) or closing(program, known.strict)
    if not hazards:
        return None
    rule = known.rules[hazards[0].rule]
    places = [overlap.first, *overlap.between, overlap.second]
    if overlap.writer >= 0:
        places.append(overlap.writer)
    return Finding(
        hazards[0].rule,
        LIKELY,
        module.place(statements[overlap.second].offset),
        function.name,
        f"{rule.title}: {_why(overlap)}",
        rule.section,
        rule.mend,
        tuple(_moments(module, function, places)),
    )


def _program(
    what: str, read: model.Operation, write: model.Operation, between: list[model.Operation]
) -> model.Program:
    """The two accesses, and what is between them, as a program of the models."""
    fence = model.WgmmaFence()
    if what == "overwritten":
        return model.Program.of(fence, read, *between, write)
    if what == "incomplete":
        return model.Program.of(write, *between, model.ProxyFence(), model.CtaBarrier(), fence, read)
    if what in ("unlanded", "unfenced"):
        return model.Program.of(write, *between, model.CtaBarrier(), read)
    other = model.Step(write, model.OTHER)
    if what == "unawaited":
        return model.Program.of(fence, other, read)
    if what == "unproxied":
        arrives = model.Step(model.MbarrierArrive(1), model.OTHER)
        stored = model.Step(model.SharedWrite(0), model.OTHER)
        return model.Program.of(stored, arrives, model.MbarrierWait(1), fence, read)
    awaits = model.Step(model.MbarrierWait(1), model.OTHER)
    return model.Program.of(fence, read, *between, model.MbarrierArrive(1), awaits, other)


def _why(overlap: Overlap) -> str:
    if overlap.waited:
        return "this warp has waited for it, but no barrier followed for the others"
    return _REASONS[overlap.what]


_REASONS = {
    "overwritten": "no wait on the path covers it",
    "released": "this arrival lets another thread fill the stage, and no wait on the path covers it",
    "incomplete": "no wait on the path covers the copy",
    "unlanded": "no wait on the path covers the copy, which may arrive later",
    "unproxied": "another thread writes it and arrives, and neither of the two executes one",
    "unfenced": "no fence.proxy.async stands between on the path",
    "unawaited": "no wait on a barrier that tells of it stands before on the path",
}


def _write(statement: PtxStatement) -> model.Operation:
    if INTO_SHARED.search(statement.opcode) and "bulk" in statement.opcode:
        return model.BulkCopy(0, 0)
    return model.CpAsync(0) if COPY.match(statement.opcode) else model.SharedWrite(0)


def _between(statement: PtxStatement) -> model.Operation | None:
    opcode = statement.opcode
    last = statement.operands.split()[-1:]
    n = int(last[0], 0) if last and last[0].isalnum() and last[0][0].isdigit() else 0
    if opcode.startswith("wgmma.commit_group"):
        return model.Commit()
    if opcode.startswith("wgmma.wait_group"):
        return model.Wait(n)
    if opcode.startswith("cp.async.commit_group"):
        return model.CpAsyncCommit()
    if opcode.startswith("cp.async.wait_group"):
        return model.CpAsyncWait(n)
    return None


def _moments(module: PtxModule, function: Function, places: list[int]) -> Iterator[Moment]:
    for index in places if len(places) <= 12 else [*places[:6], *places[-6:]]:
        statement = function.statements[index]
        yield Moment(module.place(statement.offset), statement.opcode, _says(statement))


def _says(statement: PtxStatement) -> str:
    opcode = statement.opcode
    if opcode.startswith("wgmma.mma_async"):
        return "reads the stage"
    if "arrive" in opcode:
        return "lets another thread fill the stage again"
    if "commit_group" in opcode:
        return "commits to a group"
    if "wait_group" in opcode:
        return f"waits until at most {statement.operands} groups are pending"
    return "writes the stage"
