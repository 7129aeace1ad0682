"""Whole matrices as a chip multiplies them: any multiple of the shape, along K in the instruction's steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.api import load
from ...spec.errors import Question
from ...spec.numerics_records import Format
from ...spec.patterns import greatest
from ...spec.workers import cores, in_threads
from ..sparse_arrays import SparseA
from .dot_products import SumsOfProducts

__all__ = ["MatrixProduct"]

_NumberArray = NDArray[Any]
_AT_ONCE = 1 << 21  # products of a thread, whose elements are laid side by side


def _codes(given: _NumberArray, element: str, name: str) -> _NumberArray:
    """The bit patterns of a matrix; raises Question where its type has other numbers."""
    specification = load()
    kind, form = specification.index.types[element], specification.formats.get(element)
    if given.ndim != 2:
        raise Question(f"{name} has the shape {given.shape}; a matrix is needed")
    width = f"u{max(1, kind.bits // 8)}"
    if form is not None and given.dtype.kind not in "iu":
        if given.dtype.type is np.void:
            raise Question(
                f"{name} holds {given.dtype}: a .npy file keeps no type of ml_dtypes; save bit patterns"
            )
        if not _same_numbers(given.dtype, form):
            raise Question(
                f"{name} holds {given.dtype}; .{element} needs a type with its numbers, or bit patterns"
            )
        return np.ascontiguousarray(given).view(width)
    if given.dtype.kind not in "iu":
        raise Question(f"{name} holds {given.dtype}; .{element} needs integers")
    signed = form is None and kind.kind == "signed"
    low, high = (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if signed else (0, (1 << kind.bits) - 1)
    if given.size and not low <= int(given.min()) <= int(given.max()) <= high:
        wrong = int(given.min()) if int(given.min()) < low else int(given.max())
        raise Question(f"{name} holds {wrong}; .{element} has {low} to {high}")
    return (given.astype(np.int64) & (1 << kind.bits) - 1).astype(width) if signed else given.astype(width)


def _plain(given: _NumberArray) -> _NumberArray:
    """The integers of ml_dtypes (int4 and others) as those of numpy; other arrays as they are."""
    if given.dtype.kind != "V" or given.dtype.type is np.void:
        return given
    try:
        import ml_dtypes

        ml_dtypes.iinfo(given.dtype)  # type: ignore[no-untyped-call]
    except (ImportError, ValueError, TypeError):
        return given
    return given.astype(np.int64)


def _same_numbers(dtype: np.dtype[Any], form: Format) -> bool:
    """Whether an array's type has the numbers of a format: those of numpy, or of ml_dtypes."""
    info: Any = None
    if np.issubdtype(dtype, np.floating) and dtype.isbuiltin == 1:
        info = np.finfo(dtype)
    else:
        try:
            import ml_dtypes  # whoever has such an array has it

            info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        except (ImportError, ValueError, TypeError):
            return False
    wider = form.ignored + form.fraction == info.nmant and form.exponent == info.nexp
    return wider and (form.ignored > 0 or Fraction(float(info.max)) == greatest(form))


