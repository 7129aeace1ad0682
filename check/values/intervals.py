"""What integer registers may hold: an interval, beside the address of a shared variable; whatever the path.

A value is `(base + [low, high]) >> shift`: base is a variable's name or nothing, shift is that of an
address field of a matrix descriptor, of which the higher fields are kept apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from ...spec.api import load
from ...spec.descriptor import address_field
from ..ptx.dataflow import Equations
from ..ptx.decode import DecodedFunction, DecodedStatement
from ..ptx.operands import Address, number_of
from ..ptx.source import PtxModule

__all__ = ["TOP", "Interval", "Values", "joined"]

Words = tuple[str, ...]  # the parts of an opcode, or the texts of operands
_WIDEST = 1 << 62
_LOW = (1 << 32) - 1
_ROUNDS = 12  # how often a value may grow before it is widened
_MANY = 64  # a register with more definitions may hold anything
_NAMED = re.compile(r"[%$A-Za-z_][\w$]*(?:\.[xyzw])?")
_SPECIAL = re.compile(r"%(\w+?)(?:\.[xyz])?$")
_COMPARED = {"lt": -1, "le": 0, "gt": 1, "ge": 0}


@dataclass(frozen=True, slots=True)
class Interval:
    """`base + [low, high]`, shifted right by `shift` bits; `fields`: the higher bits of a descriptor."""

    low: int
    high: int
    base: str | None = None
    shift: int = 0
    fields: int | None = 0

    @property
    def constant(self) -> int | None:
        """The number, where it is one."""
        return self.low if self.low == self.high and self.base is None and not self.shift else None

    @property
    def known(self) -> bool:
        """Whether anything is known."""
        return self.base is not None or self.low > -_WIDEST or self.high < _WIDEST


@dataclass(frozen=True, slots=True)
class _Encoding:
    """How a matrix descriptor holds an address: bits dropped, bits kept, and where the fields above begin."""

    dropped: int
    kept: int
    above: int

    @property
    def mask(self) -> int:
        """The bits of the address field."""
        return (1 << self.kept) - 1

    def fields(self, number: int) -> int:
        """What a number holds above the address field, in whole steps of the lowest field there."""
        return number >> self.above << self.above

    def nearest_fields(self, number: int) -> int:
        """The fields whose sum with a small offset, perhaps a negative one, is a number."""
        return self.fields(number + (1 << self.above - 1))


@cache
def _encoding() -> _Encoding:
    """That of the first descriptor: a value does not say which descriptor it will be."""
    descriptor = next(iter(load().descriptors.values()))
    address = address_field(descriptor)
    above = min((field.low for field in descriptor.fields.values() if field.low > address.high), default=64)
    return _Encoding(address.unit.bit_length() - 1, address.high - address.low + 1, above)


TOP = Interval(-_WIDEST, _WIDEST, fields=None)


def _clamped(low: int, high: int, base: str | None, shift: int, fields: int | None) -> Interval:
    if low <= -_WIDEST or high >= _WIDEST:
        low, high = max(low, -_WIDEST), min(high, _WIDEST)
        if base is None:
            return replace(TOP, low=low, high=high)
    return Interval(low, high, base, shift, fields)


def joined(left: Interval | None, right: Interval) -> Interval:
    """What may be either."""
    if left is None or left == right:
        return right
    if left.base != right.base or left.shift != right.shift:
        return TOP
    fields = left.fields if left.fields == right.fields else None
    return Interval(min(left.low, right.low), max(left.high, right.high), left.base, left.shift, fields)


def _grown(old: Interval, new: Interval, turn: int) -> Interval:
    """What a register may hold that held `old` so far and `new` now; a bound that grows on is dropped."""
    if old is not _NOTHING and new is not _NOTHING:
        new = joined(old, new)
    if new == old or turn <= _ROUNDS:
        return new
    if turn > 2 * _ROUNDS:
        return TOP
    if old is _NOTHING or new.base != old.base:
        return new
    low = new.low if new.low == old.low else -_WIDEST
    high = new.high if new.high == old.high else _WIDEST
    return _clamped(low, high, new.base, new.shift, new.fields)


class Values:
    """The values of a function's registers, found on demand."""

    def __init__(self, module: PtxModule, code: DecodedFunction) -> None:
        self.module = module
        self.code = code
        self.function = code.function
        self.definitions = code.definitions
        self._registers: Equations[str, Interval] = Equations(
            self._sources, self._defined, _NOTHING, _grown, lambda value: TOP if value is _NOTHING else value
        )

    def address(self, address: Address | None, scope: int) -> Interval:
        """Where an address may point; anywhere if it could not be decoded."""
        if address is None:
            return TOP
        base = Interval(0, 0) if address.base is None else self.operand(address.base, scope)
        return _shifted(base, address.offset, address.offset)

    def operand(self, text: str, scope: int) -> Interval:
        """What an operand may hold."""
        number = number_of(text)
        if number is not None:
            return Interval(number & _LOW if 0 <= number <= _LOW else number, number, fields=number >> 32)
        if not _NAMED.fullmatch(text):
            return TOP
        register = self.function.register(text, scope)
        if register is not None:
            return self._registers[register[0]]
        variable = self.function.variable(text, scope) or self.module.variables.get(text)
        if variable is not None:
            return Interval(0, 0, variable.name if variable.size is not None else "extern")
        special = _SPECIAL.match(text)
        if special:
            return self._special(special[1], text)
        return TOP

    def _special(self, name: str, text: str) -> Interval:
        threads = self.function.threads
        if name == "laneid":
            return Interval(0, 31)
        if name == "tid":
            if threads:
                return Interval(0, threads["xyz".index(text[-1])] - 1)
            return Interval(0, 1023)
        if name == "warpid":
            return Interval(0, 31)
        if name in ("ctaid", "nctaid", "ntid"):
            return Interval(0, (1 << 31) - 1)
        return TOP

    def _sources(self, name: str) -> list[str]:
        """The registers that a register's definitions read, where the instruction is modelled."""
        found: list[str] = []
        definitions = self.definitions.get(name, ())
        if len(definitions) > _MANY:
            return []
        for index in definitions:
            if self.code.operation(index).words[0] in _MODELS:
                found += self.code[index].reads
        return found

    def _defined(self, name: str) -> Interval:
        definitions = self.definitions.get(name, ())
        if not definitions or len(definitions) > _MANY:
            return TOP
        found = _NOTHING
        for index in definitions:
            one = self._evaluate(self.code[index])
            if one == TOP:
                return TOP
            if one is not _NOTHING:
                found = one if found is _NOTHING else joined(found, one)
        return found

    def _evaluate(self, statement: DecodedStatement) -> Interval:
        """What one instruction computes; an instruction that is not modelled may compute anything."""
        head = statement.operation.words
        model = _MODELS.get(head[0])
        if model is None:
            return TOP
        parts = statement.operands
        if parts and "|" in parts[0] and head[0] != "shfl":
            return TOP
        return model(self, statement, head, parts)

    def _two(self, statement: DecodedStatement, parts: Words) -> tuple[Interval, Interval]:
        return self.operand(parts[1], statement.scope), self.operand(parts[2], statement.scope)

    def _move(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        if len(parts) < 2 or parts[1].startswith("{") or parts[0].startswith("{"):
            return TOP
        return self.operand(parts[1], statement.scope)

    def _convert(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        value = self._move(statement, head, parts)
        kinds = head[-2:]
        if any(kind[0] not in "usb" for kind in kinds):
            return TOP
        bits = int(kinds[0][1:]) if kinds[0][1:].isdigit() else 0
        if value is _NOTHING or value.base is not None or value.shift:
            return value
        if bits and value.low >= 0 and value.high < (1 << (bits - 1)):
            return value
        if kinds == ("s64", "s32") or kinds[0] == kinds[1]:
            return value
        return Interval(0, (1 << bits) - 1, fields=None) if kinds[0][0] == "u" and bits <= 32 else TOP

    def _add(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        if head[0] == "sub":
            if right.base is not None:
                return TOP
            return _shifted(left, -right.high, -right.low)
        if left.base is not None and right.base is not None:
            return TOP
        if right.base is not None or right.shift:
            left, right = right, left
        if left.shift and right.shift:
            return TOP
        if not left.shift and left.base is None and right.constant is not None and right.constant > _LOW:
            return TOP
        if left.shift and not left.fields and right.constant is not None:  # the fields above an address
            fields = _encoding().nearest_fields(right.constant)
            offset = right.constant - fields
            known = None if left.fields is None else fields
            return _shifted(replace(left, fields=known), offset, offset)
        return _shifted(left, right.low, right.high)

    def _multiply(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        if "hi" in head or left.base or right.base or left.shift or right.shift or head[-1][0] == "f":
            return TOP
        product = _products(left, right)
        if head[0] == "mad":
            third = self.operand(parts[3], statement.scope)
            if third is _NOTHING:
                return _NOTHING
            return _shifted(third, product.low, product.high)
        return product

    def _shift_left(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        amount = right.constant
        if amount is None or left.base or not 0 <= amount < 32:
            return TOP
        if left.shift:
            return replace(left, shift=left.shift - amount) if amount <= left.shift else TOP
        return _products(left, Interval(1 << amount, 1 << amount))

    def _shift_right(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        amount = right.constant
        if amount is None or not 0 <= amount < 64:
            return TOP
        if left.base is not None:
            return (
                replace(left, shift=left.shift + amount)
                if left.shift + amount == _encoding().dropped
                else TOP
            )
        if left.shift:
            return TOP
        if left.low < 0 and head[-1][0] != "s":
            bits = int(head[-1][1:])
            return Interval(0, ((1 << bits) - 1) >> amount, fields=None)
        return _clamped(left.low >> amount, left.high >> amount, None, 0, 0)

    def _extract(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        value = self.operand(parts[1], statement.scope)
        low, count = number_of(parts[2]), number_of(parts[3])
        if value is _NOTHING:
            return _NOTHING
        if low is None or count is None or not 0 < count < 32:
            return TOP
        if value.base is not None:
            dropped, kept = _encoding().dropped, _encoding().kept
            encodes = low == dropped and count >= kept and not value.shift
            return replace(value, shift=dropped) if encodes else TOP
        if head[-1][0] == "s":
            return Interval(-(1 << count - 1), (1 << count - 1) - 1, fields=None)
        high = (1 << count) - 1
        return Interval(
            0, min(high, value.high >> low) if value.low >= 0 and value.high >> low <= high else high
        )

    def _and(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        if right.base is not None or right.shift:
            left, right = right, left
        mask = right.constant
        if left.base is not None:
            wanted = _encoding().mask << _encoding().dropped >> left.shift
            return left if mask is not None and mask & wanted == wanted else TOP
        bounds = [value.high for value in (left, right) if value.low >= 0]
        if not bounds:
            return TOP
        return Interval(0, min(bounds), fields=None if min(bounds) > _LOW else 0)

    def _or(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        if right.base is not None or right.shift:
            left, right = right, left
        if left.base is not None and right.base is None and not right.shift:
            number = right.constant
            if left.shift and number is not None and not number & _encoding().mask:
                fields = None if left.fields is None else left.fields | _encoding().fields(number)
                return replace(left, fields=fields)
            if right.low >= 0 and right.high < 1 << 20:
                width = (1 << right.high.bit_length()) - 1
                below = width if head[0] == "xor" else 0
                return _shifted(left, -(below >> left.shift), width >> left.shift)
            return TOP
        if left.base or right.base or left.shift or right.shift or min(left.low, right.low) < 0:
            return TOP
        a, b = left.constant, right.constant
        if a is not None and b is not None:
            number = a ^ b if head[0] == "xor" else a | b
            return Interval(number, number)
        low = 0 if head[0] == "xor" else max(left.low, right.low)
        return _clamped(low, (1 << max(left.high, right.high).bit_length()) - 1, None, 0, None)

    def _select(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        scope = statement.scope
        left, right = self.operand(parts[1], scope), self.operand(parts[2], scope)
        bounds = self._comparison(parts[3], scope)
        if bounds is not None:
            name, operator, limit = bounds
            if name == self.function.register(parts[1], scope):
                left = _narrowed(left, operator, limit)
            if name == self.function.register(parts[2], scope):
                opposite = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}[operator]
                right = _narrowed(right, opposite, limit)
        if left is _NOTHING:
            return right
        return left if right is _NOTHING else joined(left, right)

    def _comparison(self, predicate: str, scope: int) -> tuple[tuple[str, str] | None, str, int] | None:
        """The one comparison with a constant that sets a predicate: register, operator, constant."""
        register = self.function.register(predicate, scope)
        found = self.definitions.get(register[0], []) if register else []
        if len(found) != 1:
            return None
        statement = self.code[found[0]]
        head, parts = statement.operation.words, statement.operands
        if head[0] != "setp" or len(parts) != 3 or head[1] not in ("lt", "le", "gt", "ge", "eq", "ne"):
            return None
        limit = number_of(parts[2])
        if limit is None:
            return None
        return self.function.register(parts[1], statement.scope), head[1], limit

    def _extreme(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        if left.base or right.base or head[-1][0] == "f":
            return TOP
        choose: Callable[[int, int], int] = min if head[0] == "min" else max
        return _clamped(choose(left.low, right.low), choose(left.high, right.high), None, 0, None)

    def _remainder(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        left, right = self._two(statement, parts)
        if left is _NOTHING or right is _NOTHING:
            return _NOTHING
        number = right.constant
        if number is None or number <= 0 or left.base:
            return TOP
        if head[0] == "div":
            return _clamped(left.low // number, left.high // number, None, 0, None) if left.low >= 0 else TOP
        return Interval(0 if left.low >= 0 else 1 - number, min(number - 1, max(left.high, 0)))

    def _shuffle(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        return self.operand(parts[1], statement.scope)

    def _logic(self, statement: DecodedStatement, head: Words, parts: Words) -> Interval:
        values = [self.operand(part, statement.scope) for part in parts[1:4]]
        table = number_of(parts[4]) if len(parts) > 4 else None
        if table is None or table & 1 or any(v.low < 0 or v.base or v.shift for v in values):
            return TOP
        return _clamped(0, (1 << max(v.high for v in values).bit_length()) - 1, None, 0, None)


_NOTHING = Interval(1, 0, "nothing")

_Model = Callable[[Values, DecodedStatement, Words, Words], Interval]
_MODELS: Mapping[str, _Model] = {
    "mov": Values._move,
    "cvta": Values._move,
    "cvt": Values._convert,
    "add": Values._add,
    "sub": Values._add,
    "mul": Values._multiply,
    "mad": Values._multiply,
    "shl": Values._shift_left,
    "shr": Values._shift_right,
    "bfe": Values._extract,
    "and": Values._and,
    "or": Values._or,
    "xor": Values._or,
    "selp": Values._select,
    "min": Values._extreme,
    "max": Values._extreme,
    "rem": Values._remainder,
    "div": Values._remainder,
    "shfl": Values._shuffle,
    "lop3": Values._logic,
}


def _shifted(value: Interval, low: int, high: int) -> Interval:
    """A value with an interval added: sixteenfold where it is the address field of a descriptor."""
    if value is _NOTHING:
        return value
    if low <= -_WIDEST or high >= _WIDEST:
        return TOP if value.base is None else replace(value, low=-_WIDEST, high=_WIDEST)
    scale = 1 << value.shift
    return _clamped(value.low + low * scale, value.high + high * scale, value.base, value.shift, value.fields)


def _products(left: Interval, right: Interval) -> Interval:
    if not left.known or not right.known:
        return TOP
    found = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _clamped(min(found), max(found), None, 0, None)


def _narrowed(value: Interval, operator: str, limit: int) -> Interval:
    if value is _NOTHING or value.base is not None:
        return value
    low, high = value.low, value.high
    match operator:
        case "lt":
            high = min(high, limit - 1)
        case "le":
            high = min(high, limit)
        case "gt":
            low = max(low, limit + 1)
        case "ge":
            low = max(low, limit)
        case "eq":
            low = high = limit
    return replace(value, low=low, high=high) if low <= high else _NOTHING
