"""Sums of symbolic elements: one node for each value, however it is computed; the definition and C that make them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from ptxmma.spec import dot_product
from ptxmma.spec.api import load
from ptxmma.spec.arithmetic_records import ArithmeticStage
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
)
from ptxmma.spec.specification import Specification

TOKEN = re.compile(r"\s*(\w+|<<|>>|<=|>=|==|!=|.)")
# By how strongly they bind (C11, 6.5.5 to 6.5.14); all are read from the left.
STRENGTH = {"|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
STRENGTH |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
ORDERS = ("==", "!=", "<", "<=", ">", ">=")


class Node:
    """A value: an operator and its operands, between two numbers. Two that are made alike are one object.

    The bounds hold wherever the value is taken; in a branch that is not taken, it may be anything.
    """

    __slots__ = ("args", "op", "span")
    made: dict[tuple[object, ...], Node] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op, self.args = op, args
        self.span = span_of(op, args)

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
            found = cls(op, args)
            low, high = found.span
            if low == high and op != "number":
                found = lifted(low)
            cls.made[key] = found
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
ANY = 1 << 256  # a bound of what is not known


def span_of(op: str, args: Sequence[Any]) -> tuple[int, int]:
    """The least and the greatest value of an operator, of those of its operands."""
    if op == "number":
        return args[0], args[0]
    if op == "element":
        return 0, (1 << args[2]) - 1
    spans = [arg.span for arg in args if isinstance(arg, Node)]
    if op in ORDERS:
        return 0, 1
    if op == "bits":
        return spans[0][0].bit_length(), spans[0][1].bit_length()
    if op == "where":
        condition, then, otherwise = args
        (_, (a, b), (c, d)) = spans
        if condition.op == ">" and condition.args == (then, otherwise):
            return max(a, c), max(b, d)
        if condition.op == "<" and condition.args[0] is then:
            b = min(b, condition.args[1].span[1] - 1)
        return min(a, c), max(b, d)
    if len(spans) != 2:
        return 0, ANY
    (a, b), (c, d) = spans
    all_digits = (1 << max(b.bit_length(), d.bit_length())) - 1
    low, high = {
        "+": (a + c, b + d),
        "-": (a - d, b - c),
        "*": (a * c, b * d),
        "&": (0, min(b, d)),
        "|": (max(a, c), all_digits),
        "^": (0, all_digits),
        "<<": (a << min(c, 256), b << min(d, 256)),
        ">>": (a >> min(d, 256), b >> min(c, 256)),
    }.get(op, (0, ANY))
    return max(0, low), min(max(0, high), ANY)


def decided(op: str, left: Node, right: Node) -> bool | None:
    """Whether a comparison holds for all values of its operands, or for none."""
    (a, b), (c, d) = left.span, right.span
    match op:
        case "<":
            return True if b < c else False if a >= d else None
        case ">":
            return decided("<", right, left)
        case "<=" | ">=":
            other = decided(">" if op == "<=" else "<", left, right)
            return None if other is None else not other
    return False if b < c or d < a else None


def simplified(op: str, args: Sequence[Any]) -> Node | None:
    """What an operator comes to; None where it cannot be said without its operands.

    Truth values are the numbers 0 and 1. Every rule is an equation of natural numbers.
    """
    nodes = [arg for arg in args if isinstance(arg, Node)]
    known = [node.args[0] if node.op == "number" else None for node in nodes]
    if op in NUMBERS and None not in known:
        return lifted(max(0, NUMBERS[op](*known)))
    if op in ORDERS and (holds := decided(op, *nodes)) is not None:
        return lifted(holds)
    match op:
        case "and" | "or":
            return Node.of("&" if op == "and" else "|", *nodes)
        case "not":
            return Node.of("^", nodes[0], lifted(1))
        case "!=":
            return Node.of("not", Node.of("==", *nodes))
        case ">" if known[1] == 0:
            return Node.of("!=", *nodes)
        case "==" if nodes[0].span[1] <= 1 and known[1] is not None:
            return nodes[0] if known[1] else Node.of("not", nodes[0])
        case "^" if known[1] == 1 and nodes[0].op == "^" and nodes[0].args[1] is nodes[1]:
            return nodes[0].args[0]  # type: ignore[no-any-return]
        case "&" | "*" if 0 in known:
            return lifted(0)
        case "+" | "|" | "^" if 0 in known:
            return nodes[1 - known.index(0)]
        case "-" | "<<" | ">>" if known[1] == 0:
            return nodes[0]
        case "*" if 1 in known:
            return nodes[1 - known.index(1)]
        case "&":
            for node, mask in ((nodes[0], known[1]), (nodes[1], known[0])):
                if mask is not None and mask & (mask + 1) == 0 and node.span[1] <= mask:
                    return node
        case "where":
            return chosen(*nodes)
    return None


def chosen(condition: Node, then: Node, otherwise: Node) -> Node | None:
    if condition.op == "number":
        return then if condition.args[0] else otherwise
    if then is otherwise:
        return then
    zero, one = lifted(0), lifted(1)
    if (then, otherwise) == (one, zero):
        return condition
    if then is zero:
        return Node.of("where", Node.of("not", condition), otherwise, zero)
    if then.span[0] >= otherwise.span[1] and condition is Node.of(">", then, otherwise):
        return then
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


def _greater(one: Node, other: Node) -> Node:
    """The other, where it is greater."""
    return Node.of("where", Node.of(">", other, one), other, one)


def _taken(condition: Node, then: Node) -> Node:
    return Node.of("where", condition, then, lifted(0))


def _low(value: Node, count: Node) -> Node:
    return Node.of("&", value, Node.of("-", Node.of("<<", lifted(1), count), lifted(1)))


# What operations of arrays mean; others are operators of the language.
MEANINGS: dict[str, Callable[..., Node]] = {
    "where": partial(Node.of, "where"),
    "taken": _taken,
    "difference": lambda a, b: _taken(Node.of(">", a, b), Node.of("-", a, b)),
    "minimum": lambda a, b: Node.of("where", Node.of("<", a, b), a, b),
    "maximum": _greater,
    "low": _low,
    "power": lambda by: Node.of("<<", lifted(1), by),
    "scaled": lambda value, by, mask: Node.of("&", Node.of("<<", value, by), mask),
}
REDUCTIONS: dict[str, Callable[..., Node]] = {"greatest": _greater, "total": partial(Node.of, "+")}


def define_by_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition takes the greatest and the sum of nodes; none is made yet."""
    monkeypatch.setattr(dot_product, "max", greatest, raising=False)
    monkeypatch.setattr(dot_product, "sum", added, raising=False)
    monkeypatch.setattr(Node, "made", {})


