"""Intervals with a base address: what the checker knows about a register on every path.

A value is `(base + [low, high]) >> shift`. `base` is the address of a variable of shared memory, or nothing.
`shift` is 0, or as many bits as the address field of a matrix descriptor drops; `fields` are then the
descriptor's fields above the address. Sums are not reduced modulo the register's size: an address that wraps
around lies in no variable.
"""

from __future__ import annotations

from functools import cache

from ...spec.api import load
from ...spec.descriptor import address_field
from ...spec.lazy_dataclass import dataclass

__all__ = ["NOTHING", "TOP", "WIDEST", "AddressEncoding", "Interval", "address_encoding", "between"]

WIDEST = 1 << 62  # a bound this far out counts as no bound


@dataclass(frozen=True, slots=True)
class Interval:
    """`base + [low, high]`, shifted right by `shift` bits; `fields`: the higher bits of a descriptor.

    `fields` is None where these bits are not known. The empty interval is NOTHING, the full one TOP.
    """

    low: int
    high: int
    base: str | None = None
    shift: int = 0
    fields: int | None = 0

    @property
    def constant(self) -> int | None:
        """The number, if the interval is a single number."""
        return self.low if self.low == self.high and self.is_plain else None

    @property
    def is_plain(self) -> bool:
        """Whether it is an interval of plain numbers, not of addresses or descriptors."""
        return self.base is None and not self.shift

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return self.base is not None or self.low > -WIDEST or self.high < WIDEST

    @property
    def is_nothing(self) -> bool:
        """Whether it is empty: no path computes a value."""
        return self.low > self.high

    def __contains__(self, number: int) -> bool:
        """Whether a number is in a plain interval."""
        return self.is_plain and self.low <= number <= self.high

    def __le__(self, other: Interval) -> bool:
        """Whether another interval contains this one."""
        return self.join(other) == other

    def bounded(self, low: int, high: int) -> Interval:
        """The same with other bounds."""
        return Interval(low, high, self.base, self.shift, self.fields)

    def join(self, other: Interval) -> Interval:
        """The interval that contains both."""
        if self == other or self.is_nothing:
            return other
        if other.is_nothing:
            return self
        if self.base != other.base or self.shift != other.shift:
            return TOP
        fields = self.fields if self.fields == other.fields else None
        low, high = min(self.low, other.low), max(self.high, other.high)
        return _clamped(Interval(low, high, self.base, self.shift, fields))

    def widen(self, grown: Interval) -> Interval:
        """`grown`, which contains this one, without the bounds that moved."""
        if self.is_nothing or grown.base != self.base:
            return grown
        low = grown.low if grown.low == self.low else -WIDEST
        high = grown.high if grown.high == self.high else WIDEST
        return _clamped(grown.bounded(low, high))

    def plus(self, low: int, high: int) -> Interval:
        """The sum with an interval of bytes; in a descriptor it goes to the address field, whose step is
        several bytes.
        """
        if self.is_nothing:
            return self
        if low <= -WIDEST or high >= WIDEST:
            return TOP if self.base is None else self.bounded(-WIDEST, WIDEST)
        step = 1 << self.shift
        return _clamped(self.bounded(self.low + low * step, self.high + high * step))

    def times(self, other: Interval) -> Interval:
        """The products with another plain interval."""
        if not self.is_known or not other.is_known:
            return TOP
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return _clamped(Interval(min(products), max(products), fields=None))

    def where(self, operator: str, limit: int) -> Interval:
        """The part for which a comparison with a number is true: lt, le, gt, ge, eq; for ne, the whole
        interval.
        """
        if self.base is not None or operator == "ne":
            return self
        if operator == "eq":
            return self.bounded(limit, limit)
        low = max(self.low, {"gt": limit + 1, "ge": limit}.get(operator, self.low))
        high = min(self.high, {"lt": limit - 1, "le": limit}.get(operator, self.high))
        return self.bounded(low, high) if low <= high else NOTHING


TOP = Interval(-WIDEST, WIDEST, fields=None)
NOTHING = Interval(1, 0, "nothing")


def between(low: int, high: int, fields: int | None = None) -> Interval:
    """The numbers between two; a bound that is too far out is dropped."""
    return _clamped(Interval(low, high, fields=fields))


def _clamped(value: Interval) -> Interval:
    """The value without bounds that are too far out."""
    if value.low > -WIDEST and value.high < WIDEST:
        return value
    low, high = max(value.low, -WIDEST), min(value.high, WIDEST)
    return (TOP if value.base is None else value).bounded(low, high)


@dataclass(frozen=True, slots=True)
class AddressEncoding:
    """How a matrix descriptor holds an address: bits dropped, bits kept, and where the fields above begin."""

    dropped: int
    kept: int
    above: int

    @property
    def mask(self) -> int:
        """The bits of the address field."""
        return (1 << self.kept) - 1

    def fields(self, number: int) -> int:
        """The part of a number above the address field, in whole steps of the lowest field there."""
        return number >> self.above << self.above

    def nearest_fields(self, number: int) -> int:
        """The fields whose sum with a small offset, perhaps a negative one, is a number."""
        return self.fields(number + (1 << self.above - 1))


@cache
def address_encoding() -> AddressEncoding:
    """The encoding of the first descriptor: a value does not say which descriptor it will become."""
    descriptor = next(iter(load().descriptors.values()))
    address = address_field(descriptor)
    above = min((field.low for field in descriptor.fields.values() if field.low > address.high), default=64)
    return AddressEncoding(address.unit.bit_length() - 1, address.high - address.low + 1, above)
