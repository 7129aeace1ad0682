"""Turn one kernel of a PTX file into an abstract ordering program, with numbers for registers and stages.

This module reads PTX by itself, on purpose: it shares no code with `check/`, because it judges the
checker. (`shared_footprints.py` asks the specification which bytes lie behind a descriptor.)

The path is one that `kernel_walk.py` walks with numbers. Shared memory is divided into stages by who accesses
it: all that a wgmma reads of one operand is one stage, and so is what one group reads of one operand after
the same copies and stores.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from kernel_statements import Kernel, NoTrace, Statement, kernels
from kernel_walk import Event, Walk, WalkPlan
from shared_footprints import GRANULE, Granules

from ptxmma.formal.ordering.programs import (
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
    MmaShape,
    Program,
    ProxyFence,
    Register,
    RegisterRead,
    RegisterWrite,
    SharedRead,
    SharedWrite,
    StepOperation,
    Wait,
    WgmmaFence,
)

__all__ = ["Kernel", "NoTrace", "Statement", "WalkPlan", "abstract", "kernels", "program", "walks"]

# The numbers that sizes are given, so that a loop comes to its end by itself after some rounds. With the
# large one every loop is left early: it is walked twice, and once more over the back edge.
SIZES = (3, 4, 6, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024)
LARGE = 4096
ROUNDS, NATURAL = 2, 8
THREADS = (0, 128, 256)


def walks(kernel: Kernel) -> list[Walk]:
    """The walks of a kernel that reach a wgmma: first those that go round its loops three times, and leave
    them when their numbers say so. Raises NoTrace when there is none."""
    found: list[tuple[tuple[int, ...], Walk]] = []
    why = "no thread reaches a wgmma"
    for thread in THREADS:
        whole = False
        for size, rounds in (*((size, NATURAL) for size in SIZES), (LARGE, ROUNDS)):
            if whole and size != LARGE:
                continue
            walk = Walk(kernel, WalkPlan(thread, size, rounds))
            try:
                walk.run()
            except NoTrace as error:
                why = str(error)
                continue
            if walk.products:
                often = min(3, max(walk.products.values()))
                score = (-often, -len(walk.products), walk.forced, -len(walk.covered), len(walk.events))
                found.append((score, walk))
                whole |= often == 3 and not walk.forced and walk.covered >= walk.counting
        if found:
            return [walk for _, walk in sorted(found, key=lambda pair: pair[0])]
    raise NoTrace(why)


def program(kernel: Kernel, plan: WalkPlan | None = None) -> Program:
    """The abstract program of a kernel, on the path of a plan; without one, on that of the best."""
    if plan is None:
        return abstract(walks(kernel)[0])
    walk = Walk(kernel, plan)
    walk.run()
    if not walk.products:
        raise NoTrace("no thread reaches a wgmma")
    return abstract(walk)


class _Sets:
    """Disjoint sets, named by small numbers in the order of their first use."""

    def __init__(self) -> None:
        self.parents: dict[object, object] = {}
        self.numbers: dict[object, int] = {}

    def find(self, item: object) -> object:
        while (parent := self.parents.setdefault(item, item)) != item:
            item = parent
        return item

    def unite(self, items: Sequence[object]) -> None:
        for item in items:
            self.parents[self.find(item)] = self.find(items[0])

    def number(self, item: object) -> int:
        return self.numbers.setdefault(self.find(item), len(self.numbers))


class _Stages:
    """The stages of shared memory: which of them each event touches."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.sets = _Sets()
        places = _touched(events)
        # Memory that no wgmma reads and no copy fills with whole granules is scratch, not a stage.
        copied = {
            at
            for at in places
            if events[at].kind == "bulk" or (events[at].kind == "copy" and events[at].words[1] >= GRANULE)
        }
        read = {granule for at in copied for granule in places[at]}
        for event in events:
            if event.kind == "mma":
                read |= {granule for operand in event.words[2:4] for granule in _granules(operand)}
        self.places = {at: granules & read for at, granules in places.items()}
        owners: dict[int, list[int]] = {}
        for at, granules in self.places.items():
            for granule in granules:
                owners.setdefault(granule, []).append(at)
        self.writers = {granule: tuple(owners.get(granule, ())) for granule in read}
        self._unite(events)
        filled: dict[object, object] = {}  # by the copies that fill them: the bytes that no wgmma reads
        multiplied = set(self.sets.parents)
        for granule in sorted(read - multiplied):
            key = tuple(at for at in self.writers[granule] if at in copied)
            self.sets.unite([filled.setdefault(key, granule), granule])

    def _unite(self, events: Sequence[Event]) -> None:
        """All that a wgmma reads of one operand is one; so is what one group reads, with the same writers."""
        for event in events:
            if event.kind == "mma":
                for operand in event.words[2:4]:
                    if granules := _granules(operand):
                        self.sets.unite(sorted(granules))
        group: dict[object, list[object]] = {}
        for event in events:
            if event.kind == "mma":
                for which, operand in zip("ab", event.words[2:4], strict=True):
                    if granules := _granules(operand):
                        first = min(granules)
                        writers = frozenset(at for granule in granules for at in self.writers[granule])
                        group.setdefault((which, writers), []).append(first)
            elif event.kind in ("commit", "wait", "fence"):
                for firsts in group.values():
                    self.sets.unite(firsts)
                group = {}

    def of(self, operand: object) -> int:
        """The stage that a wgmma reads; one that is not known is a stage by itself."""
        granules = _granules(operand)
        return self.sets.number(min(granules) if granules else "unknown")

    def touched(self, at: int) -> list[int]:
        """The stages that an event touches."""
        return sorted({self.sets.number(granule) for granule in self.places[at]})


