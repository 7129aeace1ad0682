"""Shared memory as a function uses it: who writes which bytes by which proxy, which matrices wgmma reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ...spec.api import load
from ...spec.memory_records import Descriptor
from ..ptx.source import Function, PtxStatement
from ..ptx.uses import operands_of
from ..values.intervals import Interval, Values, number_of

__all__ = [
    "BARRIER",
    "COPY",
    "GENERIC",
    "INTO_SHARED",
    "Barrier",
    "BulkCopyWrite",
    "ByteRegion",
    "CopyCommit",
    "CopyWait",
    "MatrixRead",
    "MemoryEvent",
    "ProxyFenceStatement",
    "Store",
    "is_generic",
    "matrices",
    "memory_events",
    "width_of",
]

GENERIC = re.compile(
    r"(?:st(?:\.(?:weak|volatile|relaxed|release|\w+))*?\.shared|st\.async|stmatrix|red(?:\.\w+)*?\.shared|atom(?:\.\w+)*?\.shared)"
)
COPY = re.compile(r"cp\.async\.c[ag]\.shared")
_WIDTH = re.compile(r"\.(?:v(\d)\.)?[a-z]+(\d+)$")
INTO_SHARED = re.compile(r"\.shared::(?:cta|cluster)\.global")
BARRIER = re.compile(
    r"(?:bar\.(?:cta\.)?(?:sync|red)|barrier\.(?:cta\.)?(?:sync|red)|barrier\.cluster\.wait|bar\.sync|mbarrier\.(?:try|test)_wait)"
)
_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)")
_TYPES = re.compile(r"\.(f16|bf16|tf32|e4m3|e5m2|s8|u8|b1)(?=\.|$)")
_WIDTHS = (16, 128, 64, 32)  # bytes of a line, by the code of the swizzling mode


@dataclass(frozen=True, slots=True)
class ByteRegion:
    """Bytes [low, high) of a variable; where `base` is None, as many bytes anywhere."""

    base: str | None
    low: int
    high: int

    def meets(self, other: ByteRegion) -> bool:
        """Whether the two may have a byte in common."""
        if self.base is not None and other.base is not None and self.base != other.base:
            return False
        if self.base is None or other.base is None:
            return True
        return self.low < other.high and other.low < self.high

    def __str__(self) -> str:
        if self.base is None:
            return "shared memory at an address that is not known"
        name = "dynamic shared memory" if self.base == "extern" else self.base
        if self.low < -_FAR or self.high > _FAR:
            return f"{name}, at an offset that is not known"
        return f"{name}, bytes {self.low} to {self.high - 1}"


_FAR = 1 << 40


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
    """Threads of the block wait for others: a barrier, or the wait on an mbarrier."""

    statement: int


@dataclass(frozen=True, slots=True)
class BulkCopyWrite:
    """A bulk copy into shared memory, through the async proxy; its size is not known."""

    statement: int
    region: ByteRegion


@dataclass(frozen=True, slots=True)
class MatrixRead:
    """A wgmma reads matrices in shared memory."""

    statement: int
    regions: tuple[ByteRegion, ...]


MemoryEvent = BulkCopyWrite | Store | CopyCommit | CopyWait | ProxyFenceStatement | Barrier | MatrixRead


def memory_events(function: Function, values: Values) -> Iterator[MemoryEvent]:
    """What a function does to shared memory that the async proxy's order depends on."""
    for index, statement in enumerate(function.statements):
        head = statement.opcode.partition(".")[0]
        if head not in _HEADS:
            continue
        opcode = statement.opcode
        if opcode.startswith("wgmma.mma_async"):
            yield MatrixRead(
                index, tuple(matrices(opcode, operands_of(statement), statement.scope, values.operand))
            )
        elif GENERIC.match(opcode) or (head == "st" and is_generic(opcode)):
            region = _written(statement, values)
            if head != "st" or ".shared" in opcode or region.base is not None:
                yield Store(index, region)
        elif COPY.match(opcode):
            yield Store(index, _written(statement, values), True)
        elif opcode.startswith("cp.async.bulk") and INTO_SHARED.search(opcode):
            yield BulkCopyWrite(index, _region(values.address(statement, operands_of(statement)[0]), 16))
        elif opcode.startswith("cp.async.commit_group"):
            yield CopyCommit(index)
        elif opcode.startswith("cp.async.wait_all"):
            yield CopyWait(index, -1)
        elif opcode.startswith("cp.async.wait_group"):
            found = values.operand(statement.operands, statement.scope).constant
            yield CopyWait(index, found if found is not None else 1 << 20)
        elif opcode.startswith("fence.proxy.async") and not opcode.endswith(".global"):
            if statement.guard is None:
                yield ProxyFenceStatement(index)
        elif BARRIER.match(opcode) and statement.guard is None:
            yield Barrier(index)


