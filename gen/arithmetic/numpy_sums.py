"""The stages of a chip's sums as numpy arrays: one operation for all jobs at once, the same bits.

Terms are arrays (products, jobs), and the addends (1, jobs), so that sums and greatest values run along the
first axis. What is the same for all jobs stays a Python integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.arithmetic_records import ArithmeticModel, ArithmeticStage
from ...spec.chip_arithmetic import (
    FACTORS,
    ZERO,
    C,
    ChipArithmetic,
    SumBlock,
    block_constants,
    constants_of,
)
from ...spec.expressions import fold, names
from ...spec.specification import Specification
from ...spec.workers import cores

__all__ = ["NumpySums"]

_Words = Any  # a Python integer, or an array of unsigned integers (of Python integers where words are wide)
_Scope = dict[str, _Words]
_AT_ONCE = 1 << 14  # products: their arrays stay in the cache of a processor
_TABLED = 16  # bits of an element whose decoding is looked up


class _ArrayReading:
    """The expression language over arrays of one type, and integers."""

    def __init__(self, wide: bool, scope: Mapping[str, _Words]) -> None:
        self.wide = wide
        self.scope = scope

    def number(self, value: int) -> _Words:
        return value

    def name(self, identifier: str) -> _Words:
        return self.scope[identifier]

    def binary(self, op: str, left: _Words, right: _Words) -> _Words:
        if op in ("<<", ">>") and self.wide:
            return _WIDE_SHIFTS[op](left, right)
        if op in ("&", "*") and (_is_zero(left) or _is_zero(right)):
            return 0
        if op in ("|", "^", "+") and (_is_zero(left) or _is_zero(right)):
            return right if _is_zero(left) else left
        if op not in ("&", "|", "^") or not (_is_byte(left) and _is_byte(right)):
            left, right = _widened(left), _widened(right)
        return _BINARY[op](left, right)

    def compare(self, op: str, left: _Words, right: _Words) -> _Words:
        return _COMPARE[op](left, right)

    def connective(self, op: str, left: _Words, right: _Words) -> _Words:
        if isinstance(left, bool) or isinstance(right, bool):
            one, other = (left, right) if isinstance(left, bool) else (right, left)
            return other if one == (op == "and") else one
        return left & right if op == "and" else left | right

    def negation(self, operand: _Words) -> _Words:
        return not operand if isinstance(operand, bool) else ~operand

    def where(self, condition: _Words, then: _Words, otherwise: _Words) -> _Words:
        if isinstance(condition, bool):
            return then if condition else otherwise
        if isinstance(then, int) and isinstance(otherwise, int):
            if (then, otherwise) == (1, 0) and not self.wide:
                return condition.view(np.uint8)
            then, otherwise = self.array(then), self.array(otherwise)
        return np.where(condition, _widened(then), _widened(otherwise))

    def array(self, value: int) -> _Words:
        return np.array(value, object) if self.wide else np.uint64(value)

    def bits(self, operand: _Words) -> _Words:
        if isinstance(operand, int):
            return operand.bit_length()
        if self.wide:
            return _LENGTH(operand)
        high, low = operand >> 32, operand & 0xFFFFFFFF  # each is a float64 without rounding
        length = np.where(
            high > 0, np.frexp(high.astype(np.float64))[1] + 32, np.frexp(low.astype(np.float64))[1]
        )
        return length.astype(np.uint64)


def _is_byte(value: _Words) -> bool:
    """Whether bit operations may be done on bytes."""
    return value < 256 if isinstance(value, int) else value.dtype == np.uint8


def _widened(value: _Words) -> _Words:
    """An array of truth values, which are bytes, as one of words."""
    return value.astype(np.uint64) if getattr(value, "dtype", None) == np.uint8 else value


def _is_zero(value: _Words) -> bool:
    return isinstance(value, int) and value == 0


def _shifted(left: Callable[[int, int], int]) -> Callable[[_Words, _Words], _Words]:
    """A shift of Python integers; of an amount that is negative, where another branch is taken, it is 0."""
    shift = np.frompyfunc(lambda value, by: left(value, by) if by >= 0 else 0, 2, 1)
    return lambda value, by: shift(value, by)


_WIDE_SHIFTS = {"<<": _shifted(lambda a, b: a << b), ">>": _shifted(lambda a, b: a >> b)}
_LENGTH = np.frompyfunc(int.bit_length, 1, 1)
_BINARY: Mapping[str, Callable[[_Words, _Words], _Words]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}
_COMPARE: Mapping[str, Callable[[_Words, _Words], _Words]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class NumpySums:
    """One variant's elements of D on a chip, for many jobs at once."""

    specification: Specification
    arithmetic: ChipArithmetic
    _tables: dict[tuple[int, str, bool], _Scope] = field(default_factory=dict)

    def codes(
        self,
        a: NDArray[np.integer],
        b: NDArray[np.integer],
        c: NDArray[np.integer],
        negated: tuple[bool, bool] = (False, False),
    ) -> NDArray[np.uint64]:
        """The bit patterns of D: of a and b (jobs, products) and c (jobs,)."""
        found = np.empty(len(c), np.uint64)
        if a.size >> _TABLED:
            self._tabulate(negated)
        step = max(1, _AT_ONCE // max(1, self.arithmetic.products))

        def part(start: int) -> None:
            rows = slice(start, start + step)
            with np.errstate(all="ignore"):
                found[rows] = self._blocks(a[rows].T, b[rows].T, c[rows], negated)

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(part, range(0, len(c), step)))
        return found

    def _blocks(self, a: _Words, b: _Words, c: _Words, negated: tuple[bool, bool]) -> _Words:
        sums: list[_Words] = []
        for number, block in enumerate(self.arithmetic.blocks):
            zero = np.zeros(len(c), np.uint64)
            addends = [c if n == C else zero if n == ZERO else sums[n] for n in block.addends]
            products = list(block.products)
            whole = len(products) == len(a)
            factors = (a, b) if whole else (a[products], b[products])
            found = self._block(number, factors, addends, negated)
            constant = isinstance(found, int)
            sums.append(np.full(len(c), found, np.uint64) if constant else found.astype(np.uint64))
        return sums[-1]

    def _block(
        self,
        number: int,
        factors: tuple[_Words, _Words],
        addends: Sequence[_Words],
        negated: tuple[bool, bool],
    ) -> _Words:
        block = self.arithmetic.blocks[number]
        result: _Scope = dict(self._constants[number])
        terms: list[tuple[_Scope, int]] = []  # with how many there are
        if block.products:
            scope = dict(result)
            for part, codes, negates in zip(FACTORS, factors, negated, strict=True):
                scope |= self._element(number, part, self.arithmetic.types[part], codes, negates)
            self._all(block, scope, "product")
            terms.append((scope, len(block.products)))
        for codes, element in zip(addends, block.types, strict=True):
            scope = result | self._element(number, "C", element, codes[None], False)
            self._all(block, scope, "addend")
            terms.append((scope, 1))
        for stage in block.model.stages:
            if stage.each == "term":
                for scope, _ in terms:
                    scope |= result
                    self._let(block, stage, scope)
                if stage.reduce:
                    taken = _greatest if stage.reduce == "greatest" else _sum
                    for name in stage.let:
                        result[name] = taken([(scope[name], count) for scope, count in terms])
            elif stage.each == "result":
                self._let(block, stage, result)
        return result["code"]

    @cached_property
    def _constants(self) -> Sequence[Mapping[str, int]]:
        """What all stages of each block know."""
        arithmetic = self.arithmetic
        return [block_constants(self.specification, arithmetic, block) for block in arithmetic.blocks]

    def _element(self, number: int, part: str, element: str, codes: _Words, negated: bool) -> _Scope:
        """The names of elements, with the prefix of their part; looked up where there is a table."""
        block, known = self.arithmetic.blocks[number], constants_of(self.specification, element)
        table = self._tables.get((number, element, negated))
        if table is None:
            words = codes.astype(object if _is_wide(block) else np.uint64)
            names_of = self._decoded(block, known, words, negated)
        else:
            index = codes.astype(np.intp)
            names_of = {name: _looked_up(values, index) for name, values in table.items()}
        return {f"{part.lower()}_{name}": value for name, value in {**known, **names_of}.items()}

    def _tabulate(self, negated: tuple[bool, bool]) -> None:
        """Make a table of what every code means, for the types that have few."""
        for number, block in enumerate(self.arithmetic.blocks):
            factors = [
                (self.arithmetic.types[part], sign) for part, sign in zip(FACTORS, negated, strict=True)
            ]
            for element, negates in (*factors, *((name, False) for name in block.types)):
                known, key = constants_of(self.specification, element), (number, element, negates)
                if key not in self._tables and known["width"] <= _TABLED and not _is_wide(block):
                    every = np.arange(1 << known["width"], dtype=np.uint64)
                    decoded = self._decoded(block, known, every, negates)
                    self._tables[key] = {name: _smallest(value) for name, value in decoded.items()}

    def _decoded(self, block: SumBlock, known: Mapping[str, int], codes: _Words, negated: bool) -> _Scope:
        scope: _Scope = {**block.names, **known}
        scope |= {"code": codes, "negated": int(negated)}
        before = set(scope)
        self._all(block, scope, "element")
        read = _read(block.model)
        return {name: value for name, value in scope.items() if name not in before and name in read}

    def _all(self, block: SumBlock, scope: _Scope, each: str) -> None:
        for stage in block.model.stages:
            if stage.each == each:
                self._let(block, stage, scope)

    def _let(self, block: SumBlock, stage: ArithmeticStage, scope: _Scope) -> None:
        arrays = _ArrayReading(_is_wide(block), scope)
        for name, formula in stage.let.items():
            scope[name] = fold(formula.tree, arrays)


