"""numpy's operations on words as C: words that have no value but a name, and write down what is done to them.

A lane of a processor's vector has 64 bits, whatever words numpy has. The C means the operators of numpy:
lanes.h has those that C lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .array_operations import WIDE, function_of

__all__ = ["lane_function", "lane_kind", "lane_value"]

_LANE = 64  # bits
_TRUTH, _FLOAT, _WORD = np.dtype(bool), np.dtype(np.float64), np.dtype(np.uint64)
_SIGNS: Mapping[Any, str] = {np.invert: "~", np.negative: "-"}
_ORDERS: Mapping[Any, str] = {
    np.equal: "==",
    np.not_equal: "!=",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
}
_OPERATORS: Mapping[Any, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
}
_FUNCTIONS: Mapping[Any, str] = {
    np.left_shift: "left",
    np.right_shift: "right",
    np.maximum: "greater",
    np.minimum: "lesser",
}


class _LaneWords(np.lib.mixins.NDArrayOperatorsMixin):
    """Words with a name in C; an operation on them becomes a line of C, which names its result.

    Truth values are words of all bits or none.
    """

    ndim = 1

    def __init__(self, name: str, lines: list[str], dtype: Any = _WORD) -> None:
        self.name, self.lines, self.dtype = name, lines, np.dtype(dtype)

    def _declared(self, text: str, dtype: Any = _WORD) -> _LaneWords:
        name = f"v{len(self.lines)}"
        self.lines.append(f"const {'doubles' if dtype == _FLOAT else 'lanes'} {name} = {text};")
        return _LaneWords(name, self.lines, dtype)

    def astype(self, dtype: Any) -> _LaneWords:
        """A truth value becomes 0 or 1; a word stays, for a lane holds it."""
        if np.dtype(dtype) == _FLOAT:
            return self._declared(f"__builtin_convertvector({self.name}, doubles)", _FLOAT)
        return self._declared(f"{self.name} & N(1)") if self.dtype == _TRUTH else self

    def view(self, dtype: Any) -> _LaneWords:
        """The bits of a floating-point number; other words as `astype` gives them."""
        return self._declared(f"(lanes){self.name}") if self.dtype == _FLOAT else self.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, out: Any = None) -> _LaneWords:
        assert method == "__call__"
        texts = [one.name if isinstance(one, _LaneWords) else f"N({int(one)})" for one in given]
        if ufunc in _SIGNS:
            found = self._declared(f"{_SIGNS[ufunc]}{texts[0]}")
        elif ufunc in _FUNCTIONS:
            found = self._declared(f"{_FUNCTIONS[ufunc]}({', '.join(map(_in_all, texts))})")
        elif ufunc in _ORDERS:
            found = self._declared(f"(lanes)({texts[0]} {_ORDERS[ufunc]} {texts[1]})", _TRUTH)
        else:
            found = self._declared(f"{texts[0]} {_OPERATORS[ufunc]} {texts[1]}", self.dtype)
        if out is not None:
            out[0].name, out[0].dtype = found.name, found.dtype
        return out[0] if out else found


def lane_function(name: str, operation: str, width: int, kinds: Sequence[str]) -> tuple[str, str]:
    """The function of an operation in C, of operands of some kinds, and the kind of its result."""
    lines: list[str] = []
    given = [_given(f"p{n}", kind, lines) for n, kind in enumerate(kinds)]
    found = function_of(operation, width if width == WIDE else _LANE)(*given)
    parameters = ", ".join(f"{kind} p{n}" for n, kind in enumerate(kinds))
    head = f"FUNCTION {lane_kind(found)} {name}({parameters}) {{"
    text = "\n".join([head, *(f"  {line}" for line in lines), f"  return {lane_value(found)};", "}", ""])
    return text, lane_kind(found)


def lane_kind(value: Any) -> str:
    """The type in C of words, or of a number in all lanes."""
    return "pair" if isinstance(value, tuple) else "lanes"


def lane_value(value: Any) -> str:
    """Words, or a number in all lanes, as C."""
    if isinstance(value, tuple):
        return f"(pair){{{', '.join(map(lane_value, value))}}}"
    return value.name if isinstance(value, _LaneWords) else _in_all(f"N({int(value)})")


def _given(name: str, kind: str, lines: list[str]) -> Any:
    halves = [f"{name}.high", f"{name}.low"] if kind == "pair" else [name]
    words = tuple(_LaneWords(one, lines) for one in halves)
    return words if kind == "pair" else words[0]


def _in_all(text: str) -> str:
    return f"ALL({text})" if text.startswith("N(") else text
