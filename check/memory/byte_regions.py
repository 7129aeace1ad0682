"""Bytes of shared memory: those that a statement may access, and whether two accesses may overlap."""

from __future__ import annotations

from dataclasses import dataclass

from ..values.interval import Interval

__all__ = ["FAR", "ByteRegion", "region_of"]

FAR = 1 << 40  # beyond the offsets of every variable: the region has no upper bound


@dataclass(frozen=True, slots=True)
class ByteRegion:
    """Bytes [low, high) of a variable; if `base` is None, as many bytes anywhere."""

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
        if self.low < -FAR or self.high > FAR:
            return f"{name}, at an offset that is not known"
        return f"{name}, bytes {self.low} to {self.high - 1}"


def region_of(value: Interval, width: int) -> ByteRegion:
    """The bytes of an access of `width` bytes at an address; anywhere if the address has no variable."""
    if value.base is None:
        return ByteRegion(None, 0, 0)
    return ByteRegion(value.base, value.low, value.high + width)
