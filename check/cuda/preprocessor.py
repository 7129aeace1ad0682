"""Conditions of the preprocessor: `#if` expressions as trees, and what they come to.

An answer is a row of numbers, one for each environment that a source may be compiled in; None is not known.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from ...spec.lazy_dataclass import dataclass

__all__ = ["Answer", "ConditionTree", "answer_of", "condition", "negated"]

Answer = tuple[int | None, ...]
_MOST = 64  # levels of brackets and operators
_TOKEN = re.compile(r"\s*(?:(\d[\w.']*)|([A-Za-z_]\w*)|(&&|\|\||<<|>>|[<>=!]=|[-+*/%&|^~!<>()?:,])|(\S))")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*")
_BINARY: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_COMPUTE: Mapping[str, Callable[[int, int], int]] = {
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<<": lambda a, b: a << min(max(b, 0), 64),
    ">>": lambda a, b: a >> min(max(b, 0), 64),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
}


@dataclass(frozen=True)
class ConditionTree:
    """An operation on conditions, or a leaf: `name` X, `defined` X, `number`, `unknown`."""

    operation: str
    word: str = ""
    value: int = 0
    parts: tuple[ConditionTree, ...] = ()


_UNKNOWN = ConditionTree("unknown")


@lru_cache(maxsize=1 << 12)
def condition(text: str) -> ConditionTree:
    """The tree of an expression; unknown where it is none, or calls what only a compiler knows."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        number, name, mark, other = match.groups()
        if other is not None:
            return _UNKNOWN
        found.append(number or name or mark)
    reader = _ConditionReader(found)
    try:
        tree = reader.choice(0)
    except _NoExpression:
        return _UNKNOWN
    return tree if reader.at == len(found) else _UNKNOWN


class _NoExpression(Exception):
    """The words are not an expression."""


class _ConditionReader:
    """A position among the words of an expression."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    @property
    def word(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def next(self) -> str:
        word = self.word
        if not word:
            raise _NoExpression
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        if self.next() != word:
            raise _NoExpression

    def choice(self, depth: int) -> ConditionTree:
        """An expression, with `? :`."""
        if depth > _MOST:
            raise _NoExpression
        asked = self.binary(0, depth)
        if self.word != "?":
            return asked
        self.next()
        first = self.choice(depth + 1)
        self.expect(":")
        return ConditionTree("?", parts=(asked, first, self.choice(depth + 1)))

    def binary(self, level: int, depth: int) -> ConditionTree:
        if level == len(_BINARY):
            return self.unary(depth)
        left = self.binary(level + 1, depth)
        while self.word in _BINARY[level]:
            left = ConditionTree(self.next(), parts=(left, self.binary(level + 1, depth)))
        return left

    def unary(self, depth: int) -> ConditionTree:
        if depth > _MOST:
            raise _NoExpression
        word = self.next()
        if word in ("!", "-", "+", "~"):
            return ConditionTree(f"unary {word}", parts=(self.unary(depth + 1),))
        if word == "(":
            inner = self.choice(depth + 1)
            self.expect(")")
            return inner
        if word == "defined":
            bracket = self.word == "("
            self.at += bracket
            name = self.next()
            if bracket:
                self.expect(")")
            return ConditionTree("defined", name)
        if word[0].isdigit():
            number = _INTEGER.fullmatch(word.replace("'", ""))
            if number is None:
                return _UNKNOWN
            octal = len(number[1]) > 1 and number[1][0] == "0" and number[1].isdigit()
            try:
                return ConditionTree("number", value=int(number[1], 8 if octal else 0))
            except ValueError:
                return _UNKNOWN
        if word[0].isalpha() or word[0] == "_":
            if self.word != "(":
                return ConditionTree("name", word)
            self.skip()
            return _UNKNOWN
        raise _NoExpression

    def skip(self) -> None:
        """Pass over the arguments of a macro."""
        depth = 0
        while True:
            word = self.next()
            depth += (word == "(") - (word == ")")
            if not depth:
                return


def negated(answer: Answer) -> Answer:
    """`!` of every number."""
    return tuple(None if one is None else int(not one) for one in answer)


def answer_of(tree: ConditionTree, leaf: Callable[[ConditionTree], Answer]) -> Answer:
    """What an expression comes to in each environment; `leaf` answers for names, numbers and `defined`."""
    parts = tuple(answer_of(part, leaf) for part in tree.parts)
    match tree.operation:
        case "&&":
            return tuple(_both(a, b) for a, b in zip(*parts, strict=True))
        case "||":
            return negated(tuple(_both(a, b) for a, b in zip(*map(negated, parts), strict=True)))
        case "?":
            return tuple(
                (yes if asked else no) if asked is not None else (yes if yes == no else None)
                for asked, yes, no in zip(*parts, strict=True)
            )
        case "unary !":
            return negated(parts[0])
        case "unary -":
            return tuple(None if one is None else -one for one in parts[0])
        case "unary +":
            return parts[0]
        case "unary ~":
            return tuple(None if one is None else ~one for one in parts[0])
        case operation if operation in _COMPUTE:
            compute = _COMPUTE[operation]
            return tuple(
                None if a is None or b is None else int(compute(a, b)) for a, b in zip(*parts, strict=True)
            )
    return leaf(tree)


def _both(one: int | None, other: int | None) -> int | None:
    """`&&`, where either may not be known."""
    if one == 0 or other == 0:
        return 0
    return None if one is None or other is None else 1