@dataclass(frozen=True)
class MatrixProduct:
    """D = A*B + C for whole matrices, by the sums of one variant."""

    sums: SumsOfProducts
    negated: tuple[bool, bool]

    def codes(
        self,
        a: _NumberArray,
        b: _NumberArray,
        c: _NumberArray | None,
        metadata: _NumberArray | None,
        selector: int,
        every: int | None,
    ) -> _NumberArray:
        """The bit patterns of D, (M, N); see `ptxmma.matmul`."""
        types, fields = self.sums.arithmetic.types, self.sums.variant.fields
        m, n, k = (int(fields[name]) for name in "mnk")
        a, b = _plain(a), _plain(b)
        columns: _NumberArray | None = None
        if self.sums.variant.row.row.sparsity:
            sparse = SparseA(load(), self.sums.variant, selector)
            if metadata is None:
                a, metadata = sparse.compress(a)
            columns = sparse.columns(a, metadata)
        elif metadata is not None:
            raise Question(f"{self.sums.variant.mnemonic} is not sparse; it takes no metadata")
        rows, whole = _codes(a, types["A"], "A"), _codes(b, types["B"], "B")
        length = rows.shape[1] if columns is None else rows.shape[1] * k // self.sums.arithmetic.products
        _multiple("A", (rows.shape[0], length), (m, k))
        _multiple("B", whole.shape, (k, n))
        if whole.shape[0] != length:
            raise Question(f"A has {length} columns (of the full matrix), and B {whole.shape[0]} rows")
        shape = rows.shape[0], whole.shape[1]
        start = None
        if c is not None:
            start = _codes(c, types["C"], "C")
            if start.shape != shape:
                raise Question(f"C has the shape {start.shape}; it must be {shape}")
        steps = length // k
        if types["C"] != types["D"] and steps > 1:
            raise Question(f"C is .{types['C']} and D .{types['D']}: only K = {k} is one sum")
        if every is None:
            return self._chain(rows, whole, columns, start, range(steps))
        return self._promoted(rows, whole, columns, start, steps, every)

    def _promoted(
        self,
        a: _NumberArray,
        b: _NumberArray,
        columns: _NumberArray | None,
        c: _NumberArray | None,
        steps: int,
        every: int,
    ) -> _NumberArray:
        """Chains of `every` columns, each added to an accumulator that rounds as IEEE 754 has it."""
        k = int(self.sums.variant.fields["k"])
        dtype = self.numbers()
        if dtype is None or dtype != np.float32:
            raise Question(
                f"a second accumulator needs a D of 32-bit numbers, not .{self.sums.arithmetic.types['D']}"
            )
        if every < k or every % k:
            raise Question(f"accumulate is {every}; it must be a multiple of {k}, the K of the instruction")
        total = np.zeros((len(a), b.shape[1]), dtype) if c is None else c.view(dtype).copy()
        per = every // k
        with np.errstate(all="ignore"):
            for first in range(0, steps, per):
                part = self._chain(a, b, columns, None, range(first, min(first + per, steps)))
                total += part.view(dtype)
        return total.view(part.dtype)

    def _chain(
        self,
        a: _NumberArray,
        b: _NumberArray,
        columns: _NumberArray | None,
        c: _NumberArray | None,
        steps: range,
    ) -> _NumberArray:
        """One accumulator for all steps along K."""
        k, products = int(self.sums.variant.fields["k"]), self.sums.arithmetic.products
        turned = np.ascontiguousarray(b.T)

        def part(rows: slice) -> _NumberArray:
            count = len(a[rows])
            sums = np.zeros(count * len(turned), np.uint64) if c is None else c[rows].reshape(-1)
            for step in steps:
                own = a[rows, step * products : (step + 1) * products]
                if columns is None:
                    met = np.broadcast_to(turned[None, :, step * k : (step + 1) * k], (count, len(turned), k))
                else:
                    chosen = columns[rows, step * products : (step + 1) * products]
                    met = turned[:, chosen].swapaxes(0, 1)
                left = np.repeat(own, len(turned), 0)
                right = np.ascontiguousarray(met).reshape(-1, products)
                # numpy computes some jobs too, but not of every step: of 0, 1, 2, 4, 8 …
                looks = not step & (step - 1)
                sums = self.sums.results(left, right, sums, self.negated, threads=1, looks=looks)
            return sums.reshape(count, -1)

        return np.concatenate(in_threads(part, self._rows(len(a), len(turned))))

    def _rows(self, count: int, across: int) -> Iterator[slice]:
        fits = _AT_ONCE // max(1, across * self.sums.arithmetic.products)
        step = max(1, min(fits, -(-count // cores())))
        return (slice(start, start + step) for start in range(0, count, step))

    def numbers(self) -> np.dtype[Any] | None:
        """The numpy type with the numbers of D; None where numpy has none."""
        element = self.sums.arithmetic.types["D"]
        form, kind = load().formats.get(element), load().index.types[element]
        if form is None:
            return np.dtype(f"{'i' if kind.kind == 'signed' else 'u'}{kind.bits // 8}")
        known = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))
        return next((dtype for dtype in known if _same_numbers(dtype, form)), None)


def _multiple(name: str, shape: tuple[int, ...], tile: tuple[int, int]) -> None:
    if not all(shape) or any(size % part for size, part in zip(shape, tile, strict=True)):
        given = " x ".join(map(str, shape))
        raise Question(f"{name} is {given}; it must be a multiple of {tile[0]} x {tile[1]}")
