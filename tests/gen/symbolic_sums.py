"""Sums of symbolic elements: one node for each value, however it is computed; the definition and C that make them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import pytest

from ptxmma.spec import dot_product
from ptxmma.spec.chip_arithmetic import ChipArithmetic
from ptxmma.spec.dot_product import DotProduct, ElementCode
from ptxmma.spec.expressions import (
    Binary,
    BitLength,
    Compare,
    Connective,
    Expression,
    Name,
    Negation,
    Number,
    Where,
    names,
)
from ptxmma.spec.specification import Specification

TOKEN = re.compile(r"\s*(\w+|<<|>>|<=|>=|==|!=|&&|\|\||.)")
# By how strongly they bind (C11, 6.5.5 to 6.5.14); all are read from the left.
STRENGTH = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
STRENGTH |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
ORDERS = ("==", "!=", "<", "<=", ">", ">=")


class Node:
    """A value: an operator and its operands. Two that are made alike are one object."""

    __slots__ = ("args", "op")
    made: dict[tuple[object, ...], Node] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op, self.args = op, args

    @classmethod
    def of(cls, op: str, *args: Any) -> Node:
        """The value of an operator; what it comes to where operands are numbers, or leave no choice."""
        simple = simplified(op, args)
        return cls._made(op, args) if simple is None else simple

    @classmethod
    def _made(cls, op: str, args: tuple[Any, ...]) -> Node:
        key = (op, *(id(arg) if isinstance(arg, Node) else arg for arg in args))
        found = cls.made.get(key)
        if found is None:
            found = cls.made[key] = cls(op, args)
        return found


def lifted(value: Node | int) -> Node:
    return value if isinstance(value, Node) else Node.of("number", int(value))


NUMBERS: dict[str, Callable[..., int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": lambda a, b: a << b if b >= 0 else 0,  # of a branch that is not taken
    ">>": lambda a, b: a >> b if b >= 0 else 0,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "bits": int.bit_length,
}
LOW = (1 << 32) - 1


def simplified(op: str, args: Sequence[Any]) -> Node | None:
    """What an operator comes to; None where it cannot be said without its operands.

    Truth values are the numbers 0 and 1. Every rule is an equation of natural numbers.
    """
    nodes = [arg for arg in args if isinstance(arg, Node)]
    known = [node.args[0] if node.op == "number" else None for node in nodes]
    if op in NUMBERS and None not in known:
        return lifted(NUMBERS[op](*known))
    match op:
        case "&" | "*" if 0 in known:
            return lifted(0)
        case "+" | "|" | "^" if 0 in known:
            return nodes[1 - known.index(0)]
        case "and" if 0 in known:
            return lifted(0)
        case "or" if 1 in known:
            return lifted(1)
        case "and" | "or" if None in known and known != [None, None]:
            return nodes[known.index(None)]
        case "where" if known[0] is not None:
            return nodes[1] if known[0] else nodes[2]
        case "where" if nodes[1] is nodes[2]:
            return nodes[1]
        case "where" if known[2] == 0 and nodes[0] is Node.of(">", nodes[1], lifted(0)):
            return nodes[1]
        case "where" if nodes[2].op == "bits":
            return digits_of_halves(*nodes)
    return None


def digits_of_halves(condition: Node, then: Node, otherwise: Node) -> Node | None:
    """How many digits a number of 64 bits has, where it is said by its halves of 32 bits."""
    low = otherwise.args[0]
    if low.op != "&" or low.args[1] is not lifted(LOW):
        return None
    high = Node.of(">>", low.args[0], lifted(32))
    more = Node.of("+", Node.of("bits", high), lifted(32))
    if condition is Node.of(">", high, lifted(0)) and then is more:
        return Node.of("bits", low.args[0])
    return None


def evaluated(tree: Expression, scope: Mapping[str, Any]) -> Node:
    """An expression of nodes; an indexed array has the operator []."""
    read = partial(evaluated, scope=scope)
    match tree:
        case Number(value):
            return lifted(value)
        case Name(identifier):
            return lifted(scope[identifier])
        case Binary("[]", Name(identifier), index):
            at = read(index)
            assert at.op == "number", "a place is no number"
            return lifted(scope[identifier][at.args[0]])
        case Binary(op, left, right) | Compare(op, left, right) | Connective(op, left, right):
            return Node.of(op, read(left), read(right))
        case Negation(operand):
            return Node.of("not", read(operand))
        case BitLength(operand):
            return Node.of("bits", read(operand))
        case Where(condition, then, otherwise):
            return Node.of("where", read(condition), read(then), read(otherwise))
    raise AssertionError(tree)


def greatest(values: Iterable[Node | int]) -> Node:
    found = lifted(0)
    for value in values:
        found = Node.of("where", Node.of(">", lifted(value), found), lifted(value), found)
    return found


def added(values: Iterable[Node | int]) -> Node:
    found = lifted(0)
    for value in values:
        found = Node.of("+", found, lifted(value))
    return found


def define_by_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition takes the greatest and the sum of nodes; none is made yet."""
    monkeypatch.setattr(dot_product, "max", greatest, raising=False)
    monkeypatch.setattr(dot_product, "sum", added, raising=False)
    monkeypatch.setattr(Node, "made", {})


