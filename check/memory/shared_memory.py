"""What a function does to shared memory: which statements write which bytes by which proxy, and what products
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ...spec.lazy_dataclass import dataclass
from ...spec.memory_records import Descriptor
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..values.interval import WIDEST as UNBOUNDED
from ..values.interval import Interval
from ..values.register_intervals import RegisterIntervals
from .byte_regions import ByteRegion, region_of
from .matrices import matrices

__all__ = [
    "WIDEST",
    "Barrier",
    "BulkCopyWrite",
    "CopyCommit",
    "CopyWait",
    "MatrixRead",
    "MemoryEvent",
    "ProxyFenceStatement",
    "Store",
    "fences_shared",
    "fills_shared",
    "memory_events",
    "sends_shared",
    "stores",
    "stores_shared",
]

WIDEST = 16  # bytes: the most that one thread accesses
_ENDLESS = 1 << 20  # groups: a wait with an unknown number counts as no wait


@dataclass(frozen=True, slots=True)
class Store:
    """A write through the generic proxy; `copy`: by cp.async, complete only when it was waited for."""

    statement: int
    region: ByteRegion
    copy: bool = False


@dataclass(frozen=True, slots=True)
class CopyCommit:
    """cp.async.commit_group."""

    statement: int


@dataclass(frozen=True, slots=True)
class CopyWait:
    """cp.async.wait_group n; −1 is wait_all."""

    statement: int
    n: int


@dataclass(frozen=True, slots=True)
class ProxyFenceStatement:
    """fence.proxy.async, for shared memory."""

    statement: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Threads of the block wait for others, at a barrier or an mbarrier."""

    statement: int


@dataclass(frozen=True, slots=True)
class BulkCopyWrite:
    """A bulk copy into shared memory through the async proxy; its size is unknown."""

    statement: int
    region: ByteRegion


@dataclass(frozen=True, slots=True)
class MatrixRead:
    """A product reads matrices in shared memory."""

    statement: int
    regions: tuple[ByteRegion, ...]


_Maker = Callable[[int, DecodedStatement, RegisterIntervals], "MemoryEvent | None"]
MemoryEvent = BulkCopyWrite | Store | CopyCommit | CopyWait | ProxyFenceStatement | Barrier | MatrixRead


def stores_shared(statement: DecodedStatement) -> bool:
    """Whether a statement other than a copy may write shared memory through the generic proxy.

    An atomic or a reduction counts only where it names the space.
    """
    space = statement.operation.space
    return space == "shared" or (space == "generic" and statement.does == "store")


def fills_shared(statement: DecodedStatement) -> bool:
    """Whether a bulk copy writes shared memory from global memory, or with an answer."""
    return statement.does == "bulk-copy" and statement.operation.way == ("shared", "global")


def sends_shared(statement: DecodedStatement) -> bool:
    """Whether a bulk copy or reduction writes the shared memory of another block of the cluster from the own
    one.
    """
    return statement.does == "bulk-copy" and statement.operation.way == ("shared", "shared")


def fences_shared(statement: DecodedStatement) -> bool:
    """Whether a proxy fence orders accesses of shared memory."""
    return statement.does == "proxy-fence" and statement.operation.space != "global"


def memory_events(code: DecodedFunction, values: RegisterIntervals) -> Iterator[MemoryEvent]:
    """The events of a function that decide the order of generic writes and wgmma's reads."""
    yield from _events(code, values, _EVENTS)


def stores(code: DecodedFunction, values: RegisterIntervals) -> Iterator[MemoryEvent]:
    """The generic writes among the events."""
    yield from _events(code, values, _STORES)


def _events(
    code: DecodedFunction, values: RegisterIntervals, makers: Mapping[str, _Maker]
) -> Iterator[MemoryEvent]:
    for index in code.doing(*makers):
        event = makers[code.operation(index).does](index, code[index], values)
        if event is not None:
            yield event


def _store(index: int, statement: DecodedStatement, values: RegisterIntervals) -> Store | None:
    if not stores_shared(statement):
        return None
    region = _written(statement, values)
    if region.base is not None and not values.is_shared(region.base, statement.scope):
        return None
    known = statement.operation.space == "shared" or region.base is not None
    return Store(index, region) if known else None


def _copy(index: int, statement: DecodedStatement, values: RegisterIntervals) -> Store:
    return Store(index, _written(statement, values), True)


def _bulk(index: int, statement: DecodedStatement, values: RegisterIntervals) -> BulkCopyWrite | None:
    if not fills_shared(statement):
        return None
    where = values.address(statement.address, statement.scope)
    return BulkCopyWrite(index, region_of(where, WIDEST))


def _commit(index: int, statement: DecodedStatement, values: RegisterIntervals) -> CopyCommit:
    return CopyCommit(index)


def _wait(index: int, statement: DecodedStatement, values: RegisterIntervals) -> CopyWait:
    if statement.pending is None:
        return CopyWait(index, -1)
    n = values.operand(statement.pending, statement.scope).constant
    return CopyWait(index, _ENDLESS if n is None else n)


def _fence(index: int, statement: DecodedStatement, values: RegisterIntervals) -> ProxyFenceStatement | None:
    fences = fences_shared(statement) and statement.guard is None
    return ProxyFenceStatement(index) if fences else None


def _barrier(index: int, statement: DecodedStatement, values: RegisterIntervals) -> Barrier | None:
    meets = statement.operation.action.barrier != "warp" and statement.guard is None
    return Barrier(index) if meets else None


def _read(index: int, statement: DecodedStatement, values: RegisterIntervals) -> MatrixRead:
    def value_of(text: str, scope: int, _: Descriptor) -> Interval:
        return values.operand(text, scope)

    return MatrixRead(index, tuple(matrices(statement, value_of)))


_STORES: Mapping[str, _Maker] = {"store": _store, "update": _store, "copy": _copy}
_EVENTS: Mapping[str, _Maker] = {
    **_STORES,
    "multiply": _read,
    "bulk-copy": _bulk,
    "copy-commit": _commit,
    "copy-wait": _wait,
    "proxy-fence": _fence,
    "meet": _barrier,
    "await": _barrier,
}


def _written(statement: DecodedStatement, values: RegisterIntervals) -> ByteRegion:
    """The bytes that a statement may write; it begins at a multiple of their number."""
    where = values.address(statement.address, statement.scope)
    width = statement.bytes or WIDEST
    align = values.alignment(where.base, statement.scope) if where.base is not None and where.is_known else 0
    if align and align % width == 0:
        low, high = -(-where.low // width) * width, where.high // width * width
        if -UNBOUNDED < low <= high < UNBOUNDED:
            where = replace(where, low=low, high=high)
    return region_of(where, width)
