"""What threads stored in shared memory, where the number is known: roles and indices that others read back.

A load brings a known number if the last store of each of its bytes happens before it, and no other store of
the byte is unordered with that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..ptx.decode import DecodedStatement
from ..ptx.operands import vector_elements, vector_places
from ..values.block_threads import WARP, by_warp
from ..values.lane_numbers import LaneNumbers, Numbers, number_at
from ..values.launch_answers import answer
from ..values.word_algebra import WORD
from ..walks.registers import Registers
from ..walks.walk_steps import WalkStep
from .clocks import Clock
from .thread_bytes import WarpBytes, thread_bytes
from .unknown_bytes import UnknownBytes

__all__ = ["SharedWords"]

_ADDRESSES = 1 << 32  # generic addresses from here on are not of shared memory
_BYTE = 8
_WIDEST = 16  # bytes of one thread's access
_NEVER = 1 << 60
_CANCELED = 6  # launches of other clusters that a block takes over, before there are no more
_STORES = frozenset(("store", "update", "copy", "bulk-copy", "allocate"))


class _Stored(NamedTuple):
    """A byte; by which act of which warp; whether it follows from an assumed number."""

    value: int | None
    warp: int
    act: int
    assumed: bool


def _either(one: _Stored, other: _Stored) -> _Stored:
    """What two stores leave that nothing orders: either may come last."""
    return other if one.value == other.value else other._replace(value=None, act=_NEVER)


def _is_open(base: Numbers, threads: tuple[int, ...]) -> bool:
    """Whether the address is not known in some thread."""
    return base is None or (
        isinstance(base, LaneNumbers) and bool(base.unknown) and None in base.by_value(threads)
    )


class SharedWords:
    """The known bytes of a block's shared memory, and who wrote the others. `clocks`: those of its warps."""

    def __init__(self, clocks: Sequence[Clock]) -> None:
        self.clocks = clocks
        self._bytes: dict[int, _Stored] = {}
        self._unknown = UnknownBytes(clocks)  # written earlier than what _bytes has of the same bytes
        self._answered = 0  # requests to cancel the launch of another cluster

    def store(
        self, registers: Registers, step: WalkStep, threads: tuple[int, ...], surely: bool = True
    ) -> None:
        """Remember what threads write; forget it where the number is not known, or whether they write it."""
        statement = step.statement
        address = statement.address
        if statement.does not in _STORES or statement.operation.space not in ("shared", "generic"):
            return
        base = None
        if address is not None:
            base = registers.base(address, statement.scope)
        if address is None or _is_open(base, threads):
            self._bytes.clear()
            self._unknown.clear()
            return
        assert base is not None
        width, values = statement.bytes or _WIDEST, self._values(registers, statement) if surely else []
        if all(value is None for value in values):
            written = self._written(base, threads, width, address.offset)
            if written is not None:
                self._forget(written)
                return
        stored = self._stored(base, threads, address.offset, width, values)
        if values and statement.operation.action.answer:
            stored = self._spread(registers, step, stored)
        assumed = not registers.assumed.isdisjoint(step.read)
        earlier = self._unknown.meeting(min(stored, default=0), max(stored, default=-1) + 1)
        for place, new in stored.items():
            self._put(place, new._replace(assumed=assumed), earlier)

    def _stored(
        self, base: Numbers, threads: tuple[int, ...], offset: int, width: int, values: Sequence[Numbers]
    ) -> dict[int, _Stored]:
        """What threads store in each byte."""
        size = width // max(len(values), 1)
        stored: dict[int, _Stored] = {}
        for thread in threads:
            low = number_at(base, thread)
            assert low is not None
            low += offset
            if not 0 <= low < _ADDRESSES:
                continue
            warp = thread // WARP
            act = self.clocks[warp].seen[warp]
            for element, numbers in enumerate(values or (None,)):
                value = number_at(numbers, thread)
                for place in range(size):
                    byte = None
                    if value is not None and _BYTE * place < WORD:
                        byte = value >> _BYTE * place & 0xFF
                    new = _Stored(byte, warp, act, False)
                    at = low + element * size + place
                    before = stored.get(at)
                    stored[at] = new if before is None else _either(before, new)
        return stored

    def _written(
        self, base: int | LaneNumbers, threads: tuple[int, ...], width: int, offset: int
    ) -> list[WarpBytes] | None:
        """The bytes that threads write, each by the last warp that does; None if they lie too far apart."""
        known = thread_bytes(base, threads, width)
        if len(known) < len(by_warp(threads)):
            return None
        found: list[WarpBytes] = []
        for warp, first, last, flags in reversed(known):
            start = first + offset
            if last + offset < 0 or start >= _ADDRESSES:
                continue
            if start < 0 or last + offset >= _ADDRESSES:
                return None
            for other in found:
                apart = other.start - start
                flags &= ~(other.flags << apart if apart >= 0 else other.flags >> -apart)
            found.append(WarpBytes(warp, start, last + offset, flags))
        return found

    def _forget(self, written: Sequence[WarpBytes]) -> None:
        """Forget bytes that are overwritten by numbers that are not known."""
        for warp, start, _, flags in written:
            end = start + flags.bit_length()
            seen = self.clocks[warp].seen
            for place in [p for p in self._bytes if start <= p < end and flags >> p - start & 1]:
                before = self._bytes[place]
                if before.value is not None and seen[before.warp] < before.act:
                    self._bytes[place] = before._replace(value=None, act=_NEVER)
                else:
                    del self._bytes[place]
            self._unknown.put(start, flags, warp, seen[warp])

    def _spread(
        self, registers: Registers, step: WalkStep, stored: Mapping[int, _Stored]
    ) -> dict[int, _Stored]:
        """An answer in each block that gets it. All know it: that they wait for it is judged elsewhere."""
        steps = registers.steps
        ranks = range(steps.blocks) if step.statement.operation.is_multicast else (None,)
        return {
            place if rank is None else steps.in_window(place, rank): one._replace(act=0)
            for rank in ranks
            for place, one in stored.items()
        }

    def _answer(self, registers: Registers) -> int:
        """The answer to the next request to cancel the launch of another cluster: some are canceled."""
        self._answered += 1
        more = self._answered <= _CANCELED
        return answer(self._answered * registers.steps.grid["%cluster_nctaid.x"] if more else None)

    def _values(self, registers: Registers, statement: DecodedStatement) -> list[Numbers]:
        """What is stored, by the elements of a vector; nothing if no thread's own number is."""
        if statement.operation.action.answer == "given":
            return [self._answer(registers), None]
        if statement.does != "store" or statement.rows is not None or len(statement.operands) != 2:
            return []
        elements = vector_elements(statement.operands[1])
        return [registers.value(element, statement.scope) for element in elements]

    def _put(self, place: int, new: _Stored, earlier: Sequence[tuple[int, int, int, int]]) -> None:
        before = self._bytes.get(place)
        if before is None:
            for start, flags, warp, act in earlier:
                if place >= start and flags >> place - start & 1:
                    before = _Stored(None, warp, act, False)
                    break
        if before is not None and self.clocks[new.warp].seen[before.warp] < before.act:
            new = _either(before, new)
        self._bytes[place] = new

    def load(
        self, registers: Registers, step: WalkStep, threads: tuple[int, ...]
    ) -> tuple[list[Numbers], bool]:
        """What a load brings to each thread, by destination; whether that follows from an assumed number."""
        statement = step.statement
        address, count = statement.address, len(step.written)
        places, elements = vector_places(statement.operands[0])
        unknown: list[Numbers] = [None] * count
        if address is None or statement.bytes is None or len(places) != count:
            return unknown, True
        base = registers.base(address, statement.scope)
        size = statement.bytes // elements
        if threads and _is_open(base, threads):
            return unknown, True
        read = min(size, WORD // _BYTE)  # of a register of 128 bits, the lower 64
        assumed = not registers.assumed.isdisjoint(step.read)
        if not self._bytes:
            return unknown, assumed
        found: list[list[int | None]] = [[None] * len(registers.threads) for _ in range(count)]
        for thread in threads:
            low = number_at(base, thread)
            assert low is not None
            clock = self.clocks[thread // WARP]
            for element, row in zip(places, found, strict=True):
                parts = list(self._known(low + address.offset + element * size, read, clock))
                if len(parts) == read:
                    row[thread] = int.from_bytes([one.value or 0 for one in parts], "little")
                    assumed |= any(one.assumed for one in parts)
        if step.words[-1][:1] == "s" and any(
            value and value >> size * _BYTE - 1 for row in found for value in row
        ):
            return unknown, True  # its sign is extended
        return [registers.math.joined(row) for row in found], assumed

    def _known(self, low: int, size: int, clock: Clock) -> Iterator[_Stored]:
        """The bytes at an address that are known to a warp."""
        for place in range(low, low + size):
            stored = self._bytes.get(place)
            if stored is not None and stored.value is not None and clock.seen[stored.warp] >= stored.act:
                yield stored
