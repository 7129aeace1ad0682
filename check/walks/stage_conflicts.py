"""Find accesses of shared memory that nothing orders, among the acts of threads on their walks.

A thread's own walk says which groups and copies are complete when the thread reads or writes. What other
threads have done, it learns from barriers; stage_protocol.py computes what each barrier means.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import GRANULE, may_take
from ..ptx.decode import DecodedFunction
from .acts import Act
from .stage_protocol import StageProtocol
from .thread_walk import Walked

__all__ = ["Overlap", "overlaps"]

_UNKNOWN = -(1 << 20)  # an mbarrier whose address is unknown
_MOST = 1 << 9  # wgmmas, or copies, in flight that are remembered; older ones are dropped
_SHOWN = 16  # commits and waits between two statements that a finding shows


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two statements that touch the same bytes with nothing that orders them.

    what: `overwritten` (a wgmma reads, then a write), `released` (a wgmma reads, then an arrival lets another
    thread write), `incomplete` (a copy, then a wgmma reads), `unlanded` (a copy, then a write), `unawaited`
    (another thread's bulk copy or store, then a wgmma reads), `unfenced` (a store, then a bulk copy),
    `unproxied` (another thread's store, then a wgmma reads). `waited`: the wgmma's own warp waited for it,
    but no barrier followed. `between` are the relevant statements between the two; `writer` is the statement
    that writes once the stage is released. `certain`: a run executes both, with these bytes. `read` are the
    bytes of the matrix, `region` those that are written (or the matrix, where they are not known). Overlaps
    with one `cause` are one fault. `awaited`: between a bulk copy and a write, the waits for mbarriers.
    """

    what: str
    first: int
    second: int
    region: ByteRegion
    between: tuple[int, ...] = ()
    waited: bool = False
    writer: int = -1
    certain: bool = False
    read: ByteRegion | None = None
    cause: int = -1
    awaited: frozenset[int] | None = None


@dataclass(slots=True)
class _Flying:
    """A wgmma or copy that may not be complete.

    `since` is how many commits and waits came before it, `commits` how many of those are commits. `barrier`
    completes it, `loop` is the innermost loop around it; `met`: the thread met others since; `awaited`: the
    statements at which it has waited for mbarriers since. `words`: of a wgmma's descriptors.
    """

    statement: int
    regions: tuple[ByteRegion, ...]
    since: int
    commits: int
    barrier: int | None = None
    loop: int = -1
    met: bool = False
    certain: bool = True
    awaited: frozenset[int] = frozenset()
    words: tuple[int | None, ...] = ()

    def meets(self, region: ByteRegion) -> bool:
        """Whether it accesses some of the bytes; the regions of acts lie in one space."""
        return _meet(region, self.regions)

    def shared_with(self, region: ByteRegion) -> ByteRegion | None:
        """The first of its regions that another one meets."""
        return next((other for other in self.regions if region.meets(other)), None)


def _meet(region: ByteRegion, others: Iterable[ByteRegion]) -> bool:
    """Whether a region meets any of others, in one space."""
    low, high = region.low, region.high
    for other in others:  # noqa: SIM110 (called too often for a generator)
        if other.low < high and low < other.high:
            return True
    return False


