"""One block of a chip's sums as a list of operations on arrays, each of as few bits as hold its values.

The formulas are read once, with the least and the greatest value of each part: what can have only one value
is a number, what is said twice is computed once, and what is not needed is left out. A value stays in its
bounds wherever a formula takes it. In a branch that is not taken it may be anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...spec.arithmetic_records import ArithmeticStage
from ...spec.chip_arithmetic import (
    FACTORS,
    ZERO,
    ChipArithmetic,
    SumBlock,
    block_constants,
    constants_of,
)
from ...spec.errors import Question
from ...spec.expressions import fold
from ...spec.specification import Specification
from .array_operations import WIDE
from .listed_operations import (
    ArrayProgram,
    ArrayValue,
    ArrayWord,
    ListedOperations,
    key_of,
    span_of,
    width_of,
)
from .value_bounds import bounds_of, decided

__all__ = ["array_program", "block_programs"]

_Named = dict[str, ArrayValue]


def block_programs(
    specification: Specification, arithmetic: ChipArithmetic, negated: tuple[bool, bool]
) -> tuple[ArrayProgram, ...]:
    """The program of each block; blocks that differ in which products they add share one."""
    made: dict[object, ArrayProgram] = {}
    found: list[ArrayProgram] = []
    for block in arithmetic.blocks:
        zeros = tuple(addend == ZERO for addend in block.addends)
        key = id(block.step), len(block.products), block.types, block.result, zeros
        if key not in made:
            made[key] = array_program(specification, arithmetic, block, negated, zeros)
        found.append(made[key])
    return tuple(found)


def array_program(
    specification: Specification,
    arithmetic: ChipArithmetic,
    block: SumBlock,
    negated: tuple[bool, bool],
    zeros: Sequence[bool],
) -> ArrayProgram:
    """The program of a block; `zeros` says which addends are 0 in every job."""
    return _BlockOperations(specification, arithmetic, block, ListedOperations(block.step.word)).program(
        negated, zeros
    )


@dataclass(frozen=True)
class _BlockOperations:
    specification: Specification
    arithmetic: ChipArithmetic
    block: SumBlock
    operations: ListedOperations

    def program(self, negated: tuple[bool, bool], zeros: Sequence[bool]) -> ArrayProgram:
        block, operations = self.block, self.operations
        result: _Named = dict(block_constants(self.specification, self.arithmetic, block))
        terms: list[tuple[_Named, int]] = []  # with how many there are
        inputs: list[ArrayWord] = []
        if count := len(block.products):
            scope = dict(result)
            for part, negates in zip(FACTORS, negated, strict=True):
                element = self.arithmetic.types[part]
                inputs.append(self._input(element, many=count > 1))
                scope |= self._element(part, element, inputs[-1], negates)
            self._all(scope, "product")
            terms.append((scope, count))
        for zero, element in zip(zeros, block.types, strict=True):
            if not zero:
                inputs.append(self._input(element, many=False))
            scope = result | self._element("C", element, 0 if zero else inputs[-1], False)
            self._all(scope, "addend")
            terms.append((scope, 1))
        for stage in block.model.stages:
            if stage.each == "term":
                for scope, _ in terms:
                    scope |= result
                    self._let(stage, scope)
                for name in stage.let if stage.reduce else ():
                    values = [(scope[name], count) for scope, count in terms]
                    taken = self._greatest if stage.reduce == "greatest" else self._total
                    result[name] = taken(values)
            elif stage.each == "result":
                self._let(stage, result)
        return operations.program([word.slot for word in inputs], result["code"])

    def _greatest(self, values: Sequence[tuple[ArrayValue, int]]) -> ArrayValue:
        """The greatest of terms."""
        found: ArrayValue = 0
        for value, _ in values:
            if isinstance(value, ArrayWord) and value.many:
                value = self.operations.of(
                    "greatest", (value,), span_of(value), width=value.width, many=False
                )
            found = self.operations.maximum(found, value)
        return found

    def _total(self, values: Sequence[tuple[ArrayValue, int]]) -> ArrayValue:
        """The sum of terms; one that is the same for all products counts as often as it is."""
        found: ArrayValue = 0
        for value, count in values:
            low, high = (count * end for end in span_of(value))
            if isinstance(value, ArrayWord) and value.many:
                value = self.operations.of("total", (value,), (low, high), many=False)
            elif count > 1:
                value = _ArrayReading(self.operations, {}).binary("*", value, count)
            found = _ArrayReading(self.operations, {}).binary("+", found, value)
        return found

    def _input(self, element: str, many: bool) -> ArrayWord:
        most = (1 << constants_of(self.specification, element)["width"]) - 1
        return self.operations.input(most, many)

    def _element(self, part: str, element: str, code: ArrayValue, negated: bool) -> _Named:
        """The names of an element, with the prefix of its part."""
        scope: _Named = dict(self.block.names)
        known = set(scope)
        scope |= {**constants_of(self.specification, element), "code": code, "negated": int(negated)}
        self._all(scope, "element")
        return {f"{part.lower()}_{name}": value for name, value in scope.items() if name not in known}

    def _all(self, scope: _Named, each: str) -> None:
        for stage in self.block.model.stages:
            if stage.each == each:
                self._let(stage, scope)

    def _let(self, stage: ArithmeticStage, scope: _Named) -> None:
        reading = _ArrayReading(self.operations, scope)
        for name, formula in stage.let.items():
            scope[name] = fold(formula.tree, reading)


@dataclass(frozen=True)
class _ArrayReading:
    """The expression language as operations on arrays; the names are values, or the same for all jobs."""

    operations: ListedOperations
    scope: Mapping[str, ArrayValue]

    def number(self, value: int) -> ArrayValue:
        return value

    def name(self, identifier: str) -> ArrayValue:
        return self.scope[identifier]

    def binary(self, op: str, left: ArrayValue, right: ArrayValue) -> ArrayValue:
        if isinstance(left, int) and isinstance(right, int):
            return _folded(op, left, right)
        if (right == 0 and op in ("+", "-", "|", "^", "<<", ">>")) or (right == 1 and op == "*"):
            return left
        if (left == 0 and op in ("+", "|", "^")) or (left == 1 and op == "*"):
            return right
        (a, b), (c, d) = span_of(left), span_of(right)
        if op == "&" and (_is_mask(right, b) or _is_mask(left, d)):
            return left if _is_mask(right, b) else right
        if op == "&" and isinstance(right, int) and (shifted := self._scaled(left, right)):
            return shifted
        span = bounds_of(op, (a, b), (c, d), self.operations.word)
        wide = width_of(max(b, d, span[1])) == WIDE
        if wide and (op in ("//", "%") or (op == "*" and width_of(max(b, d)) == WIDE)):
            raise Question(f"numpy has no {op} of words of {WIDE} bits; a C compiler has")
        if wide and op == "<<" and left == 1:
            return self.operations.of("power", (right,), span, width=WIDE)
        if wide and op == "&" and (count := self._ones(right)) is not None:
            return self.operations.of("low", (left, count), span, width=WIDE)
        return self.operations.of(op, (left, right), span)

    def _scaled(self, value: ArrayValue, mask: int) -> ArrayValue | None:
        """The low bits of a value that is shifted to the left: no other bit of it is computed."""
        operation, operands = self._made(value)
        if operation != "<<" or width_of(max(mask, span_of(operands[0])[1])) == width_of(span_of(value)[1]):
            return None
        return self.operations.of("scaled", (*operands, mask), (0, mask))

    def _ones(self, value: ArrayValue) -> ArrayValue | None:
        """n, where a value is (1 << n) - 1."""
        less, power = self._made(value)
        made, count = self._made(power[0]) if less == "-" and power[1] == 1 else ("", ())
        return count[0] if made == "power" else None

    def _made(self, value: ArrayValue) -> tuple[str, tuple[ArrayValue, ...]]:
        """The operation and the operands that a value was made of."""
        return ("", ()) if isinstance(value, int) else self.operations.made[value.slot]

    def compare(self, op: str, left: ArrayValue, right: ArrayValue) -> ArrayValue:
        (a, b), (c, d) = span_of(left), span_of(right)
        holds = decided(op, (a, b), (c, d))
        if holds is not None:
            return int(holds)
        if op == "!=" or (op == ">" and right == 0):
            return self.negation(self.compare("==", left, right))
        if op == "==" and b <= 1 and isinstance(right, int):
            return left if right == 1 else self.negation(left)
        return self.operations.of(op, (left, right), (0, 1), result=8)

    def connective(self, op: str, left: ArrayValue, right: ArrayValue) -> ArrayValue:
        return self.binary("&" if op == "and" else "|", left, right)

    def negation(self, operand: ArrayValue) -> ArrayValue:
        return self.binary("^", operand, 1)

    def where(self, condition: ArrayValue, then: ArrayValue, otherwise: ArrayValue) -> ArrayValue:
        if isinstance(condition, int):
            return then if condition else otherwise
        if key_of(then) == key_of(otherwise):
            return then
        if (then, otherwise) in ((1, 0), (0, 1)):
            return condition if then == 1 else self.negation(condition)
        order, sides = self._made(condition)
        branches = tuple(map(key_of, (then, otherwise)))
        compared = tuple(map(key_of, sides))
        (a, b), (c, d) = span_of(then), span_of(otherwise)
        if order == "<" and compared[0] == branches[0]:
            b = min(b, span_of(sides[1])[1] - 1)  # it is less where it is taken
        span = min(a, c), max(b, d)
        if order == ">" and otherwise == 0:
            less, of = self._made(then)
            if less == "-" and compared == tuple(map(key_of, of)):
                return self.operations.of("difference", sides, span)
        if order == "<" and compared == branches:
            return self.operations.of("minimum", sides, span)
        if order == ">" and compared == branches:
            return self.operations.of("maximum", (otherwise, then), span)
        if otherwise == 0:
            return self.operations.of("taken", (condition, then), span)
        if then == 0:
            return self.operations.of("taken", (self.negation(condition), otherwise), span)
        return self.operations.of("where", (condition, then, otherwise), span)

    def bits(self, operand: ArrayValue) -> ArrayValue:
        low, high = (end.bit_length() for end in span_of(operand))
        return self.operations.of("bits", (operand,), (low, high), result=8)


def _is_mask(value: ArrayValue, most: int) -> bool:
    """Whether a value is a number that has all binary digits of others."""
    return isinstance(value, int) and value & value + 1 == 0 and value >= most


def _folded(op: str, left: int, right: int) -> int:
    """An operation of numbers; where they have no such value, another branch is taken, and it is 0."""
    if (op in ("<<", ">>") and right < 0) or (op in ("//", "%") and right == 0):
        return 0
    return max(0, _OF_NUMBERS[op](left, right))


_OF_NUMBERS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