class SymbolicDotProduct(DotProduct):
    """The code of the definition; `max` and `sum` of its module must be `greatest` and `added`."""

    def _let(self, stage: ArithmeticStage, scope: dict[str, Any]) -> None:
        for name, formula in stage.let.items():
            scope[name] = evaluated(formula.tree, scope)


def element(part: str, number: int, arithmetic: ChipArithmetic) -> Node:
    """Any element of A, B or C."""
    return Node.of("element", part, number, load().index.types[arithmetic.types[part.upper()]].bits)


def elements(part: str, arithmetic: ChipArithmetic) -> list[Node]:
    """As many as the products need."""
    last = max(k for block in arithmetic.blocks for k in block.products)
    return [element(part, k, arithmetic) for k in range(last + 1)]


def defined(
    specification: Specification, arithmetic: ChipArithmetic, negated: tuple[bool, bool] = (False, False)
) -> Node:
    """D by the definition, of any elements."""
    a, b = (
        [ElementCode(code, sign) for code in elements(part, arithmetic)]  # type: ignore[arg-type]
        for part, sign in zip("ab", negated, strict=True)
    )
    c = element("c", 0, arithmetic)
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
            else:
                left = Binary("//" if op == "/" else op, left, right)
        return left

    def unary(self) -> Expression:
        token = self.take()
        if token == "!":
            return Negation(self.unary())
        if token == "(" and self.tokens[0] == "word":
            self.take("word")
            self.take(")")
            return Binary("as", Name("word"), self.unary())
        if token in ("taken", "taken64"):
            self.take("(")
            condition = self.conditional()
            self.take(",")
            value = self.conditional()
            self.take(")")
            return Binary(token, condition, value)
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
HEAD = re.compile(r"FUNCTION word64 (\w+)\((.*)\) \{")
HELPERS = ("bits64", "bits", "taken64")
LISTED = re.compile(r"static const unsigned short (\w+)\[\] = \{([\d, ]+)\};")
ARRAY = re.compile(r"(word|word64) (\w+)\[(\d+)\];")
CALL = re.compile(r"const word64 (\w+) = (\w+)\(([^()]*)\);")
DECLARED = re.compile(r"(?:const )?(word|word64) ((?:\w+ = [^;]+?)(?:, \w+ = \w+)*);")
STORED = re.compile(r"(\w+)\[(\w+)\] = ([^;]+);")
CHANGED = re.compile(r"(\w+) (\+?)= ([^;]+);")


