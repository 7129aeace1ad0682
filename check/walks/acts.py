"""The acts of one thread on shared memory and its order: statements with the thread's numbers filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion
from ..memory.matrices import descriptor_texts, matrices_at
from ..memory.shared_memory import WIDEST, fences_shared, fills_shared, stores_shared
from ..ptx.decode import DecodedStatement
from ..ptx.operands import Address, number_of

__all__ = ["Act", "act_of", "written_at"]

_WORD = (1 << 32) - 1  # addresses of shared memory have 32 bits
_ALL = -1  # a wait for every group
_CLUSTER = -1  # the cluster's barrier; a named one is this less its number


class Act(NamedTuple):
    """A statement of a walk that accesses shared memory or orders accesses, with the thread's numbers.

    kind: `mma`, `commit`, `wait` (products); `copy`, `copy-commit`, `copy-wait`, `copy-arrive` (cp.async);
    `bulk`, `store`, `proxy-fence`; `arrive` and `await` (an mbarrier, or a named barrier), `meet` (both);
    `cut`: the walk leaves a loop before the loop ends.
    barrier: an address, or −1 minus the number of a named barrier; None if unknown.
    n: how many groups a wait leaves (−1: it waits for all); the parity of an await, −1 if unknown;
    1 of a cut that leaves an innermost loop.
    loops: those that a copy or store stands in, the outermost first.
    certain: a run with the walk's numbers executes it at this address, whatever the assumed numbers are.
    words: those of a product's descriptors, None where one is unknown.
    """

    kind: str
    statement: int
    regions: tuple[ByteRegion, ...] = ()
    barrier: int | None = None
    n: int = 0
    loops: tuple[int, ...] = ()
    certain: bool = True
    words: tuple[int | None, ...] = ()


class _Step(NamedTuple):
    """A statement that a thread executes, the loops around it, and what the thread's operands hold."""

    position: int
    statement: DecodedStatement
    value_of: Callable[[str, int], int | None]
    loops: tuple[int, ...]

    def value(self, text: str | None) -> int | None:
        """The value of an operand; None if unknown."""
        return None if text is None else self.value_of(text, self.statement.scope)

    def address(self, address: Address | None) -> int | None:
        """The number of an address; None if unknown."""
        if address is None:
            return None
        base = 0 if address.base is None else self.value(address.base)
        return None if base is None else (base + address.offset) & _WORD

    @property
    def barrier(self) -> int | None:
        """The barrier that the statement is about, as `Act.barrier` has it."""
        match self.statement.operation.action.barrier:
            case "object":
                return self.address(self.statement.barrier)
            case "cluster":
                return _CLUSTER
        number = self.value(self.statement.barrier_name)
        return None if number is None else _CLUSTER - number

    def target(self, width: int | None = None) -> tuple[ByteRegion, ...]:
        """The bytes of shared memory that are written."""
        at = self.statement.address
        base = 0 if at is None or at.base is None else self.value(at.base)
        return written_at(self.statement, base, width)


@lru_cache(maxsize=1 << 13)
def written_at(
    statement: DecodedStatement, base: int | None, width: int | None = None
) -> tuple[ByteRegion, ...]:
    """The bytes of shared memory that a thread writes at the address of a statement, whose register holds
    `base` (None: unknown); none behind a generic address of another space. `width`: how many, if it is not
    the statement that says so.
    """
    at = statement.address
    if at is None or base is None:
        return ()
    pointer = base + at.offset
    if at.base is not None and statement.operation.space == "generic" and not 0 <= pointer <= _WORD:
        return ()
    address = pointer & _WORD
    return (ByteRegion("shared", address, address + (width or statement.bytes or WIDEST)),)


def act_of(
    index: int,
    statement: DecodedStatement,
    value_of: Callable[[str, int], int | None],
    loops: tuple[int, ...],
) -> Act | None:
    """The act of a statement; None if it has none."""
    make = _ACTS.get(statement.does)
    return make(_Step(index, statement, value_of, loops)) if make is not None else None


def _mma(step: _Step) -> Act:
    words = tuple(map(step.value, descriptor_texts(step.statement)))
    return Act("mma", step.position, matrices_at(step.statement, words), words=words)


def _group(step: _Step) -> Act:
    """A commit, or a wait for groups of products or of copies."""
    pending, does = step.statement.pending, step.statement.does
    if pending is None:
        return Act(does, step.position, n=_ALL if does == "copy-wait" else 0)
    return Act(does, step.position, n=number_of(pending) or 0)


def _copy_arrive(step: _Step) -> Act:
    return Act("copy-arrive", step.position, barrier=step.barrier)


def _arrive(step: _Step) -> Act | None:
    known = step.statement.operation.action.barrier in ("object", "named")
    return Act("arrive", step.position, barrier=step.barrier) if known else None


def _await(step: _Step) -> Act:
    parity = step.value(step.statement.phase)
    return Act("await", step.position, barrier=step.barrier, n=-1 if parity is None else parity & 1)


def _meet(step: _Step) -> Act | None:
    known = step.statement.operation.action.barrier in ("named", "cluster")
    return Act("meet", step.position, barrier=step.barrier) if known else None


def _fence(step: _Step) -> Act | None:
    return Act("proxy-fence", step.position) if fences_shared(step.statement) else None


def _bulk(step: _Step) -> Act | None:
    if not fills_shared(step.statement):
        return None
    return Act("bulk", step.position, step.target(WIDEST), step.barrier, loops=step.loops)


def _copy(step: _Step) -> Act:
    return Act("copy", step.position, step.target(), loops=step.loops)


def _store(step: _Step) -> Act | None:
    if not stores_shared(step.statement):
        return None
    return Act("store", step.position, step.target(), loops=step.loops)


_ACTS: Mapping[str, Callable[[_Step], Act | None]] = {
    "multiply": _mma,
    "commit": _group,
    "wait": _group,
    "copy-commit": _group,
    "copy-wait": _group,
    "copy-arrive": _copy_arrive,
    "arrive": _arrive,
    "await": _await,
    "meet": _meet,
    "proxy-fence": _fence,
    "bulk-copy": _bulk,
    "copy": _copy,
    "store": _store,
    "update": _store,
}
