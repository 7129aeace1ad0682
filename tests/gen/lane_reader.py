"""C of lanes, read as operations of numpy on any values that have them; what it does not know, it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["run_lanes"]

ORDERS: Mapping[str, Callable[..., Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "left": np.left_shift,
    "right": np.right_shift,
    "greater": np.maximum,
    "lesser": np.minimum,
}
HEAD = re.compile(r"FUNCTION (lanes|pair) (\w+)\(((?:(?:lanes|pair) p\d+(?:, )?)+)\) \{")
DECLARED = re.compile(r"  const (lanes|doubles) (v\d+) = (.+);")
ATOM = r"(?:[pv]\d+(?:\.high|\.low)?|(?:ALL\()?N\(\d+\)\)?)"
COMPARED = re.compile(rf"\(lanes\)\(({ATOM}) (==|!=|<=?|>=?) ({ATOM})\)")
BINARY = re.compile(rf"({ATOM}) ([-+*&|^]) ({ATOM})")
SIGNED = re.compile(rf"([~-])({ATOM})")
CALLED = re.compile(rf"(\w+)\(({ATOM}), ({ATOM})\)")
CONVERTED = re.compile(rf"__builtin_convertvector\(({ATOM}), doubles\)")
CAST = re.compile(r"\(lanes\)(v\d+)")
PAIR = re.compile(rf"\(pair\)\{{({ATOM}), ({ATOM})\}}")


def run_lanes(text: str, given: Sequence[Any]) -> Any:
    """What a function gives, whose parameters are words (`lanes`) or pairs of them."""
    head, *body, end = text.strip().splitlines()
    declared = HEAD.fullmatch(head)
    assert declared and end == "}", text
    kinds = [one.split()[0] for one in declared[3].split(", ")]
    assert kinds == ["pair" if isinstance(one, tuple) else "lanes" for one in given], head
    scope: dict[str, Any] = {}
    for n, one in enumerate(given):
        if isinstance(one, tuple):
            scope |= {f"p{n}.high": as_word(one[0]), f"p{n}.low": as_word(one[1])}
        else:
            scope[f"p{n}"] = as_word(one)
    for line in body[:-1]:
        found = DECLARED.fullmatch(line)
        assert found, line
        scope[found[2]] = value(found[3], scope)
        assert (found[1] == "doubles") == (scope[found[2]].dtype == np.float64), line
    last = body[-1].strip().removeprefix("return ").removesuffix(";")
    both = PAIR.fullmatch(last)
    assert (declared[1] == "pair") == bool(both), text
    return (atom(both[1], scope), atom(both[2], scope)) if both else atom(last, scope)


def as_word(one: Any) -> Any:
    """A lane holds a word of any width."""
    return one if one.dtype == np.uint64 else one.astype(np.uint64)


def atom(text: str, scope: Mapping[str, Any]) -> Any:
    number = re.fullmatch(r"(?:ALL\()?N\((\d+)\)\)?", text)
    return np.uint64(int(number[1])) if number else scope[text]


def value(text: str, scope: Mapping[str, Any]) -> Any:
    """An expression of one operation; a comparison gives all bits, or none."""
    if found := COMPARED.fullmatch(text):
        truth = ORDERS[found[2]](atom(found[1], scope), atom(found[3], scope))
        return np.negative(truth.astype(np.uint64))
    if found := BINARY.fullmatch(text):
        return OPERATORS[found[2]](atom(found[1], scope), atom(found[3], scope))
    if found := SIGNED.fullmatch(text):
        return (np.invert if found[1] == "~" else np.negative)(atom(found[2], scope))
    if found := CONVERTED.fullmatch(text):
        return atom(found[1], scope).astype(np.float64)
    if found := CAST.fullmatch(text):
        assert scope[found[1]].dtype == np.float64, text
        return scope[found[1]].view(np.uint64)
    called = CALLED.fullmatch(text)
    assert called, text
    return FUNCTIONS[called[1]](atom(called[2], scope), atom(called[3], scope))