class SymbolicDotProduct(DotProduct):
    """The code of the definition; `max` and `sum` of its module must be `greatest` and `added`."""

    @cached_property
    def _functions(self) -> Mapping[int, tuple[Callable[..., Any], tuple[str, ...]]]:
        stages = [stage for block in self.arithmetic.blocks for stage in block.model.stages]
        formulas = {id(formula): formula for stage in stages for formula in stage.let.values()}
        return {number: self._function(formula.tree) for number, formula in formulas.items()}

    def _function(self, tree: Expression) -> tuple[Callable[..., Any], tuple[str, ...]]:
        read = tuple(sorted(names(tree)))
        return lambda *values: evaluated(tree, dict(zip(read, values, strict=True))), read


def elements(part: str, arithmetic: ChipArithmetic) -> list[Node]:
    """As many as the products need."""
    last = max(k for block in arithmetic.blocks for k in block.products)
    return [Node.of("element", part, k) for k in range(last + 1)]


def defined(
    specification: Specification, arithmetic: ChipArithmetic, negated: tuple[bool, bool] = (False, False)
) -> Node:
    """D by the definition, of any elements."""
    a, b = (
        [ElementCode(code, sign) for code in elements(part, arithmetic)]  # type: ignore[arg-type]
        for part, sign in zip("ab", negated, strict=True)
    )
    c = Node.of("element", "c", 0)
    found: Any = SymbolicDotProduct(specification, arithmetic).code(a, b, c)  # type: ignore[arg-type]
    return lifted(found)


