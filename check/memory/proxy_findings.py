"""Findings about generic writes that a wgmma may read without a fence.proxy.async, or without a barrier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...spec.lazy_dataclass import dataclass
from ...spec.ordering import ordering
from ..findings import ERROR, EVERYWHERE, LIKELY, Finding, MemoryRange, Moment, Undefined
from ..ptx.decode import DecodedFunction
from ..ptx.flow import Flow
from ..ptx.source import PtxModule
from ..values.register_intervals import RegisterIntervals
from .byte_regions import ByteRegion
from .proxy_dataflow import ProxyDataflow, WriteOrder
from .shared_memory import (
    Barrier,
    CopyWait,
    MatrixRead,
    ProxyFenceStatement,
    Store,
    memory_events,
    stores,
)

if TYPE_CHECKING:
    from .proxy_paths import ProxyPaths

__all__ = ["Meeting", "Suspicion", "WalkAnswers", "proxy_findings"]

_Member = tuple[str, bool, int]  # rule; store or product; block
_WRITER: Undefined = ((("proxy-fence-side", "writer"),),)
_MOST = 1 << 14  # suspicions about which the walks are asked


class Suspicion(NamedTuple):
    """A statement that writes, and a product that may read what it wrote: with no proxy fence by the writer
    between the two, or, if `fenced`, with one and no barrier behind it.
    """

    store: int
    product: int
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """A store and a product that do touch the same bytes: what each accesses, and which thread writes.

    `certain`: no branch of the path is assumed. `placed`: an assumed number says where one of them lies.
    """

    thread: int
    wrote: ByteRegion
    matrix: ByteRegion
    certain: bool
    placed: bool


class WalkAnswers(Protocol):
    """What walks with numbers say: meetings by suspicion, suspicions that the numbers contradict, and those
    of which they know only that both access the same bytes, since the walked path orders them.
    """

    @property
    def meetings(self) -> Mapping[Suspicion, Meeting]: ...
    @property
    def apart(self) -> Collection[Suspicion]: ...
    @property
    def touching(self) -> Mapping[Suspicion, Meeting]: ...


@dataclass(frozen=True, slots=True)
class _Fault:
    """A store that a product reads unordered, with the bytes that both access."""

    tier: str
    store: Store
    read: MatrixRead
    order: WriteOrder
    wrote: ByteRegion
    matrix: ByteRegion
    thread: int | None = None
    called: str | None = None  # a function without a body, on the way

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, int, int]:
        """Which fault is shown first: the gravest, then a store that lies wholly inside the matrix."""
        inside = self.matrix.low <= self.wrote.low and self.wrote.high <= self.matrix.high
        late, unsure = self.order.fenced == "after", self.tier != ERROR
        return late, unsure, self.thread is None, not inside, self.read.statement, self.store.statement


def proxy_findings(
    module: PtxModule,
    code: DecodedFunction,
    flow: Flow,
    values: RegisterIntervals,
    ask: Callable[[Collection[Suspicion]], WalkAnswers],
    certain: set[tuple[int, int]],
) -> Iterator[Finding]:
    """Generic writes of shared memory that a wgmma may read without a fence.proxy.async or a barrier.

    `ask` asks the walks with numbers; nothing is reported that they contradict. `certain` receives the
    stores and products that the findings of the highest tier stand for.
    """
    if next(stores(code, values), None) is None:
        return
    events = list(memory_events(code, values))
    if not any(isinstance(event, MatrixRead) for event in events):
        return
    dataflow = ProxyDataflow(flow, events)
    suspected = [(one.read, one.order, store) for one in dataflow.unordered() for store in one.stores][:_MOST]
    if not suspected:
        return
    answers = ask({_suspicion(*one) for one in suspected if one[1].fenced != "after"})
    from .proxy_paths import ProxyPaths  # most functions have nothing to confirm

    paths = ProxyPaths(code, dataflow, events)
    faults = [fault for one in suspected if (fault := _fault(*one, answers, paths)) is not None]
    for together in _components(faults, flow):
        finding = _finding(module, code, dataflow, together)
        if finding.tier == ERROR and finding.readings == EVERYWHERE:
            certain.update((fault.store.statement, fault.read.statement) for fault in together)
        yield finding


def _suspicion(read: MatrixRead, order: WriteOrder, store: Store) -> Suspicion:
    return Suspicion(store.statement, read.statement, order.fenced == "before")


def _fault(
    read: MatrixRead, order: WriteOrder, store: Store, answers: WalkAnswers, paths: ProxyPaths
) -> _Fault | None:
    """The fault that a suspicion is; None if walks contradict it, if no address is known, or if no path
    leads there.
    """
    suspicion = _suspicion(read, order, store)
    meeting = answers.meetings.get(suspicion) if order.fenced != "after" else None
    if meeting is not None:
        doubt = paths.doubt(store, order, read)
        certain = meeting.certain or paths.certain(store, order, read)
        tier = ERROR if certain and doubt is None and not meeting.placed else LIKELY
        return _Fault(tier, store, read, order, meeting.wrote, meeting.matrix, meeting.thread, doubt)
    if suspicion in answers.apart:
        return None
    touching = answers.touching.get(suspicion) if order.fenced != "after" else None
    if touching is not None:
        if not paths.possible(store, order, read):
            return None
        doubt = paths.doubt(store, order, read)
        certain = doubt is None and not touching.placed and paths.certain(store, order, read)
        tier = ERROR if certain else LIKELY
        return _Fault(tier, store, read, order, touching.wrote, touching.matrix, touching.thread, doubt)
    if not store.region.is_known:
        return None
    known = [region for region in read.regions if region.is_known and region.meets(store.region)]
    if not known or not paths.possible(store, order, read):
        return None
    return _Fault(LIKELY, store, read, order, store.region, known[0], None, paths.doubt(store, order, read))


def _components(faults: Iterable[_Fault], flow: Flow) -> Iterator[list[_Fault]]:
    """Groups of faults of one rule whose stores, or whose products, share a block: one fence mends them."""
    every = list(faults)
    leader: dict[_Member, _Member] = {}

    def find(node: _Member) -> _Member:
        while leader.setdefault(node, node) != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    def nodes(fault: _Fault) -> tuple[_Member, _Member]:
        rule = _rule(fault)
        store, read = fault.store.statement, fault.read.statement
        return (rule, False, flow.block_of(store)), (rule, True, flow.block_of(read))

    for fault in every:
        first, second = nodes(fault)
        leader[find(first)] = find(second)
    found: dict[_Member, list[_Fault]] = defaultdict(list)
    for fault in every:
        found[find(nodes(fault)[0])].append(fault)
    yield from found.values()


def _rule(fault: _Fault) -> str:
    return "shared-unsynchronised" if fault.order.fenced == "before" else "proxy-fence"


def _finding(
    module: PtxModule, code: DecodedFunction, dataflow: ProxyDataflow, faults: list[_Fault]
) -> Finding:
    """One finding about faults that belong together: the gravest of them, and how many there are."""
    fault = min(faults, key=lambda one: one.rank)
    name = _rule(fault)
    rule = ordering().rules[name]
    places = len({one.read.statement for one in faults})
    return Finding(
        name,
        fault.tier,
        module.place(code.function.statements[fault.read.statement].offset),
        code.function.name,
        f"{rule.title}: {_why(module, code, fault)}",
        rule.section,
        rule.mend,
        tuple(_moments(module, code, dataflow, fault)),
        more=places - 1,
        readings=_WRITER if fault.order.fenced == "after" else EVERYWHERE,
        ranges=tuple(_ranges(module, code, fault)),
    )


def _why(module: PtxModule, code: DecodedFunction, fault: _Fault) -> str:
    line = module.place(code.function.statements[fault.store.statement].offset).line
    where = f"line {line} writes {fault.wrote}, the matrix is {fault.matrix.span}"
    if fault.wrote.base != fault.matrix.base:
        where = f"line {line} writes {fault.wrote}, the matrix is {fault.matrix}"
    where += " (as ranges over all paths)" if fault.thread is None else f" (thread {fault.thread}, walked)"
    if fault.called is not None:
        where += f"; the path calls {fault.called}, whose body the file does not hold, and which may fence"
    if fault.order.fenced == "after":
        return f"the fence follows the synchronisation, so that the writer executed none; {where}"
    if fault.order.fenced == "before":
        return f"no barrier follows the write; {where}"
    return where


def _ranges(module: PtxModule, code: DecodedFunction, fault: _Fault) -> Iterator[MemoryRange]:
    origin = "ranges over all paths" if fault.thread is None else f"the walk of thread {fault.thread}"
    for what, index, region in (
        ("written", fault.store.statement, fault.wrote),
        ("read", fault.read.statement, fault.matrix),
    ):
        place = module.place(code.function.statements[index].offset)
        yield MemoryRange(what, region.variable, region.low, region.high - 1, place, origin)


def _moments(
    module: PtxModule, code: DecodedFunction, dataflow: ProxyDataflow, fault: _Fault
) -> Iterator[Moment]:
    """The path from the write to the wgmma."""
    first, last = fault.store.statement, fault.read.statement
    blocks = dataflow.path(fault.store, fault.order, fault.read)
    yield _moment(module, code, first, "writes through the generic proxy")
    for position, number in enumerate(blocks):
        for event in dataflow.by_block[number]:
            behind = position > 0 or event.statement > first
            before = position < len(blocks) - 1 or event.statement < last
            if behind and before and isinstance(event, CopyWait | Barrier | ProxyFenceStatement):
                yield _moment(module, code, event.statement, _SAYS[type(event)])
    yield _moment(module, code, last, "reads matrices through the async proxy")


def _moment(module: PtxModule, code: DecodedFunction, index: int, says: str) -> Moment:
    return Moment.of(module, code.function.statements[index], says)


_SAYS = {
    CopyWait: "waits for copies",
    Barrier: "synchronises threads",
    ProxyFenceStatement: "fences the proxies for what is complete",
}
