"""Findings about stages of shared memory: overwritten while a wgmma reads them, or read too early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...formal.ordering import programs as model
from ...spec.ordering import ordering
from ..findings import ERROR, LIKELY, Finding, MemoryRange, Moment
from ..memory.shared_memory import fills_shared, stores_shared
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.flow import Flow
from ..ptx.source import PtxModule
from ..readings import undefined
from ..registers.register_events import FunctionEvents, MmaEvent
from .kernel_walks import KernelWalks
from .stage_conflicts import Overlap, overlaps
from .walk_paths import WalkPaths
from .walk_plan import WalkPlan

__all__ = ["stage_findings", "stages_are_stored", "stages_are_written"]

# By what an overlap is of one thread's walk: the waits that would have ordered the two.
_WAITS = {
    "overwritten": frozenset(("wait",)),
    "released": frozenset(("wait",)),
    "incomplete": frozenset(("copy-wait",)),
    "unlanded": frozenset(("copy-wait",)),
    "unfenced": frozenset[str](),
}
_WRITES = frozenset(("store", "update", "bulk-copy"))


def stages_are_written(code: DecodedFunction) -> bool:
    """Whether anything writes a stage; if not, no walk meets what a product reads."""
    return any(
        code.operation(index).does == "copy" or fills_shared(code[index]) or stores_shared(code[index])
        for index in code.doing("copy", *_WRITES)
    )


def stages_are_stored(code: DecodedFunction) -> bool:
    """Whether only walks know all about the stages: they follow cp.async up to any later write, and ask for a
    proxy fence between a store and a bulk copy.
    """
    if code.doing("copy"):
        return True
    statements = [code[index] for index in code.doing(*_WRITES)]
    return any(map(fills_shared, statements)) and any(
        stores_shared(statement) for statement in statements if statement.does != "bulk-copy"
    )


def stage_findings(
    module: PtxModule, code: DecodedFunction, flow: Flow, events: FunctionEvents, walked: KernelWalks
) -> Iterator[Finding]:
    """What threads overwrite or read too early on their walks."""
    mmas = {event.statement: event for event in events.all if isinstance(event, MmaEvent)}
    found: dict[tuple[str, int, int], Finding] = {}
    paths = WalkPaths(walked.plan)
    for overlap in (*overlaps(walked.long, code), *overlaps(walked.short, code)):
        if not (overlap.certain or _possible(paths, overlap)):
            continue
        first, second = flow.block_of(overlap.first), flow.block_of(overlap.second)
        finding = _finding(module, code, overlap, mmas, walked.plan)
        if finding is None:
            continue
        key = finding.rule, first, second
        if overlap.cause >= 0:
            key = finding.rule, overlap.cause, -1
        known = found.get(key)
        found[key] = finding if known is None else replace(known, more=known.more + 1)
    yield from found.values()


def _possible(paths: WalkPaths, overlap: Overlap) -> bool:
    """Whether both statements stand on a path that can happen, where one thread executes both."""
    waits = _WAITS.get(overlap.what)
    if waits is None:
        return True
    if overlap.awaited is None:
        return paths.possible(overlap.first, overlap.second, overlap.between, waits, True)
    between = (*overlap.between, *overlap.awaited)
    return paths.found(overlap.first, overlap.second, between, waits | {"await"})


def _finding(
    module: PtxModule, code: DecodedFunction, overlap: Overlap, mmas: dict[int, MmaEvent], plan: WalkPlan
) -> Finding | None:
    after = overlap.what in ("overwritten", "released")  # the wgmma comes first
    access: model.StepOperation
    if overlap.what in ("unlanded", "unfenced"):
        access = _write(code[overlap.second])
    else:
        reader = mmas.get(overlap.first if after else overlap.second)
        if reader is None:
            return None
        access = model.Mma(reader.shape, 0, model.Buffer(0), 0, reader.scale_d)
    written = overlap.second if after else overlap.first
    write = _write(code[written if overlap.writer < 0 else overlap.writer])
    between = [made for index in overlap.between if (made := _between(code[index])) is not None]
    known = ordering()
    program = _program(overlap.what, access, write, between)
    hazards = undefined(program)
    if not hazards:
        return None
    name, readings = next(iter(hazards.items()))
    rule = known.rules[name]
    places = [overlap.first, *overlap.between, overlap.second]
    if overlap.writer >= 0:
        places.append(overlap.writer)
    return Finding(
        name,
        ERROR if overlap.certain else LIKELY,
        module.place(code.function.statements[overlap.second].offset),
        code.function.name,
        f"{rule.title}: {_why(overlap)}{_bytes(overlap, plan)}",
        rule.section,
        rule.mend,
        tuple(_moments(module, code, places, overlap.what == "released")),
        readings=readings,
        ranges=tuple(_ranges(module, code, overlap, plan)),
    )


def _bytes(overlap: Overlap, plan: WalkPlan) -> str:
    """The bytes that are written, and the matrix, where the walk knows both."""
    if overlap.read is None:
        return ""
    wrote, read = plan.steps.in_variable(overlap.region), plan.steps.in_variable(overlap.read)
    return f"; it writes {wrote}, the matrix is {read.span if read.base == wrote.base else read} (walked)"


def _ranges(
    module: PtxModule, code: DecodedFunction, overlap: Overlap, plan: WalkPlan
) -> Iterator[MemoryRange]:
    if overlap.read is None:
        return
    after = overlap.what == "overwritten"  # the wgmma comes first
    written, read = (overlap.second, overlap.first) if after else (overlap.first, overlap.second)
    for what, index, region in (("written", written, overlap.region), ("read", read, overlap.read)):
        found = plan.steps.in_variable(region)
        place = module.place(code.function.statements[index].offset)
        yield MemoryRange(what, found.variable, found.low, found.high - 1, place, "a walk with numbers")


def _program(
    what: str, read: model.StepOperation, write: model.StepOperation, between: list[model.StepOperation]
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


def _write(statement: DecodedStatement) -> model.StepOperation:
    if fills_shared(statement):
        return model.BulkCopy(0, 0)
    return model.CpAsync(0) if statement.does == "copy" else model.SharedWrite(0)


def _between(statement: DecodedStatement) -> model.StepOperation | None:
    n = statement.left
    match statement.does:
        case "commit":
            return model.Commit()
        case "wait":
            return model.Wait(n)
        case "copy-commit":
            return model.CpAsyncCommit()
        case "copy-wait" if statement.pending is not None:
            return model.CpAsyncWait(n)
    return None


def _moments(module: PtxModule, code: DecodedFunction, places: list[int], released: bool) -> Iterator[Moment]:
    for index in places if len(places) <= 12 else [*places[:6], *places[-6:]]:
        yield Moment.of(module, code.function.statements[index], _says(code[index], released))


def _says(statement: DecodedStatement, released: bool) -> str:
    match statement.does:
        case "multiply":
            return "reads the stage"
        case "arrive" | "copy-arrive":
            return "lets another thread fill the stage again" if released else "arrives behind the write"
        case "commit" | "copy-commit" | "bulk-commit":
            return "commits to a group"
        case "wait" | "copy-wait" | "bulk-wait" if statement.pending is not None:
            return f"waits until at most {statement.pending} groups are pending"
    return "writes the stage"