class CReader:
    """A parser of expressions of C, by precedence."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*TOKEN.findall(text.strip()), ""]

    def take(self, wanted: str | None = None) -> str:
        token = self.tokens.pop(0)
        assert wanted in (None, token), (wanted, token)
        return token

    def conditional(self) -> Expression:
        condition = self.joined(1)
        if self.tokens[0] != "?":
            return condition
        self.take("?")
        then = self.conditional()
        self.take(":")
        return Where(condition, then, self.conditional())

    def joined(self, least: int) -> Expression:
        left = self.unary()
        while STRENGTH.get(self.tokens[0], 0) >= least:
            op = self.take()
            right = self.joined(STRENGTH[op] + 1)
            if op in ORDERS:
                left = Compare(op, left, right)
            elif op in ("&&", "||"):
                left = Connective("and" if op == "&&" else "or", left, right)
            else:
                left = Binary("//" if op == "/" else op, left, right)
        return left

    def unary(self) -> Expression:
        token = self.take()
        if token == "!":
            return Negation(self.unary())
        if token in ("(", "bits", "N"):
            if token != "(":
                self.take("(")
            inner = self.conditional()
            self.take(")")
            return BitLength(inner) if token == "bits" else inner
        if token[0].isdigit():
            return Number(int(token, 0))
        if self.tokens[0] != "[":
            return Name(token)
        self.take("[")
        at = self.conditional()
        self.take("]")
        return Binary("[]", Name(token), at)


def read(text: str) -> Expression:
    """An expression of C."""
    reader = CReader(text)
    tree = reader.conditional()
    assert reader.tokens == [""], text
    return tree


LOOP = re.compile(r"for \(int i = 0; i < (\d+); i\+\+\) \{")
HEAD = re.compile(r"FUNCTION word (\w+)\((.*)\) \{")
LISTED = re.compile(r"static const unsigned short (\w+)\[\] = \{([\d, ]+)\};")
ARRAY = re.compile(r"word (\w+)\[(\d+)\];")
CALL = re.compile(r"const word (\w+) = (\w+)\(([^()]*)\);")
DECLARED = re.compile(r"(?:const )?word ((?:\w+ = [^;]+?)(?:, \w+ = \w+)*);")
STORED = re.compile(r"(\w+)\[(\w+)\] = ([^;]+);")
CHANGED = re.compile(r"(\w+) (\+?)= ([^;]+);")


class CProgram:
    """The functions of an emitted text, which it executes: every statement that it does not know is refused."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, tuple[list[str], list[str]]] = {}
        lines = iter(text.splitlines())
        for line in lines:
            head = HEAD.fullmatch(line.strip())
            if head and not head[1].startswith("bits"):
                parameters = [one.split()[-1].lstrip("*") for one in head[2].split(",")]
                self.functions[head[1]] = parameters, list(self._body(lines))

    @staticmethod
    def _body(lines: Iterator[str]) -> Iterator[str]:
        depth = 1
        for line in lines:
            depth += line.count("{") - line.count("}")
            if not depth:
                return
            yield line.strip()

    def call(self, name: str, arguments: Sequence[Any]) -> Node:
        parameters, body = self.functions[name]
        found = self._run(body, dict(zip(parameters, arguments, strict=True)))
        assert found is not None, f"{name} returns nothing"
        return found

    def _run(self, body: Sequence[str], outer: dict[str, Any]) -> Node | None:
        """Statements one after another; what a block declares ends with it."""
        scope, own, at = outer, set[str](), 0
        while at < len(body):
            line = body[at]
            if line.endswith("{"):
                depth, end = 1, at
                while depth:
                    end += 1
                    depth += body[end].count("{") - body[end].count("}")
                loop = LOOP.fullmatch(line)
                assert loop or line == "{", line
                for i in range(int(loop[1]) if loop else 1):
                    inner = {**scope, "i": i}
                    assert self._run(body[at + 1 : end], inner) is None
                    scope |= {name: inner[name] for name in scope}
                at = end + 1
                continue
            at += 1
            if line.startswith("return "):
                return evaluated(read(line[7:-1]), scope)
            self._statement(line, scope, own)
        return None

    def _statement(self, line: str, scope: dict[str, Any], own: set[str]) -> None:
        if listed := LISTED.fullmatch(line):
            scope[listed[1]] = [int(one) for one in listed[2].split(",")]
        elif array := ARRAY.fullmatch(line):
            scope[array[1]] = [Node.of("unset", array[1], at) for at in range(int(array[2]))]
        elif (called := CALL.fullmatch(line)) and called[2] in self.functions:
            given = [scope.get(one.strip(), one.strip()) for one in called[3].split(",")]
            scope[called[1]] = self.call(called[2], [int(g) if isinstance(g, str) else g for g in given])
        elif declared := DECLARED.fullmatch(line):
            for one in re.split(r", (?=\w+ = \w+$)", declared[1]):
                name, _, value = one.partition(" = ")
                assert name not in own, f"{name} is declared twice"
                own.add(name)
                scope[name] = evaluated(read(value), scope)
        elif stored := STORED.fullmatch(line):
            place = evaluated(read(stored[2]), scope)
            scope[stored[1]][place.args[0]] = evaluated(read(stored[3]), scope)
        elif changed := CHANGED.fullmatch(line):
            value = evaluated(read(changed[3]), scope)
            assert changed[1] in scope, line
            scope[changed[1]] = Node.of("+", lifted(scope[changed[1]]), value) if changed[2] else value
        else:
            raise AssertionError(f"no statement that is known: {line}")


def emitted(text: str, arithmetic: ChipArithmetic, negated: tuple[bool, bool] = (False, False)) -> Node:
    """D by the emitted C, of any elements."""
    a, b = (elements(part, arithmetic) for part in "ab")
    c = Node.of("element", "c", 0)
    return CProgram(text).call("sum_of_products", [a, b, *map(int, negated), c])
