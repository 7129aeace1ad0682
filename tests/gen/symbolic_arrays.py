"""Arrays of values that stand for any: they go through numpy's functions as arrays of numbers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .symbolic_sums import Node, lifted

OPS = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.floor_divide: "//",
    np.remainder: "%",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
    np.left_shift: "<<",
    np.right_shift: ">>",
    np.equal: "==",
    np.not_equal: "!=",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
}
ORDERS = ("==", "!=", "<", "<=", ">", ">=")
BITWISE = {"&": "and", "|": "or"}
TRUTH, BYTE, WORD, OBJECT = (np.dtype(kind) for kind in (bool, np.uint8, np.uint64, object))


class SymbolicArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Values of several terms, or one of a sum, of a single job; and of which type numpy has them.

    What numpy would cut to a byte is refused: arithmetic is done on words alone.
    """

    def __init__(self, cells: Sequence[Node], dtype: Any, flat: bool = False) -> None:
        self.cells, self.dtype, self.flat = list(cells), np.dtype(dtype), flat

    def __len__(self) -> int:
        return 1 if self.flat else len(self.cells)

    def __getitem__(self, at: Any) -> SymbolicArray:
        if at is None:
            assert self.flat
            return SymbolicArray(self.cells, self.dtype)
        return SymbolicArray([self.cells[k] for k in at], self.dtype)

    def astype(self, dtype: Any) -> SymbolicArray:
        wanted = np.dtype(dtype)
        assert wanted in (WORD, OBJECT, np.dtype(np.float64)), wanted
        return SymbolicArray(self.cells, wanted, self.flat)

    def view(self, dtype: Any) -> SymbolicArray:
        assert self.dtype == TRUTH and np.dtype(dtype) == BYTE
        cells = [Node.of("where", cell, lifted(1), lifted(0)) for cell in self.cells]
        return SymbolicArray(cells, BYTE, self.flat)

    def max(self, axis: int) -> SymbolicArray:
        return self._reduced(axis, greater)

    def sum(self, axis: int) -> SymbolicArray:
        found = self._reduced(axis, lambda one, other: Node.of("+", one, other))
        return SymbolicArray(found.cells, OBJECT if self.dtype == OBJECT else WORD, flat=True)

    def _reduced(self, axis: int, take: Callable[[Node, Node], Node]) -> SymbolicArray:
        assert axis == 0 and not self.flat
        found, *rest = self.cells
        for cell in rest:
            found = take(found, cell)
        return SymbolicArray([found], self.dtype, flat=True)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        assert method == "__call__" and not options, (ufunc, method, options)
        if ufunc is np.frexp:
            assert self.dtype == np.float64
            return None, SymbolicArray([Node.of("bits", cell) for cell in self.cells], np.int32, self.flat)
        if ufunc is np.invert:
            assert self.dtype == TRUTH
            return SymbolicArray([Node.of("not", cell) for cell in self.cells], TRUTH, self.flat)
        if ufunc is np.maximum:
            return elementwise(greater, WORD, *given)
        if ufunc not in OPS:  # made of a Python function: which one, numbers tell
            op = {4: "bits"}[ufunc(8)] if ufunc.nin == 1 else {16: "<<", 4: ">>"}[ufunc(8, 1)]
            return elementwise(lambda *cells: Node.of(op, *cells), OBJECT, *given)
        op, types = OPS[ufunc], [kind_of(one) for one in given]
        if op in ORDERS:
            return elementwise(lambda *cells: Node.of(op, *cells), TRUTH, *given)
        if op in BITWISE and set(types) == {TRUTH}:
            return elementwise(lambda *cells: Node.of(BITWISE[op], *cells), TRUTH, *given)
        bytes_alone = op in "&|^" and all(
            kind == BYTE if kind is not None else int(one) < 256
            for one, kind in zip(given, types, strict=True)
        )
        assert bytes_alone or not {BYTE, TRUTH} & set(types), f"{op} of {types}"
        wide = OBJECT if OBJECT in types else WORD
        return elementwise(lambda *cells: Node.of(op, *cells), BYTE if bytes_alone else wide, *given)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        assert function is np.where and not options, function
        kinds = {kind_of(one) for one in given[1:]}
        assert not {BYTE, TRUTH} & kinds, kinds
        chosen = OBJECT if OBJECT in kinds else WORD
        return elementwise(lambda *cells: Node.of("where", *cells), chosen, *given)


def greater(one: Node, other: Node) -> Node:
    return Node.of("where", Node.of(">", other, one), other, one)


def kind_of(value: Any) -> Any:
    """The type that numpy has something of; None for a Python integer."""
    return getattr(value, "dtype", None)


def cells_of(value: Any) -> list[Node]:
    if isinstance(value, SymbolicArray):
        return value.cells
    return [lifted(int(one)) for one in np.asarray(value).reshape(-1)]


def elementwise(operation: Callable[..., Node], dtype: Any, *given: Any) -> SymbolicArray:
    """An operation on arrays, of which some may have a single value for all terms."""
    columns = [cells_of(one) for one in given]
    count = max(map(len, columns))
    whole = [cells * count if len(cells) == 1 else cells for cells in columns]
    flat = all(one.flat if isinstance(one, SymbolicArray) else np.ndim(one) < 2 for one in given)
    return SymbolicArray([operation(*cells) for cells in zip(*whole, strict=True)], dtype, flat)