def _is_wide(block: SumBlock) -> bool:
    """Whether the block's values need more than a machine's words."""
    return block.step.word > 64


def _read(model: ArithmeticModel) -> frozenset[str]:
    """The names of elements that stages of products and addends read, without their prefix."""
    return frozenset(
        name.partition("_")[2]
        for stage in model.stages
        if stage.each in ("product", "addend")
        for formula in stage.let.values()
        for name in names(formula.tree)
    )


def _smallest(table: _Words) -> _Words:
    """A table in the least type that holds its values, or the value that all of them are."""
    if isinstance(table, int):
        return table
    least, greatest = int(table.min()), int(table.max())
    return least if least == greatest else table.astype(np.min_scalar_type(greatest))


def _looked_up(table: _Words, index: NDArray[np.intp]) -> _Words:
    """Values of a table: truth values as bytes (0 where all are), others as words."""
    if isinstance(table, int):
        return table
    found = table.take(index)
    if found.dtype != np.uint8 or found.max() > 1:
        return found.astype(np.uint64)
    return found if found.any() else 0


def _greatest(values: Sequence[tuple[_Words, int]]) -> _Words:
    """The greatest of terms, each of several jobs."""
    found = [value if isinstance(value, int) else value.max(axis=0) for value, _ in values]
    return max(found) if all(isinstance(value, int) for value in found) else reduce(np.maximum, found)


def _sum(values: Sequence[tuple[_Words, int]]) -> _Words:
    """The sum of terms, each of several jobs; one that is the same for all counts as often as it is."""
    return sum(value * count if isinstance(value, int) else value.sum(axis=0) for value, count in values)
