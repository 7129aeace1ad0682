"""The fragment probe: which elements of A, B and D meet, and which element of C is added to which of D."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from ..raw_kernel import chunks
from .probe_bench import Bench
from .products import NoProduct, ProductMap, factor, merge

__all__ = ["accumulate", "accumulator", "coded", "meetings", "multiplicands", "reach", "renamed"]

_JOBS = 1 << 14  # of one launch
_WORDS = 1 << 24  # of D of one launch


def coded(count: int) -> NDArray[np.int64]:
    """Rows of ones and zeros that identify one of `count` things: all ones, then its number bit by bit."""
    numbers = np.arange(count)
    bits = max(1, (count - 1).bit_length())
    return np.stack([np.ones(count, np.int64), *((numbers >> bit) & 1 for bit in range(bits))])


def meetings(bench: Bench, metadata: NDArray[np.integer] | None = None) -> Ints:
    """For every element of A and of D, the element of B that they meet in; −1 for none.

    A is one element alone; what changes in D against A = 0 is its doing (with .xor too).
    """
    codes = coded(bench.count("B")) * bench.one("B")
    total = bench.count("A")
    nothing = np.zeros((1, total), np.int64)
    base = bench.values(bench.launch(nothing, codes, metadata=metadata))
    table = np.empty((total, base.shape[1]), np.int64)
    per = max(1, min(_JOBS, _WORDS // base.shape[1]) // len(codes))
    for part in chunks(total, per):
        members = np.arange(total)[part]
        one = np.zeros((len(members), total), np.uint64)
        one[np.arange(len(members)), members] = bench.one("A")
        pairs = (np.repeat(np.arange(len(members)), len(codes)), np.tile(np.arange(len(codes)), len(members)))
        result = bench.launch(one, codes, metadata=metadata, pairs=pairs)
        changed = bench.values(result).reshape(len(members), len(codes), -1) - base
        present = changed[:, 0]
        bits = (changed[:, 1:] == present[:, None]) & (present != 0)[:, None]
        if not np.isin(np.abs(changed), (0, 1)).all():
            raise NoProduct("an element of D changed by more than one product")
        places = np.int64(1) << np.arange(bits.shape[1])
        table[part] = np.where(present != 0, (bits * places[:, None]).sum(axis=1), -1)
    return table


def multiplicands(bench: Bench, uniform: tuple[int, ...] = ()) -> tuple[ProductMap, Ints]:
    """The maps of A, B and D; and by code the k that each (packed) column of A meets.

    Sparse kernels are measured under each of the `uniform` codes, which every thread's metadata repeats.
    """
    if not uniform:
        found = factor(meetings(bench), bench.count("B"))
        return found, found.met[None, :]
    count = bench.kernel.threads
    tables = [meetings(bench, np.full((1, count), code * 0x1111_1111, np.uint32)) for code in uniform]
    return merge(tables, bench.count("B"))


def accumulate(bench: Bench) -> Ints:
    """For every element of C, the element of D to which it is added; −1 for none."""
    letter = bench.accumulator
    total = bench.count(letter)
    a, b = (np.zeros((1, bench.count(name)), np.int64) for name in "AB")
    codes = coded(total) * bench.one(letter)
    result = bench.values(bench.launch(a, b, codes)) != 0
    places = np.int64(1) << np.arange(len(codes) - 1)
    found = np.where(result[0], (result[1:] * places[:, None]).sum(axis=0), -1)
    where = np.full(total, -1, np.int64)
    where[found[found >= 0]] = np.flatnonzero(found >= 0)
    return where


def accumulator(bench: Bench, a: Ints) -> Ints:
    """(row, column) of every element of D at any N, from the rows and columns of A in shared memory.

    Columns are numbered by the addresses of B that they meet.
    """
    zeroth = a[:, 1] == 0
    rows = coded(int(a[:, 0].max()) + 1)[:, np.maximum(a[:, 0], 0)] * zeroth
    columns = coded(bench.count("B"))
    metadata = np.full((1, bench.kernel.threads), 0x4444_4444, np.uint32)
    ones = np.ones((1, bench.count("B")), np.int64) * bench.one("B")
    by_row = bench.values(bench.launch(rows * bench.one("A"), ones, metadata=metadata)) != 0
    by_column = bench.values(
        bench.launch((zeroth * bench.one("A"))[None, :], columns * bench.one("B"), metadata=metadata)
    )
    by_column = by_column != 0
    if not (by_row[0].all() and by_column[0].all()):
        raise NoProduct("an element of D holds no product")
    row = (by_row[1:] * (np.int64(1) << np.arange(len(by_row) - 1))[:, None]).sum(axis=0)
    met = (by_column[1:] * (np.int64(1) << np.arange(len(by_column) - 1))[:, None]).sum(axis=0)
    column = np.unique(met, return_inverse=True)[1].reshape(-1)
    return np.stack([row, column], axis=1).astype(np.int64)


def reach(bench: Bench, a: Ints, d: Ints, met: Ints) -> Ints:
    """(k, column) of every element of B in shared memory at any N, −1 for those that no k of `met` reaches:
    from the map of A, and that of D at this N."""
    codes = coded(bench.count("B"))
    places = np.int64(1) << np.arange(len(codes) - 1)
    b = np.full((bench.count("B"), 2), -1, np.int64)
    row = d[:, 0] == 0
    metadata = np.full((1, bench.kernel.threads), 0x4444_4444, np.uint32)
    for packed, k in enumerate(met):
        one = ((a[:, 1] == packed) * np.uint64(bench.one("A")))[None, :]
        shown = bench.values(bench.launch(one, codes * bench.one("B"), metadata=metadata)) != 0
        at = (shown[1:, row] * places[:, None]).sum(axis=0)
        b[at, 0] = k
        b[at, 1] = d[row, 1]
    return b


def renamed(found: ProductMap, d: Ints) -> ProductMap:
    """The same maps with the rows named as D names them. Raises NoProduct when the names do not fit."""
    names = np.full(int(found.d[:, 0].max()) + 1, -1, np.int64)
    names[found.d[:, 0]] = d[:, 0]
    if not np.array_equal(names[found.d[:, 0]], d[:, 0]):
        raise NoProduct("the rows are not those of D")
    a = found.a.copy()
    a[:, 0] = np.where(a[:, 0] >= 0, names[a[:, 0]], -1)
    return replace(found, a=a, d=np.stack([d[:, 0], found.d[:, 1]], axis=1))