_HEADS = frozenset(("st", "stmatrix", "red", "atom", "cp", "fence", "bar", "barrier", "mbarrier", "wgmma"))
_SPACES = (".global", ".local", ".param", ".const", ".shared", ".bulk")


def is_generic(opcode: str) -> bool:
    return not any(space in opcode for space in _SPACES)


def _written(statement: PtxStatement, values: Values) -> ByteRegion:
    parts = operands_of(statement)
    return _region(values.address(statement, parts[0]), width_of(statement))


def width_of(statement: PtxStatement) -> int:
    """How many bytes a thread writes at most."""
    if statement.opcode.startswith("cp.async"):
        parts = operands_of(statement)
        return (number_of(parts[2]) if len(parts) > 2 else None) or 16
    if statement.opcode.startswith("stmatrix"):
        return 16
    found = _WIDTH.search(statement.opcode)
    return int(found[1] or 1) * int(found[2]) // 8 if found else 16


def _region(value: Interval, width: int) -> ByteRegion:
    if value.base is None:
        return ByteRegion(None, 0, 0)
    return ByteRegion(value.base, value.low, value.high + width)


@cache
def _descriptor() -> Descriptor:
    return load().descriptors["wgmma"]


def _field(fields: int, name: str) -> int:
    entry = _descriptor().fields[name]
    return (fields >> entry.low & (1 << entry.high - entry.low + 1) - 1) * entry.unit


@cache
def _factors(opcode: str) -> tuple[int, int, int, int] | None:
    """Of a wgmma: M, N, K and the bits of an element."""
    shape = _SHAPE.search(opcode)
    types = _TYPES.findall(opcode)
    if shape is None or not types:
        return None
    return int(shape[1]), int(shape[2]), int(shape[3]), load().index.types[types[-1]].bits


def matrices(
    opcode: str, parts: Sequence[str], scope: int, operand: Callable[[str, int], Interval]
) -> Iterator[ByteRegion]:
    """The bytes that the matrices of a wgmma may take: from above, where the descriptor says how they lie."""
    factors = _factors(opcode)
    if factors is None:
        return
    m, n, k, bits = factors
    wide = bits == 16
    sparse = ".sp." in opcode
    first = 5 if sparse else 3
    behind = parts[first + 3 :] if wide else []
    for position, rows, depth in ((1, m, k // 2 if sparse else k), (2, n, k)):
        if position >= len(parts) or parts[position].startswith("{"):
            continue
        transposed = bool(behind) and behind[min(position - 1, len(behind) - 1)] == "1"
        value = operand(parts[position], scope)
        if value.base is None or value.shift != 4:
            yield ByteRegion(None, 0, rows * depth * bits // 8)
            continue
        if value.fields is None:
            yield ByteRegion(value.base, value.low, _FAR + 1)
            continue
        leading = _field(value.fields, "leading-dimension-byte-offset")
        stride = _field(value.fields, "stride-dimension-byte-offset")
        width = _WIDTHS[_field(value.fields, "swizzle-mode")]
        if transposed:
            size = -(-rows * bits // 8 // width) * leading - leading + (depth // 8 - 1) * stride + 8 * width
        else:
            size = (rows // 8 - 1) * stride + 8 * width
            if width == 16:
                size += (depth * bits // 128 - 1) * leading
        # A swizzled matrix keeps to its lines, wherever in one it begins.
        yield ByteRegion(value.base, value.low // width * width, value.high // width * width + size)
