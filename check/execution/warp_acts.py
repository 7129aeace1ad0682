"""What one statement of a thread group does to its warps, to barriers and to shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ...spec.lazy_dataclass import dataclass
from ..memory.byte_regions import ByteRegion
from ..memory.matrices import descriptor_texts, rows_at
from ..memory.shared_memory import WIDEST, fences_shared, fills_shared, sends_shared, stores_shared
from ..values.block_threads import WARP, WARPGROUP, by_warp
from ..values.lane_numbers import Numbers, number_at
from ..walks.acts import Act, act_of, written_at
from ..walks.walk_steps import PAIR, WalkStep
from .access_records import GenericAccess, accessed
from .act_operands import is_doubtful, masked_blocks, shown_number
from .allocated_columns import AllocatedColumns
from .barrier_acts import BarrierActs
from .barriers import Boxes, Landing, comes_to, total
from .shared_accesses import SharedAccesses
from .thread_groups import ThreadGroup
from .timed_accesses import LaneStores, ReadMatrices, TimedRead, TimedWrite
from .warps import GroupWait, lanes_of

__all__ = ["Short", "Uneven", "Unlike", "WarpActs"]

_ROWS = "A"  # the matrix that has as many rows as a product has, though a kernel may need fewer


@dataclass(frozen=True)
class Short:
    """A phase expects fewer bytes than products read of what its copies bring; or than these and the bytes
    `beside`, which others of its copies bring. `reader` is the product; or a load, where threads read
    (`loads`).
    """

    reader: int
    expected: int
    read: int
    beside: int = 0
    doubtful: bool = False
    loads: bool = False


@dataclass(frozen=True)
class Unlike:
    """Different numbers of bytes that are expected of the same boxes; `assumed`: parameters say how many."""

    expected: int
    others: int
    assumed: bool


@dataclass(frozen=True)
class Uneven:
    """A phase expects bytes, at a statement, that are no whole rows of the matrices that its copies fill."""

    statement: int
    expected: int
    row: int


def _bytes_of(regions: Iterable[ByteRegion]) -> int:
    """How many bytes there are in some regions, which may overlap."""
    bytes_, end = 0, -1
    for region in sorted(regions, key=lambda region: region.low):
        bytes_ += max(region.high - max(region.low, end), 0)
        end = max(end, region.high)
    return bytes_


@lru_cache(maxsize=1 << 8)
def _group_act(step: WalkStep) -> Act:
    """The act of a statement about groups of products or copies, which asks no register."""
    act = act_of(step.position, step.statement, lambda *_: None, ())
    assert act is not None
    return act


@lru_cache(maxsize=1 << 8)
def _by_warpgroup(threads: tuple[int, ...], each: int) -> Sequence[tuple[int, Sequence[int]]]:
    """The first of some threads in each warpgroup, and their warps there; each block has so many warps, and
    warpgroups of its own.
    """
    found: dict[tuple[int, int], tuple[int, list[int]]] = {}
    for warp, some in by_warp(threads).items():
        block, number = divmod(warp, each)
        found.setdefault((block, number // (WARPGROUP // WARP)), (some[0], []))[1].append(warp)
    return tuple(found.values())


class WarpActs(BarrierActs):
    """The warps, barriers and shared memory of a block. `skips` are the acts that need not be known."""

    skips: frozenset[str] = frozenset()
    columns: AllocatedColumns | None = None  # of tensor memory, where they count

    def __init__(self, threads: int, parts: int = 1) -> None:
        super().__init__(threads, parts)
        self.accesses = SharedAccesses([warp.clock for warp in self.warps])
        self.receives = False  # copies between blocks were followed
        self.shares = False  # copies were executed that may bring other blocks more than was followed

    @property
    def is_wrong(self) -> bool:
        """Whether something wrong was found that nothing later makes right."""
        return bool(self.accesses.races or self.unpublished or self.drifts)

    def short(self) -> dict[int, Short]:
        """By product: the phases that expect fewer bytes than their copies fill, by at least a matrix; or by
        some copies of known size, which no product reads. Of A, rows that nobody needs may not be copied, so
        that a phase which fills some of A is told only where the bytes of the other matrices leave it none;
        as doubtful, where it expects just those of A.
        """
        found = {}
        for (address, phase), reads in self.accesses.filled.items():
            barrier = self.mbarriers[address]
            expected = barrier.bytes[phase] if 0 <= phase < len(barrier.bytes) else None
            if not expected:
                continue
            read = _bytes_of(reads)
            others = _bytes_of(region for region, one in reads.items() if one.part != _ROWS)
            if others == read:
                others -= min(region.high - region.low for region in reads)
            beside = barrier.beside.get(phase, [])
            sized = 0 if any(copy.row for copy in beside) else total(copy.size for copy in beside) or 0
            product = reads[max(reads, key=lambda region: region.low)].statement
            if expected <= others:
                found[product] = Short(product, expected, read)
            elif others and expected == read - others:
                found[product] = Short(product, expected, read, doubtful=True)
            elif 0 <= expected - read < sized and comes_to(beside, expected - read):
                found[product] = Short(product, expected, read, sized)
        return found

    def act(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterable[GroupWait]:
        """Do a statement in some threads of a group; what they wait for, if they do not go on at once."""
        statement = step.statement
        match statement.does:
            case "multiply":
                self._multiply(group, step, threads)
            case "commit" | "wait" | "copy-commit" | "copy-wait":
                self._grouping(step, threads)
            case "store" | "update" | "copy":
                self._write(group, step, threads)
            case "bulk-copy" if fills_shared(statement):
                return self._fills(group, step, threads)
            case "bulk-copy" if sends_shared(statement) and self.blocks > 1:
                return self._fills(group, step, threads)
            case "bulk-copy" if sends_shared(statement):
                return self._exchange(group, step, threads)
            case "proxy-fence" if fences_shared(statement):
                for warp, some in by_warp(threads).items():
                    self.accesses.fence(warp, lanes_of(some))
            case _:
                return self.order(group, step, threads)
        return ()

    def _multiply(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        doubtful, statement, steps = is_doubtful(group, step), step.statement, group.registers.steps
        words = [group.registers.value(text, statement.scope) for text in descriptor_texts(statement)]
        for first, some in _by_warpgroup(threads, self.count // self.blocks):
            began = {warp: self.warps[warp].clock.seen[warp] for warp in some}
            rank = steps.rank_of(first, self.threads)
            numbers = tuple([number_at(word, first) for word in words])
            matrices = None if rank else ReadMatrices(statement, numbers)
            for region, row, part in rows_at(statement, numbers):
                if rank:
                    region = steps.moved(region, rank)
                read = TimedRead(step.position, region, doubtful, began, row, matrices=matrices, part=part)
                self.accesses.read(read)
                for warp in some:
                    self.warps[warp].products.append(read)
            for warp in some:
                self.warps[warp].clock.seen[warp] += 1

    def _act_of_thread(self, group: ThreadGroup, step: WalkStep, thread: int) -> Act | None:
        """The act of one thread."""

        def value_of(text: str, scope: int) -> int | None:
            return number_at(group.registers.value(text, scope), thread)

        return act_of(step.position, step.statement, value_of, ())

    def _grouping(self, step: WalkStep, threads: tuple[int, ...]) -> None:
        act = _group_act(step)
        for number in by_warp(threads):
            warp = self.warps[number]
            if act.kind == "commit":
                warp.product_groups.append(warp.products)
                warp.products = []
            elif act.kind == "copy-commit":
                warp.copy_groups.append(warp.copies)
                warp.copies = []
            elif act.kind == "wait":
                while len(warp.product_groups) > act.n:
                    ended = warp.product_groups.popleft()
                    self.accesses.ended(ended, number)
                    for read in ended:
                        warp.multiplied |= read.began
            else:
                while len(warp.copy_groups) > max(act.n, 0):
                    self._land(warp.copy_groups.popleft(), number)
                if act.n < 0:
                    self._land(warp.copies, number)
                    warp.copies = []

    def _write(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> None:
        """Stores and cp.async: of each warp its first thread stands for all."""
        statement, at, warps = step.statement, step.position, self.warps
        address, copies = statement.address, statement.does == "copy"
        if group.registers.is_remote(address, statement.scope) or not (copies or stores_shared(statement)):
            return
        base: Numbers = 0 if address is None else group.registers.base(address, statement.scope)
        doubtful, kind = is_doubtful(group, step), "copy" if copies else "store"
        for number, some in by_warp(threads).items():
            warp = warps[number]
            for region in written_at(statement, number_at(base, some[0])):
                act = warp.clock.seen[number]
                stores = LaneStores(statement, base, some)
                made = TimedWrite(at, kind, region, doubtful, number, act, lanes_of(some), stores=stores)
                self._begin(made)
                if copies:
                    warp.copies.append(made)

    def _begin(self, write: TimedWrite) -> None:
        """A store or a copy begins."""
        self.accesses.write(write)

    def _land(self, writes: Sequence[TimedWrite], warp: int) -> None:
        """A warp has waited for copies of its own."""
        self.accesses.landed(writes, warp)

    def _fills(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """Bulk copies into shared memory."""
        for value, some in self._barriers(group, step, threads):
            if self.blocks > 1 and step.statement.operation.is_multicast:
                yield from self._spread(group, step, value, some)
            else:
                yield from self._bulk(group, step, value, some)

    def _spread(
        self, group: ThreadGroup, step: WalkStep, address: int, threads: tuple[int, ...]
    ) -> Iterator[GroupWait]:
        """A bulk copy into the same place of several blocks that are executed together. Of a pair, the block
        is told that lies in the pair as the one whose mbarrier is named.
        """
        steps = group.registers.steps
        for thread in threads:
            for rank in self._masked(group, step, thread):
                told = rank
                if step.statement.operation.is_for_pair:
                    told = steps.pair_of(rank)[steps.window_of(address) % PAIR]
                yield from self._bulk(group, step, steps.in_window(address, told), (thread,), rank)

    def _bulk(
        self,
        group: ThreadGroup,
        step: WalkStep,
        address: int,
        threads: tuple[int, ...],
        rank: int | None = None,
    ) -> Iterator[GroupWait]:
        """`rank`: that of the block that it fills, if it fills several."""
        barrier = yield from self._mbarrier(group, step, address, threads)
        action = step.statement.operation.action
        sizes = shown_number(group, step.statement, action.size, 0) if action.size else action.bytes
        asks = sizes is None and action.size is not None
        assumed = shown_number(group, step.statement, action.size, 0, True) if asks else None
        if barrier is not None:
            barrier.changed_at.add(step.position)
        box = self._box(group, step) if action.size is None else None
        known = self.lone.known_to(threads, step.position, group.registers.steps)
        for thread in (*known, *(one for one in threads if one not in known)) if known else threads:
            bytes_ = number_at(sizes, thread)
            number = thread // WARP
            warp = self.warps[number]
            self.waits.copied[number].append(address)
            landing = None
            multicast = rank is None and self._is_multicast(group, step, thread)
            if barrier is not None:
                # What is multicast comes from other blocks, too.
                shared = multicast or (rank is None and step.statement.operation.is_for_all)
                # Of a copy into several blocks, no thread of the others could know otherwise when it comes.
                tells = rank is not None
                landing = barrier.copy(None if shared else bytes_, box, (number, warp.clock), tells)
                warp.clock.knows(address, landing.phase)
            remote = group.registers.is_remote(step.statement.address, step.statement.scope)
            self.shares |= bytes_ is None or multicast or remote
            if multicast and barrier is not None:
                self._known_there(barrier, number, step)
            filled = barrier is not None and not remote
            doubtful, source = is_doubtful(group, step), step.statement.source
            for region in self._target(group, step, thread) if filled else ():
                if rank is not None:
                    region = group.registers.steps.moved(region, rank)
                if bytes_:
                    region = region._replace(high=region.low + bytes_)
                if region.is_known:  # the box of a tensor has as many bytes at least
                    filling = accessed(region.low, (1 << region.high - region.low) - 1)
                    self.objects.hold(GenericAccess(step.position, "fill", filling, doubtful, doubtful))
                self._begin(
                    TimedWrite(
                        step.position,
                        "bulk",
                        region,
                        doubtful,
                        number,
                        warp.clock.seen[number],
                        lanes_of((thread,)),
                        landing=landing,
                        elsewhere=multicast,
                        known=known.get(thread),
                        repeats=group.repeats,
                        tensor=None if source is None else source.base,
                        assumed=number_at(assumed, thread),
                    )
                )
            if landing is not None and self.blocks > 1 and sends_shared(step.statement):
                self._read_source(group, step, thread, landing)

    def _target(self, group: ThreadGroup, step: WalkStep, thread: int) -> Iterable[ByteRegion]:
        """Where a thread's bulk copy writes, so far as that is known."""
        statement = step.statement
        if not sends_shared(statement):
            act = self._act_of_thread(group, step, thread)
            return () if act is None else act.regions
        address = statement.address
        if address is None or address.base is None:
            return ()
        base = number_at(group.registers.value(address.base, statement.scope), thread)
        low = 0 if base is None else base + address.offset
        return () if base is None else (ByteRegion("shared", low, low + WIDEST),)

    def _exchange(self, group: ThreadGroup, step: WalkStep, threads: tuple[int, ...]) -> Iterator[GroupWait]:
        """A bulk copy from here into another block of the cluster. The other blocks are taken to do the same,
        so this one gets as much: its mbarrier tells that, or that its own copy is complete.
        """
        statement, scope = step.statement, step.statement.scope
        remote = group.registers.is_elsewhere(statement.barrier, scope, threads)
        known = remote or not group.registers.is_remote(statement.barrier, scope)
        if not (known and group.registers.is_elsewhere(statement.address, scope, threads)):
            self.shares = True
            return  # to which block it goes is not known
        size = statement.operation.action.size
        sizes = None if size is None else shown_number(group, statement, size, 0)
        for value, some in self._barriers(group, step, threads):
            barrier = yield from self._mbarrier(group, step, value, some, remote)
            if barrier is None:
                continue
            barrier.changed_at.add(step.position)
            self.receives = True
            for thread in some:
                number = thread // WARP
                clock = self.warps[number].clock
                landing = barrier.copy(number_at(sizes, thread), by=(number, clock))
                clock.knows(value, landing.phase)
                self._send_bytes(group, step, thread, landing, remote)

    def _send_bytes(
        self, group: ThreadGroup, step: WalkStep, thread: int, landing: Landing, remote: bool
    ) -> None:
        """The bytes of a copy between blocks: what products read of them is not judged. `remote`: the
        mbarrier is that of the other block.
        """

    def _read_source(self, group: ThreadGroup, step: WalkStep, thread: int, landing: Landing) -> None:
        """What a copy between blocks that are executed together reads: products do not write it."""

    @staticmethod
    def _box(group: ThreadGroup, step: WalkStep) -> tuple[tuple[str, int], tuple[str, ...]] | None:
        """Whose box a tensor copy brings: of a tensor map that is a parameter, by a form of the copy.

        A map in other memory may be replaced between two copies.
        """
        statement = step.statement
        texts = list(statement.addresses)[1:2]
        name = texts[0].strip("[] ").partition(",")[0].strip() if texts else ""
        steps = group.registers.steps
        place = steps.place(name, statement.scope)
        if place is None or place[0] not in steps.code.function.parameters:
            return None
        return place, statement.operation.words

    def unlike(self) -> dict[tuple[int, int], Unlike]:
        """The statements, with their numbers of bytes, that expect different numbers for the same boxes."""
        known: dict[object, Boxes] = {}
        found = {}
        for barrier in self.mbarriers.values():
            for one in barrier.boxes:
                first = known.setdefault(one.boxes, one)
                if first.expected != one.expected:
                    assumed = first.assumed or one.assumed
                    found[first.statement, one.statement] = Unlike(first.expected, one.expected, assumed)
        return found

    def uneven(self) -> dict[int, Uneven]:
        """By statement: the numbers of bytes that no whole rows of matrices come to, though products read in
        such rows what each of the phase's tensor copies brings.
        """
        found = {}
        for barrier in self.mbarriers.values():
            for filled in barrier.filled:
                row = min(copy.row for copy in filled.copies)
                if row and filled.expected % row:
                    found[filled.statement] = Uneven(filled.statement, filled.expected, row)
        return found

    def late_expectations(self) -> set[int]:
        """The statements that expect bytes of a phase which may end without them."""
        return set[int]().union(*(barrier.late for barrier in self.mbarriers.values()))

    def _is_multicast(self, group: ThreadGroup, step: WalkStep, thread: int) -> bool:
        """Whether a copy surely goes to several blocks of the cluster: by the mask behind its mbarrier, or to
        all of them.
        """
        if not step.statement.operation.is_multicast:
            return False
        blocks = number_at(masked_blocks(group, step), thread) or 0
        return blocks & blocks - 1 != 0
