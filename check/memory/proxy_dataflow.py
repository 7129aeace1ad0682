"""The dataflow analysis of shared memory: generic writes with no proxy fence between them and a wgmma."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...spec.ordering import ordering
from ..findings import EVERYWHERE, LIKELY, Finding, Moment, Undefined
from ..ptx.dataflow import Trail, join_facts, solve_forward, trail_blocks
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.source import Function, PtxModule
from ..values.register_intervals import RegisterIntervals
from .byte_regions import ByteRegion
from .shared_memory import (
    Barrier,
    BulkCopyWrite,
    CopyCommit,
    CopyWait,
    MatrixRead,
    MemoryEvent,
    ProxyFenceStatement,
    Store,
    memory_events,
)

__all__ = ["proxy_findings"]

_MOST = 48  # regions told apart in a function; with more, those of one variable are merged
_WRITER: Undefined = ((("proxy-fence-side", "writer"),),)
COMPLETE, LOOSE = -1, -2  # otherwise: how many groups of cp.async were committed after the write's own


@dataclass(frozen=True, slots=True)
class GenericWrite:
    """A generic write. `groups` says whether it is complete, `fenced` and `synced` what followed its
    completion.

    fenced: 0 not, 1 before the threads synchronised, 2 only after.
    """

    region: ByteRegion
    groups: int = COMPLETE
    fenced: int = 0
    synced: bool = False


ProxyFacts = dict[GenericWrite, Trail]


def proxy_findings(
    module: PtxModule, code: DecodedFunction, flow: Flow, values: RegisterIntervals
) -> Iterator[Finding]:
    """Generic writes of shared memory that a wgmma may read without a fence.proxy.async or a barrier."""
    function = code.function
    events = list(memory_events(code, values))
    if not any(isinstance(e, Store) for e in events) or not any(isinstance(e, MatrixRead) for e in events):
        return
    analysis = _Analysis(flow, _merged(events))
    rules = ordering().rules
    found: dict[tuple[str, Undefined, int], Finding] = {}
    for read, fact, trail in analysis.collisions():
        rule, readings, why = _judged(fact)
        block = flow.block_of(read.statement)
        key = rule, readings, block
        if key in found:
            known = found[key]
            found[key] = replace(known, more=known.more + 1)
            continue
        statement = function.statements[read.statement]
        found[key] = Finding(
            rule,
            LIKELY,
            module.place(statement.offset),
            function.name,
            f"{rules[rule].title}: {why}",
            rules[rule].section,
            rules[rule].mend,
            tuple(analysis.moments(module, function, read, trail)),
            readings=readings,
        )
    yield from found.values()


def _judged(fact: GenericWrite) -> tuple[str, Undefined, str]:
    """The rule that a write before a wgmma breaks, the readings under which it does, and why."""
    if fact.fenced == 2:
        return (
            "proxy-fence",
            _WRITER,
            f"the fence follows the synchronisation, so that the writer of {fact.region} executed none",
        )
    if fact.fenced == 1:
        return (
            "shared-unsynchronised",
            EVERYWHERE,
            f"no barrier follows the write of {fact.region}, which the matrix may overlap",
        )
    return "proxy-fence", EVERYWHERE, f"{fact.region} is written, and the matrix may overlap it"


def _merged(events: list[MemoryEvent]) -> list[MemoryEvent]:
    """The events; if a function has very many regions, those of one variable are merged."""
    regions = {event.region for event in events if isinstance(event, Store)}
    if len(regions) <= _MOST:
        return events
    whole: dict[str | None, ByteRegion] = {}
    for region in regions:
        known = whole.get(region.base)
        whole[region.base] = (
            region
            if known is None
            else ByteRegion(region.base, min(known.low, region.low), max(known.high, region.high))
        )
    return [replace(e, region=whole[e.region.base]) if isinstance(e, Store) else e for e in events]


class _Analysis:
    """Writes that may have happened at the entry of every block, and how far they are ordered."""

    def __init__(self, flow: Flow, events: list[MemoryEvent]) -> None:
        self.flow = flow
        self.depth = max((e.n for e in events if isinstance(e, CopyWait)), default=0)
        self.copied = any(isinstance(e, BulkCopyWrite) for e in events)
        self.by_block: list[list[MemoryEvent]] = flow.by_block(events)
        start: list[ProxyFacts] = [{} for _ in flow.blocks]
        self.entry = solve_forward(flow, start, self._leave, join_facts)

    def _leave(self, number: int, entry: ProxyFacts) -> ProxyFacts:
        """The writes behind a block."""
        facts = dict(entry)
        for event in self.by_block[number]:
            facts = self._step(facts, event)
        return facts

    def _step(self, facts: ProxyFacts, event: MemoryEvent) -> ProxyFacts:
        if isinstance(event, Store):
            fact = GenericWrite(event.region, LOOSE if event.copy else COMPLETE)
            facts.setdefault(fact, Trail(True, event.statement))
            return facts
        if isinstance(event, MatrixRead) or not facts:
            return facts
        changed: ProxyFacts = {}
        for fact, trail in facts.items():
            later = self._after(fact, event)
            if later is not None:
                changed.setdefault(later, trail)
        return changed

    def _after(self, fact: GenericWrite, event: MemoryEvent) -> GenericWrite | None:
        match event:
            case BulkCopyWrite() if event.region.base is not None and fact.region.meets(event.region):
                return None  # the wgmma reads the copy there
            case CopyCommit() if fact.groups != COMPLETE:
                return replace(fact, groups=min(max(fact.groups, -1) + 1, self.depth))
            case CopyWait():
                if event.n == -1 or (fact.groups >= 0 and fact.groups >= event.n):
                    return replace(fact, groups=COMPLETE) if fact.groups != COMPLETE else fact
            case ProxyFenceStatement() if fact.groups == COMPLETE and not fact.fenced:
                return replace(fact, fenced=2 if fact.synced else 1)
            case Barrier() if fact.groups == COMPLETE:
                return None if fact.fenced == 1 else replace(fact, synced=True)
        return fact

    def _meets(self, fact: GenericWrite, matrix: ByteRegion) -> bool:
        """Whether a matrix may contain the written bytes.

        In a function that fills matrices by bulk copies, a matrix at an unknown address is taken to be filled
        by one, unless the write is as large as a matrix.
        """
        if matrix.base is None and self.copied and fact.region.base is not None:
            return fact.region.high - fact.region.low >= matrix.high - matrix.low
        return fact.region.meets(matrix)

    def collisions(self) -> Iterator[tuple[MatrixRead, GenericWrite, Trail]]:
        """Every complete write that meets a matrix, with the path."""
        for number in sorted(self.flow.order):
            facts = dict(self.entry[number])
            for event in self.by_block[number]:
                if isinstance(event, MatrixRead):
                    for fact, trail in facts.items():
                        if fact.groups == COMPLETE and any(self._meets(fact, r) for r in event.regions):
                            yield event, fact, trail
                facts = self._step(facts, event)

    def moments(
        self, module: PtxModule, function: Function, read: MatrixRead, trail: Trail
    ) -> Iterator[Moment]:
        """The path from the write to the wgmma."""
        origin = trail.origin
        assert origin is not None  # every fact is about a write
        yield self._moment(module, function, origin, "writes through the generic proxy")
        blocks = trail_blocks(self.flow, trail)
        last = len(blocks) - 1
        for position, number in enumerate(blocks):
            for event in self.by_block[number]:
                behind = position > 0 or event.statement > origin
                before = position < last or event.statement < read.statement
                if behind and before and isinstance(event, CopyWait | Barrier | ProxyFenceStatement):
                    yield self._moment(module, function, event.statement, _SAYS[type(event)])
        yield self._moment(module, function, read.statement, "reads matrices through the async proxy")

    @staticmethod
    def _moment(module: PtxModule, function: Function, index: int, says: str) -> Moment:
        statement = function.statements[index]
        return Moment(module.place(statement.offset), statement.opcode, says)


_SAYS = {
    CopyWait: "waits for copies",
    Barrier: "synchronises threads",
    ProxyFenceStatement: "fences the proxies for what is complete",
}