def _granules(operand: object) -> Granules:
    return operand if isinstance(operand, frozenset) else frozenset()


def _touched(events: Sequence[Event]) -> dict[int, Granules]:
    """What each copy, store and load of the events touches.

    How much a copy by a tensor map brings is not in the text: it ends where the next copy's place begins, or
    with what its mbarrier expects.
    """
    starts = sorted(
        {event.words[0] for event in events if event.kind == "bulk" and event.words[0] is not None}
    )
    found: dict[int, Granules] = {}
    expected: dict[object, int] = {}
    for at, (kind, words) in enumerate(events):
        if kind == "expect" and words[1] is not None:
            expected[words[0]] = words[1]
        elif kind in ("copy", "store", "load"):
            found[at] = _granules(words[0])
        elif kind == "bulk":
            start, barrier, size = words
            if start is None:
                found[at] = frozenset()
                continue
            if size is None:
                beyond = next((other for other in starts if other > start), None)
                most = expected.get(barrier, MOST)
                size = most if beyond is None else min(most, beyond - start)
            found[at] = frozenset(range(start // GRANULE, (start + size - 1) // GRANULE + 1))
    return found


MOST = 1 << 15


def abstract(walk: Walk) -> Program:
    """The abstract program of the events of a walk."""
    events = walk.events
    stages = _Stages(events)
    registers, named = _name_registers(events)
    steps: list[StepOperation] = []
    barriers = _Sets()
    signalled = {event.words[1] for event in events if event.kind == "bulk"}
    signalled |= {event.words[0] for event in events if event.kind == "arrive"}
    awaited = {event.words[0] for event in events if event.kind == "await"}
    for at, (kind, words) in named:
        made: list[StepOperation] = []
        if kind == "mma":
            shape, d, a, b, scale = words
            assert isinstance(shape, MmaShape)
            if isinstance(a, tuple) and registers.find(a) == registers.find(d):
                raise NoTrace("an accumulator shares a register with A")
            first = Register(registers.number(a)) if isinstance(a, tuple) else Buffer(stages.of(a))
            made = [Mma(shape, registers.number(d), first, stages.of(b), bool(scale))]
        elif kind in ("read", "write"):
            made = [(RegisterRead if kind == "read" else RegisterWrite)(registers.number(words[0]))]
        elif kind == "wait":
            made = [Wait(int(str(words[0])))]
        elif kind == "copy-wait":
            made = [CpAsyncWait(int(str(words[0])))]
        elif kind == "await":
            made = [MbarrierWait(barriers.number(words[0]))] if words[0] in signalled else []
        elif kind == "arrive":
            made = [MbarrierArrive(barriers.number(words[0]))] if words[0] in awaited else []
        elif kind == "bulk":
            made = [BulkCopy(stage, barriers.number(words[1])) for stage in stages.touched(at)]
        elif kind in ("copy", "store", "load"):
            made = [_OF_STAGE[kind](stage) for stage in stages.touched(at)]
        elif kind in _SIMPLE:
            made = [_SIMPLE[kind]()]
        for step in made:
            if not _again(step, steps):
                steps.append(step)
    return Program.of(*steps)


_OF_STAGE: dict[str, Callable[[int], StepOperation]] = {
    "copy": CpAsync,
    "store": SharedWrite,
    "load": SharedRead,
}
_SIMPLE: dict[str, Callable[[], StepOperation]] = {
    "fence": WgmmaFence,
    "commit": Commit,
    "proxy": ProxyFence,
    "barrier": CtaBarrier,
    "copy-commit": CpAsyncCommit,
}
_RUNS = (RegisterRead, RegisterWrite, SharedRead, SharedWrite, CpAsync, BulkCopy)


def _again(step: StepOperation, steps: list[StepOperation]) -> bool:
    """Whether a step only repeats one of the run of steps before it."""
    if isinstance(step, Mma):
        return bool(steps) and steps[-1] == step
    if not isinstance(step, _RUNS):
        return False
    for before in reversed(steps):
        if before == step:
            return True
        if not isinstance(before, _RUNS):
            return False
    return False


def _name_registers(
    events: Sequence[Event],
) -> tuple[_Sets, list[tuple[int, Event]]]:
    """Replace register names by their sets; a copy of one in flight has its set until either changes."""
    tracked: set[str] = set()
    for kind, words in events:
        if kind == "mma":
            tracked |= set(words[1])
            if isinstance(words[2], tuple):
                tracked |= set(words[2])
    sets = _Sets()
    holder: dict[str, object] = {}  # register -> the storage it stands for
    fresh = itertools.count(1)
    out: list[tuple[int, Event]] = []

    def write(at: int, name: str) -> None:
        if name not in tracked:
            holder.pop(name, None)
            return
        if _shared(holder, name):
            holder[name] = f"{name}#{next(fresh)}"
        out.append((at, Event("write", (holder.setdefault(name, name),))))

    groups: list[set[str]] = [set()]  # the accumulators of each group in flight; the last is uncommitted
    for at, (kind, words) in enumerate(events):
        if kind == "commit":
            groups.append(set())
        elif kind == "wait":
            groups = groups[-1 - int(str(words[0])) :]
        if kind == "mma":
            shape, d, a, b, scale = words
            assert isinstance(d, tuple)
            groups[-1] |= {str(holder.get(name, name)) for name in d}
            sets.unite([holder.setdefault(name, name) for name in d])
            d_store = holder[d[0]]
            if isinstance(a, tuple):
                sets.unite([holder.setdefault(name, name) for name in a])
                first: object = (holder[a[0]],)
                sets.unite([first, holder[a[0]]])
            else:
                first = a
            out.append((at, Event("mma", (shape, (d_store,), first, b, scale))))
            sets.unite([(d_store,), d_store])
        elif kind == "copied":
            (source,), targets = words
            if any(str(holder.get(source, source)) in group for group in groups):
                for target in targets:
                    holder[target] = holder.setdefault(source, source)
                continue
            if source in tracked or source in holder:
                out.append((at, Event("read", (holder.get(source, source),))))
            for target in targets:
                write(at, target)
        elif kind == "touch":
            reads, writes = words
            assert isinstance(reads, tuple) and isinstance(writes, tuple)
            out += [
                (at, Event("read", (holder.get(name, name),)))
                for name in reads
                if name in tracked or name in holder
            ]
            for name in writes:
                write(at, name)
        else:
            out.append((at, Event(kind, words)))
    known = set(sets.parents)
    return sets, [
        (at, event) for at, event in out if event.kind not in ("read", "write") or event.words[0] in known
    ]


def _shared(holder: dict[str, object], name: str) -> bool:
    """Whether another register is a copy of the same storage."""
    mine = holder.get(name, name)
    return any(other != name and store == mine for other, store in holder.items())
