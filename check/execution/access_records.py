"""What an access of shared memory by threads of a warp is, and a pair of accesses that nothing orders."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..memory.byte_regions import ByteRegion

__all__ = [
    "LINE",
    "AccessedBytes",
    "GenericAccess",
    "GenericRace",
    "WrittenData",
    "accessed",
    "both_access",
    "first_of",
    "in_a_row",
    "warp_name",
]

LINE = 64  # bytes: a word has a bit for each


class GenericRace(NamedTuple):
    """Two accesses of the same bytes, by two warps unless one is a copy; `first` is executed first. `lanes`:
    of one warp, those that access them.

    `placed`: an assumed number decides where one of them lies. what: `unsynchronised` (no barrier and no
    phase orders the two), `elsewhere` (so it is, and one is by a warp of another block of the cluster), or of
    copies `incomplete` (no wait covers the copy), `draining` (no wait covers the bulk store), `unfenced` (no
    proxy fence between a generic write and a bulk copy).
    """

    first: int
    second: int
    warps: tuple[int, int]
    region: ByteRegion
    doubtful: bool
    placed: bool
    what: str = "unsynchronised"
    lanes: tuple[int | None, int | None] = None, None
    each: int = 0  # warps of each of the blocks that were executed together

    @property
    def who(self) -> list[str]:
        """Who accesses the bytes, in words; a warp, where its lanes do so together."""
        names = [warp_name(warp, self.each) for warp in self.warps]
        pairs = zip(names, self.lanes, strict=True)
        return [warp if lane is None else f"lane {lane} of {warp}" for warp, lane in pairs]


def warp_name(warp: int, each: int) -> str:
    """A warp in words. `each`: the warps of each of the blocks that were executed together; 0: of one."""
    if not each:
        return f"warp {warp}"
    return f"warp {warp % each} of block {warp // each} of the cluster"


class AccessedBytes(NamedTuple):
    """Some bytes from an address on, a bit for each. `lines`: a bit for each line of shared memory that they
    touch, which are few: accesses without a line in common have no byte in common.
    """

    start: int
    flags: int
    lines: int

    def meets(self, other: AccessedBytes) -> bool:
        """Whether the two have a byte in common."""
        (start, flags, lines), (at, others, other_lines) = self, other
        if not lines & other_lines:
            return False
        return bool(flags >> at - start & others if at >= start else others >> start - at & flags)

    def behind(self, place: int) -> int:
        """A bit for each of them from a place on."""
        return self.flags << self.start - place if self.start >= place else self.flags >> place - self.start


@lru_cache(maxsize=1 << 11)
def _lines(flags: int, at: int) -> int:
    """The lines that bytes touch, by how far behind the beginning of a line they begin."""
    flags <<= at
    words = memoryview(flags.to_bytes(-(-flags.bit_length() // LINE) * (LINE // 8), "little")).cast("Q")
    return sum([1 << line for line, word in enumerate(words) if word])


def accessed(start: int, flags: int) -> AccessedBytes:
    """Some bytes from an address on, a bit for each."""
    return AccessedBytes(start, flags, _lines(flags, start % LINE) << start // LINE)


class WrittenData(NamedTuple):
    """What some threads of a warp write: numbers, or what comes from places in global memory, those of each
    register that has addresses there. `moved`: such a register may hold another address than it had then.
    """

    numbers: frozenset[int] | None
    places: tuple[frozenset[int], ...]
    moved: bool

    def differs(self, other: WrittenData, statement: int, by: int) -> bool:
        """Whether another one is surely something else, by the statements that write them."""
        if self.numbers is not None and other.numbers is not None:
            return self.numbers.isdisjoint(other.numbers)
        if not self.places or not other.places:
            return False
        if statement == by:
            return any(map(frozenset.isdisjoint, self.places, other.places))
        mine, others = (frozenset[int]().union(*one.places) for one in (self, other))
        return not (self.moved or other.moved) and mine.isdisjoint(others)


class GenericAccess(NamedTuple):
    """An access by some threads of a warp. `placed`: an assumed number decides where it lies. `strong`: it is
    none of the weak ones, and races with no other strong one. `data`: what is written, where that is known.
    """

    statement: int
    does: str
    bytes: AccessedBytes
    doubtful: bool
    placed: bool
    strong: bool = False
    data: WrittenData | None = None

    def conflicts(self, other: GenericAccess) -> bool:
        """Whether one of the two writes, which the other reads or writes, and one is a weak access."""
        return self.does != other.does and not (self.strong and other.strong)

    def meets(self, other: GenericAccess) -> bool:
        """Whether the two have a byte in common."""
        return self.bytes.meets(other.bytes)


def both_access(first: GenericAccess, second: GenericAccess) -> ByteRegion | None:
    """The first bytes that two accesses have in common; None if they have none."""
    met = first.bytes.flags << first.bytes.start & second.bytes.flags << second.bytes.start
    return first_of(met) if met else None


def first_of(flags: int) -> ByteRegion:
    """The first bytes in a row that have their bits set."""
    low = (flags & -flags).bit_length() - 1
    return ByteRegion("shared", low, low + in_a_row(flags >> low))


def in_a_row(flags: int) -> int:
    """How many bytes from the first one on have their bits set."""
    return (~flags & flags + 1).bit_length() - 1