class _Groups:
    """Commits and waits, those of wgmma or those of cp.async, and what is in flight between them."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.commits = 0
        self.flying: deque[_Flying] = deque(maxlen=_MOST)

    def begin(self, act: Act, barrier: int | None = None) -> None:
        loop = act.loops[-1] if act.loops else -1
        self.flying.append(
            _Flying(
                act.statement,
                act.regions,
                len(self.steps),
                self.commits,
                barrier,
                loop,
                certain=act.certain,
                words=act.words,
            )
        )

    def commit(self, statement: int) -> None:
        self.steps.append(statement)
        self.commits += 1

    def wait(self, act: Act) -> list[_Flying]:
        """Remove and return what a wait completes; a wait for a negative number completes all."""
        self.steps.append(act.statement)
        covered = [
            one
            for one in self.flying
            if one.barrier is None and (act.n < 0 or self.commits - one.commits > act.n)
        ]
        if covered:
            ends = {id(one) for one in covered}
            self.flying = deque((one for one in self.flying if id(one) not in ends), _MOST)
        return covered

    def between(self, one: _Flying) -> tuple[int, ...]:
        """The commits and waits since then; if there are very many, the first and the last ones."""
        steps = self.steps[one.since :]
        return tuple(steps if len(steps) <= _SHOWN else [*steps[: _SHOWN // 2], *steps[-_SHOWN // 2 :]])


def overlaps(walked: Sequence[Walked], code: DecodedFunction) -> Iterator[Overlap]:
    """The overlaps on the walks, each pair of statements once."""
    known = StageProtocol(walked)
    seen: set[tuple[str, int, int, bool]] = set()
    for walk in walked:
        for found in _Thread(known, code, walk.acts).run():
            key = found.what, found.first, found.second, found.waited
            if key not in seen:
                seen.add(key)
                yield found


class _Thread:
    """What is in flight of one thread."""

    def __init__(self, known: StageProtocol, code: DecodedFunction, acts: Sequence[Act]) -> None:
        self.known = known
        self.code = code
        self.acts = acts
        self.mine = {act.barrier for act in acts if act.kind == "await"}
        self.others = known.awaited - self.mine
        self.own = {region for act in acts if act.kind == "bulk" for region in act.regions}
        self.arrives = {act.barrier for act in acts if act.kind == "arrive"}
        self.filled: dict[int, set[ByteRegion]] = defaultdict(set)  # by copy: all regions that it fills
        for act in acts:
            if act.kind in ("copy", "bulk"):
                self.filled[act.statement].update(act.regions)
        self.meets = 0
        self.mmas = _Groups()
        self.waited: deque[tuple[_Flying, tuple[int, ...]]] = deque(maxlen=_MOST)  # by this warp alone
        self.copies = _Groups()
        self.unfenced: dict[ByteRegion, tuple[int, int]] = {}  # what others wrote so, as their arrivals tell
        self.stores: dict[ByteRegion, int] = {}  # written through the generic proxy, with no fence since
        self.awaited: set[int | None] = set()

    def run(self) -> Iterator[Overlap]:
        """The overlaps on the walk."""
        for act in self.acts:
            match act.kind:
                case "mma":
                    yield from self._read(act)
                case "commit":
                    self.mmas.commit(act.statement)
                case "copy-commit":
                    self.copies.commit(act.statement)
                case "wait":
                    self.waited += ((one, self.mmas.between(one)) for one in self.mmas.wait(act))
                case "copy-wait":
                    self.copies.wait(act)
                case "copy-arrive":
                    for one in self.copies.flying:
                        if one.barrier is None:
                            one.barrier = _UNKNOWN if act.barrier is None else act.barrier
                case "bulk" | "copy" | "store":
                    yield from self._written(act)
                case "arrive":
                    yield from self._released(act)
                case "await" | "meet":
                    self._met(act)
                case "proxy-fence":
                    self.stores.clear()
                    self.unfenced.clear()
                case "cut":  # of what is in flight here, the last rounds would have waited
                    self.copies.flying.clear()

    def _met(self, act: Act) -> None:
        """What the thread, or one that it meets, has awaited is complete; so is what it waited for itself."""
        if act.kind == "meet":
            self.meets += 1
            found = self.others | {act.barrier} if act.barrier is not None else self.others
        else:
            found = {act.barrier, _UNKNOWN} | self.known.told[act.barrier]
        if act.barrier is not None:
            self.unfenced.update(self.known.unfenced.get(act.barrier, {}))
        self.awaited |= found
        left = [
            one
            for one in self.copies.flying
            if one.barrier is None or not (None in found or one.barrier in found)
        ]
        for one in left:
            one.met = True
            if act.kind == "await":
                one.awaited |= {act.statement}
        self.copies.flying = deque(left, _MOST)
        self.waited.clear()

    def _released(self, act: Act) -> Iterator[Overlap]:
        """An arrival after which another thread fills a stage that a wgmma still reads."""
        stages = self.known.free.get(act.barrier, {}) if act.barrier is not None else {}
        for one in self.mmas.flying if stages else ():
            writer = next((w for region, w in stages.items() if one.meets(region)), None)
            if writer is not None:
                between = self.mmas.between(one)
                yield Overlap(
                    "released", one.statement, act.statement, one.regions[0], between, writer=writer
                )

    def _written(self, act: Act) -> Iterator[Overlap]:
        for region in act.regions:
            for one in self.mmas.flying:
                if one.meets(region) and self._reads(one, act.statement, region):
                    yield self._overwritten(act, region, one, self.mmas.between(one), False)
            for one, between in self.waited:
                if one.meets(region) and self._reads(one, act.statement, region):
                    yield self._overwritten(act, region, one, between, True)
            yield from self._unlanded(act, region)
        if act.kind == "copy":
            self.copies.begin(act)
        elif act.kind == "store":
            self.stores.update((region, act.statement) for region in act.regions)
        elif act.kind == "bulk":
            for region in act.regions:
                yield from self._unfenced(act, (region, *self.known.stages(region)))
            self.copies.begin(act, _UNKNOWN if act.barrier is None else act.barrier)

    def _reads(self, product: _Flying | Act, write: int, region: ByteRegion) -> bool:
        """Whether a wgmma reads bytes that a statement writes, between the first and the last ones of its
        matrices. A bulk copy writes more bytes than its region has.
        """
        if self.code[write].does == "bulk-copy":
            return True
        touched = range(region.low // GRANULE, (region.high - 1) // GRANULE + 1)
        return may_take(self.code[product.statement], product.words, touched)

    @staticmethod
    def _overwritten(
        act: Act, region: ByteRegion, one: _Flying, between: tuple[int, ...], waited: bool
    ) -> Overlap:
        """A write where a wgmma still reads; its matrices are told once."""
        certain, read = one.certain and act.certain, one.shared_with(region)
        one.regions = ()
        return Overlap(
            "overwritten",
            one.statement,
            act.statement,
            region,
            between,
            waited,
            certain=certain,
            read=read,
        )

    def _unfenced(self, act: Act, target: tuple[ByteRegion, ...]) -> Iterator[Overlap]:
        """A bulk copy over bytes that were stored through the generic proxy."""
        for stored, statement in list(self.stores.items()):
            if any(map(stored.meets, target)):
                yield Overlap("unfenced", statement, act.statement, stored)
                del self.stores[stored]

    def _unlanded(self, act: Act, region: ByteRegion) -> Iterator[Overlap]:
        """A write where a copy is on its way: to the same bytes, or to the same matrix in a later phase.

        Behind the loop of a copy that no mbarrier completes, that is any of the matrices which it fills: the
        number of rounds decides which one was last. A copy with an mbarrier has one that goes with its bytes.
        """
        stages = self.known.stages(region)
        for one in self.copies.flying:
            if one.barrier is not None and one.barrier not in self.mine:
                continue  # others say when it is complete
            behind = one.barrier is None and one.loop >= 0 and one.loop not in act.loops
            filled = self.filled[one.statement] if behind else one.regions
            later = one.met and any(_meet(stage, filled) for stage in stages)
            if one.meets(region) or later:
                between = self.copies.between(one)
                awaited = None if one.barrier is None else one.awaited
                yield Overlap("unlanded", one.statement, act.statement, region, between, awaited=awaited)
                one.regions = ()

    def _read(self, act: Act) -> Iterator[Overlap]:
        for one in self.copies.flying:
            for region in act.regions:
                if one.meets(region) and any(self._reads(act, one.statement, own) for own in one.regions):
                    between = self.copies.between(one)
                    # With an mbarrier, another thread's wait may tell that a bulk copy is complete.
                    certain = one.certain and act.certain and (one.barrier is None or not self.known.awaited)
                    copied = one.shared_with(region) or one.regions[0]
                    yield Overlap(
                        "incomplete",
                        one.statement,
                        act.statement,
                        copied,
                        between,
                        certain=certain,
                        read=region,
                    )
                    one.regions = ()
        for region in act.regions:
            yield from self._unawaited(act, region)
        for stored, (statement, arrival) in list(self.unfenced.items()):
            matrix = next(filter(stored.meets, act.regions), None)
            if matrix is not None and self._reads(act, statement, stored):
                cause = self.known.first_arrival(arrival)
                yield Overlap(
                    "unproxied", statement, act.statement, stored, (arrival,), read=matrix, cause=cause
                )
                del self.unfenced[stored]
        self.mmas.begin(act)

    def _unawaited(self, act: Act, region: ByteRegion) -> Iterator[Overlap]:
        """A matrix that bulk copies fill, before a wait on any of their barriers."""
        if None in self.awaited:
            return
        for stage, barriers in self.known.full.items():
            first = self.known.first[stage]
            later = first.meets > self.meets or not self.arrives.isdisjoint(first.behind)
            missing = None not in barriers and not barriers & self.awaited
            if missing and not later and stage not in self.own and stage.meets(region):
                yield Overlap("unawaited", first.statement, act.statement, region)
                return
