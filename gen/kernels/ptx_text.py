"""Writing one PTX kernel: registers by class, lines, and expressions of the YAML as PTX.

An expression becomes a register plus a constant; equal registers are computed once. So an address that
depends on a thread and a known element is one register for all elements, and a constant offset each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ...spec.expressions import Expression, fold

__all__ = ["Affine", "Writer"]

_MASK = 0xFFFFFFFF
_OPERATIONS = {
    "//": "div.u32",
    "%": "rem.u32",
    "&": "and.b32",
    "|": "or.b32",
    "^": "xor.b32",
    "*": "mul.lo.u32",
}
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_CLASSES = {"b32": "%r", "b64": "%d", "pred": "%p"}


class Affine(NamedTuple):
    """A value: a 32-bit register (None: nothing) plus a constant; `truth` marks a predicate.

    A suite makes a million; a tuple takes a third of the time that a frozen dataclass takes.
    """

    register: str | None
    constant: int = 0
    truth: bool = False


class Writer:
    """The body of one kernel, grown line by line; also the reading of expressions as PTX."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bindings: dict[str, Affine] = {}
        self._counts = dict.fromkeys(_CLASSES, 0)
        self._known: dict[tuple[object, ...], str] = {}
        self._labels = 0

    def new(self, kind: str = "b32") -> str:
        """A new register."""
        number = self._counts[kind]
        self._counts[kind] = number + 1
        return f"{_CLASSES[kind]}{number}"

    def say(self, text: str) -> None:
        """One line."""
        self.lines.append(text)

    def label(self) -> str:
        """A new label."""
        self._labels += 1
        return f"$L{self._labels}"

    def emit(self, operation: str, *operands: object, kind: str = "b32") -> str:
        """One instruction with a new register as its destination."""
        number = self._counts[kind]
        self._counts[kind] = number + 1
        register = f"{_CLASSES[kind]}{number}"
        self.lines.append(f"{operation} {register}, {', '.join(map(str, operands))};")
        return register

    def once(self, operation: str, *operands: object, kind: str = "b32") -> str:
        """The result of an instruction that depends on its operands only: emitted once, then reused."""
        key = operation, *operands
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.emit(operation, *operands, kind=kind)
        return found

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope: results computed inside are not reused behind it."""
        known = dict(self._known)
        yield
        self._known = known

    @contextmanager
    def when(self, predicate: str) -> Iterator[None]:
        """A block that threads without the predicate jump over."""
        end = self.label()
        self.say(f"@!{predicate} bra {end};")
        with self.scope():
            yield
        self.say(f"{end}:")

    @contextmanager
    def strided(self, start: str, limit: object, step: int) -> Iterator[str]:
        """A loop over start, start + step, … below a limit; yields the counting register."""
        at = self.emit("mov.u32", start)
        top, end = self.label(), self.label()
        self.say(f"{top}:")
        done = self.emit("setp.ge.u32", at, limit, kind="pred")
        self.say(f"@{done} bra {end};")
        with self.scope():
            yield at
        self.say(f"add.u32 {at}, {at}, {step};")
        self.say(f"bra {top};")
        self.say(f"{end}:")

    def replay(self, recorded: Writer, names: Mapping[str, str]) -> dict[str, str]:
        """Emit here what another writer has emitted; return the new names of its registers."""
        here = dict(names)
        for (operation, *operands), register in recorded._known.items():
            kind = "pred" if register.startswith(_CLASSES["pred"]) else "b32"
            there = [
                here.get(operand, operand) if isinstance(operand, str) else operand for operand in operands
            ]
            here[register] = self.once(str(operation), *there, kind=kind)
        return here

    def pointer(self, base: str, index: Affine, size: int) -> str:
        """The address, with its offset, of element `index` of `size` bytes behind a 64-bit pointer."""
        if index.register is None:
            return f"[{base}+{index.constant * size}]"
        there = self.once("mad.wide.u32", index.register, size, base, kind="b64")
        return f"[{there}+{index.constant * size}]"

    def body(self) -> str:
        """The declarations and the lines, in braces."""
        declared = [
            f"  .reg .{kind} {name}<{self._counts[kind]}>;"
            for kind, name in _CLASSES.items()
            if self._counts[kind]
        ]
        lines = [line if line.endswith(":") else f"  {line}" for line in self.lines]
        return "\n".join(["{", *declared, *lines, "}"])

    # Expressions.

    def value(self, tree: Expression, bindings: Mapping[str, Affine | int | str]) -> Affine:
        """An expression; names are bound to registers, constants or both."""
        outer = self.bindings
        self.bindings = {**outer, **{name: as_affine(bound) for name, bound in bindings.items()}}
        try:
            return fold(tree, self)
        finally:
            self.bindings = outer

    def plain(self, value: Affine) -> str:
        """A value as an operand: a register or a constant."""
        if value.register is None:
            return str(value.constant & _MASK)
        if value.constant == 0:
            return value.register
        return self.once("add.u32", value.register, value.constant & _MASK)

    def number(self, value: int) -> Affine:
        return Affine(None, value)

    def name(self, identifier: str) -> Affine:
        return self.bindings[identifier]

    def binary(self, op: str, left: Affine, right: Affine) -> Affine:
        if left.register is None and right.register is None:
            return Affine(None, _folded(op, left.constant, right.constant))
        if op == "+":
            return self._sum(left, right)
        if op == "-":
            return self._difference(left, right)
        if op == "*" and left.register is None:
            left, right = right, left
        if right.register is None and (simple := self._by_constant(op, left, right.constant)):
            return simple
        if op in ("<<", ">>"):
            return Affine(
                self.once(f"{'shl.b32' if op == '<<' else 'shr.u32'}", self.plain(left), self.plain(right))
            )
        return Affine(self.once(_OPERATIONS[op], self.plain(left), self.plain(right)))

    def _sum(self, left: Affine, right: Affine) -> Affine:
        constant = left.constant + right.constant
        if left.register is None or right.register is None:
            return Affine(left.register or right.register, constant)
        return Affine(self.once("add.u32", left.register, right.register), constant)

    def _difference(self, left: Affine, right: Affine) -> Affine:
        constant = left.constant - right.constant
        if right.register is None:
            return Affine(left.register, constant)
        return Affine(self.once("sub.u32", left.register or "0", right.register), constant)

    def _by_constant(self, op: str, left: Affine, right: int) -> Affine | None:
        """An operation with a constant on its right, where a shorter sequence exists."""
        power = right.bit_length() - 1 if right > 0 and right & right - 1 == 0 else None
        if op == "*" or op == "<<":
            factor = right if op == "*" else 1 << right
            if factor == 0:
                return Affine(None, 0)
            if factor == 1 or left.register is None:
                return Affine(left.register, left.constant * factor)
            power = factor.bit_length() - 1 if factor & factor - 1 == 0 else None
            operation = ("mul.lo.u32", factor) if power is None else ("shl.b32", power)
            return Affine(self.once(operation[0], left.register, operation[1]), left.constant * factor)
        if op == ">>":
            op, power, right = "//", right, 1 << right
        if op == "//" and power is not None:
            if power == 0:
                return left
            return Affine(self.once("shr.u32", self.plain(left), power))
        if op == "%" and power is not None:
            if power == 0:
                return Affine(None, 0)
            return Affine(self.once("and.b32", self.plain(left), right - 1))
        return None

    def compare(self, op: str, left: Affine, right: Affine) -> Affine:
        if left.register is None and right.register is None:
            return Affine(None, int(_COMPARISONS[op](left.constant, right.constant)), truth=True)
        predicate = self.once(f"setp.{_COMPARE[op]}.u32", self.plain(left), self.plain(right), kind="pred")
        return Affine(predicate, truth=True)

    def connective(self, op: str, left: Affine, right: Affine) -> Affine:
        for one, other in ((left, right), (right, left)):
            if one.register is None:
                absorbs = (op == "or") == bool(one.constant)
                return Affine(None, one.constant, truth=True) if absorbs else other
        return Affine(self.once(f"{op}.pred", left.register, right.register, kind="pred"), truth=True)

    def negation(self, operand: Affine) -> Affine:
        if operand.register is None:
            return Affine(None, int(not operand.constant), truth=True)
        return Affine(self.once("not.pred", operand.register, kind="pred"), truth=True)

    def where(self, condition: Affine, then: Affine, otherwise: Affine) -> Affine:
        if condition.register is None:
            return then if condition.constant else otherwise
        return Affine(self.once("selp.b32", self.plain(then), self.plain(otherwise), condition.register))

    def bits(self, operand: Affine) -> Affine:
        if operand.register is None:
            return Affine(None, operand.constant.bit_length())
        highest = self.once("bfind.u32", self.plain(operand))  # all ones for 0
        return Affine(self.once("add.u32", highest, 1))


_COMPARISONS = {
    "==": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}
_FOLDED = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "//": int.__floordiv__,
    "%": int.__mod__,
    "&": int.__and__,
    "|": int.__or__,
    "^": int.__xor__,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
}


def _folded(op: str, left: int, right: int) -> int:
    return _FOLDED[op](left, right)


def as_affine(bound: Affine | int | str) -> Affine:
    """A constant, a register's name or a value, as a value."""
    if isinstance(bound, Affine):
        return bound
    return Affine(None, bound) if isinstance(bound, int) else Affine(bound)
