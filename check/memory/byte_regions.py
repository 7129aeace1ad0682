"""Bytes of shared memory: those that a statement may access, and whether two accesses may overlap."""

from __future__ import annotations

from typing import NamedTuple

from ...spec.addresses import ADDRESSES
from ..values.interval import Interval

__all__ = ["FAR", "ByteRegion", "region_of"]

FAR = 1 << 40  # beyond the offsets of every variable: the region has no upper bound
_LARGEST = ADDRESSES  # bytes: no block has more shared memory


class ByteRegion(NamedTuple):
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

    @property
    def is_known(self) -> bool:
        """Whether its bytes are those of a variable, as far as shared memory reaches."""
        return self.base is not None and 0 <= self.low < self.high <= _LARGEST

    @property
    def is_bounded(self) -> bool:
        """Whether its bytes are those of a variable of some block of a cluster."""
        return self.base is not None and 0 <= self.low < self.high <= min(self.low + _LARGEST, FAR)

    @property
    def variable(self) -> str:
        """The variable's name."""
        return "dynamic shared memory" if self.base == "extern" else self.base or "shared memory"

    @property
    def span(self) -> str:
        """Its bytes as numbers."""
        return f"{self.low}..{self.high - 1}"

    def __str__(self) -> str:
        if self.base is None:
            return "shared memory at an address that is not known"
        name = self.variable
        if not self.is_known:
            return f"{name}, at an offset that is not known"
        return f"bytes {self.span} of {name}"


def region_of(value: Interval, width: int) -> ByteRegion:
    """The bytes of an access of `width` bytes at an address; anywhere if the address has no variable."""
    if value.base is None:
        return ByteRegion(None, 0, 0)
    return ByteRegion(value.base, value.low, value.high + width)