class CProgram:
    """The functions of an emitted text, which it executes: every statement that it does not know is refused.

    Each part has the type that C gives it. In a word64, a value of more than 64 bits is refused where words have
    more, for what it stands for would be lost. A name has its type in the scope, too, behind "type of".
    """

    def __init__(self, text: str) -> None:
        self.word = 128 if "typedef unsigned __int128 word;" in text else 64
        self.functions: dict[str, tuple[list[str], list[str]]] = {}
        lines = iter(text.splitlines())
        for line in lines:
            head = HEAD.fullmatch(line.strip())
            if head and head[1] not in HELPERS:
                parameters = [one.split()[-1].lstrip("*") for one in head[2].split(",")]
                self.functions[head[1]] = parameters, list(self._body(lines))

    def _held(self, node: Node, bits: int) -> tuple[Node, int]:
        """A value, which its type holds; the loader says so of the longest words."""
        assert bits == self.word or node.span[1] >> bits == 0, f"a word64 of {node.op} can be {node.span[1]}"
        return node, bits

    def _value(self, tree: Expression, scope: Mapping[str, Any]) -> tuple[Node, int]:
        """An expression of nodes, and the bits of its type in C."""
        read = partial(self._value, scope=scope)
        match tree:
            case Name(identifier):
                return lifted(scope[identifier]), scope.get(f"type of {identifier}", 64)
            case Binary("as", Name("word"), inner):
                return read(inner)[0], self.word
            case Binary("[]", Name(identifier), _):
                return evaluated(tree, scope), scope.get(f"type of {identifier}", 64)
            case Binary("taken" | "taken64" as function, condition, inner):
                node, bits = read(inner)
                assert function == "taken" or bits == 64 or self.word == 64, "the high half is lost"
                return Node.of("where", read(condition)[0], node, lifted(0)), bits
            case Binary(op, left, right):
                (a, bits), (b, other) = read(left), read(right)
                if op in ("<<", ">>"):
                    assert bits == self.word or b.span[1] < bits, f"a shift by {b.span[1]}"
                    return self._held(Node.of(op, a, b), bits)
                return self._held(Node.of(op, a, b), max(bits, other))
            case Compare(op, left, right) | Connective(op, left, right):
                return Node.of(op, read(left)[0], read(right)[0]), 64
            case Where(condition, then, otherwise):
                (a, bits), (b, other) = read(then), read(otherwise)
                return Node.of("where", read(condition)[0], a, b), max(bits, other)
            case Negation(operand):
                return Node.of("not", read(operand)[0]), 64
            case BitLength(operand):
                return Node.of("bits", read(operand)[0]), 64
        return evaluated(tree, scope), 64

    def _declare(self, scope: dict[str, Any], kind: str, name: str, value: Expression) -> None:
        bits = self.word if kind == "word" else 64
        scope[name], scope[f"type of {name}"] = self._held(self._value(value, scope)[0], bits)

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
                return self._held(self._value(read(line[7:-1]), scope)[0], 64)[0]
            self._statement(line, scope, own)
        return None

    def _statement(self, line: str, scope: dict[str, Any], own: set[str]) -> None:
        if listed := LISTED.fullmatch(line):
            scope[listed[1]] = [int(one) for one in listed[2].split(",")]
        elif array := ARRAY.fullmatch(line):
            kind, name, size = array.groups()
            scope[name] = [Node.of("unset", name, at) for at in range(int(size))]
            scope[f"type of {name}"] = self.word if kind == "word" else 64
        elif (called := CALL.fullmatch(line)) and called[2] in self.functions:
            given = [scope.get(one.strip(), one.strip()) for one in called[3].split(",")]
            found = self.call(called[2], [int(g) if isinstance(g, str) else g for g in given])
            scope[called[1]] = self._held(found, 64)[0]
        elif declared := DECLARED.fullmatch(line):
            for one in re.split(r", (?=\w+ = \w+$)", declared[2]):
                name, _, value = one.partition(" = ")
                assert name not in own, f"{name} is declared twice"
                own.add(name)
                self._declare(scope, declared[1], name, read(value))
        elif stored := STORED.fullmatch(line):
            place = evaluated(read(stored[2]), scope)
            value = self._value(read(stored[3]), scope)[0]
            scope[stored[1]][place.args[0]] = self._held(value, scope[f"type of {stored[1]}"])[0]
        elif changed := CHANGED.fullmatch(line):
            value = self._value(read(changed[3]), scope)[0]
            assert changed[1] in scope, line
            found = Node.of("+", lifted(scope[changed[1]]), value) if changed[2] else value
            scope[changed[1]] = self._held(found, scope[f"type of {changed[1]}"])[0]
        else:
            raise AssertionError(f"no statement that is known: {line}")


def emitted(text: str, arithmetic: ChipArithmetic, negated: tuple[bool, bool] = (False, False)) -> Node:
    """D by the emitted C, of any elements."""
    a, b = (elements(part, arithmetic) for part in "ab")
    c = element("c", 0, arithmetic)
    return CProgram(text).call("sum_of_products", [a, b, *map(int, negated), c])
